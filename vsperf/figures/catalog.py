"""All plots of this installation, by entry point, and the drawings that they make of cases."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import entry_points

from vsperf.errors import UsageError
from vsperf.figures.drawing import Drawing
from vsperf.figures.plot import Options, Plot, Scope
from vsperf.stop import raise_if_stopped
from vsperf.store.view import CaseView

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
