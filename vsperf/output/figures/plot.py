"""What a plot is: how it takes what it needs from one case, and how it draws that of many."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from typing import Any

from vsperf.errors import UsageError
from vsperf.output.figures.drawing import Axis, Drawing, Layer, Panel, Scale, Spans
from vsperf.records.files.view import CaseView
from vsperf.stop import raise_if_stopped

LAST = 100


class Scope(enum.StrEnum):
    """What one drawing is about."""

    CASE = "case"
    """One case, so several cases make several drawings."""
    CASES = "cases"
    """All cases together."""


@dataclass(frozen=True, slots=True)
class Options:
    """What somebody wants of a drawing beyond the records."""

    by: tuple[str, ...] = ()
    """Traits that make lines, such as `generator`; all that differ where none is given."""
    beside: tuple[str, ...] = ()
    """Names of published tables that are drawn with it."""


def nothing_missing(view: CaseView) -> str:
    """Say nothing, as a plot does that draws what trials were, and not what they came to."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A named way from records to a drawing.

    It works in two steps, so that no more than one case is in memory: `gather` keeps the few
    numbers that matter of one case, and `draw` makes a drawing of them. Both are pure.
    """

    name: str
    title: str
    """What it shows, in a line."""
    scope: Scope = Scope.CASES
    gather: Callable[[CaseView], Sequence[Any]]
    draw: Callable[[Sequence[Any], Options], Drawing | None]
    """None where these cases say nothing on it."""
    rank: int = LAST
    """Its place in a report among those of its scope; those of the same rank go by name."""
    in_report: bool = True
    """False of what a report says in words of its own."""
    of_many_loads: bool = False
    """Whether it says no more than the table above it where there are few loads."""
    of_given_loads: bool = False
    """Whether it is the headline of a case whose loads were given, or gone through."""
    needs: str = ""
    """What makes it drawable, for whoever has nothing of it: runs, cases or a setting."""
    missing: Callable[[CaseView], str] = nothing_missing
    """Why a case has no number to draw; empty where it has, or is of something else."""


# All plots of this installation, by entry point, and the drawings that they make of cases.

GROUP = "vsperf.figures"
"""Entry points of plots."""


def all_plots() -> tuple[Plot, ...]:
    """Return every plot that installed packages offer, those of many cases first."""
    found = [
        plot for entry in entry_points(group=GROUP) if (plot := _loaded(entry.load)) is not None
    ]
    return tuple(sorted(found, key=lambda plot: (plot.scope is Scope.CASE, plot.name)))


def _loaded(load: Callable[[], object]) -> Plot | None:
    """Return a plot; None of one that cannot be loaded, which must not break the others."""
    try:
        found = load()
    except Exception:
        return None
    return found if isinstance(found, Plot) else None


def named(name: str) -> Plot:
    """Return one plot; an unknown name is an error that names those there are."""
    plots = {plot.name: plot for plot in all_plots()}
    if name in plots:
        return plots[name]
    close = difflib.get_close_matches(name, plots, n=1)
    raise UsageError(
        f"there is no plot {name!r}",
        why=f"did you mean {close[0]!r}?" if close else None,
        fix=f"known plots: {', '.join(plots)}",
    )


def drawings(
    cases: Iterable[CaseView],
    names: Sequence[str] | None = None,
    options: Options | None = None,
) -> list[tuple[str, Drawing]]:
    """Return what the plots of these names make of the cases, as (name, drawing).

    All plots are asked where no name is given. Plots of one case make a drawing for each case,
    in the order of the cases. What the records say nothing on is left out. Cases are gone through
    once, one at a time.
    """
    plots = [named(name) for name in names] if names is not None else list(all_plots())
    wanted = options or Options()
    gathered: dict[str, list[object]] = {plot.name: [] for plot in plots}
    single: dict[str, list[Drawing]] = {plot.name: [] for plot in plots}
    for case in cases:
        kept: dict[object, Sequence[object]] = {}  # several plots need the same of a case
        for plot in plots:
            raise_if_stopped()
            if plot.gather not in kept:
                kept[plot.gather] = plot.gather(case)
            samples = kept[plot.gather]
            if plot.scope is Scope.CASES:
                gathered[plot.name] += samples
            elif samples and (drawing := plot.draw(samples, wanted)) is not None:
                single[plot.name].append(drawing)
    return list(_in_order(plots, gathered, single, wanted))


def _in_order(
    plots: Iterable[Plot],
    gathered: dict[str, list[object]],
    single: dict[str, list[Drawing]],
    options: Options,
) -> Iterator[tuple[str, Drawing]]:
    for plot in plots:
        yield from ((plot.name, drawing) for drawing in single[plot.name])
        samples = gathered[plot.name]
        if samples and (whole := plot.draw(samples, options)) is not None:
            yield plot.name, whole


# The numbers of drawings as rows, for whoever wants to draw them otherwise.

COLUMNS = (
    "plot", "drawing", "simulated", "panel", "series", "kind", "source",
    "x", "x_unit", "x_name", "y", "y_unit", "low", "high",
)  # fmt: skip
"""What each row has; what does not apply is empty."""


def rows(name: str, drawing: Drawing) -> Iterator[dict[str, Any]]:
    """Yield each point of a drawing; a diagram has none."""
    for number, panel in enumerate(drawing.panels, start=1):
        for layer in panel.layers:
            common = {
                "plot": name,
                "drawing": drawing.title,
                "simulated": layer.simulated,
                "panel": panel.title or panel.y.label or str(number),
                "series": layer.name,
                "kind": type(layer).__name__.lower(),
                "source": layer.look.value,
            }
            for point in _points(panel, layer):
                yield {**common, **point}


def _points(panel: Panel, layer: Layer) -> Iterator[dict[str, Any]]:
    units = {"x_unit": _unit(panel.x), "y_unit": _unit(panel.y)}
    if isinstance(layer, Spans):
        for begin, end in layer.spans:
            yield {"x": begin, "x_name": "", "y": None, "low": begin, "high": end, **units}
        return
    names = {tick.at: tick.name for tick in panel.x.ticks if panel.x.scale is Scale.NAMES}
    for point in layer.points:
        yield {**asdict(point), "x_name": names.get(point.x, ""), **units}


def _unit(axis: Axis) -> str:
    """Return the unit of raw numbers: a share is one of one, whatever the axis writes."""
    return "share" if axis.unit == "%" else axis.unit
