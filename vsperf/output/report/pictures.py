"""Figures of a report, taken from the catalogue: those of each case, and those of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from vsperf.output.figures.drawing import Drawing
from vsperf.output.figures.plot import Options, Plot, Scope, all_plots
from vsperf.output.figures.render import svg
from vsperf.output.report.interactive import plots_of
from vsperf.output.report.page import Picture
from vsperf.records.files.view import CaseView
from vsperf.records.trial import Purpose

FEW_LOADS = 3


class Pictures:
    """Gathers from each case what figures of all cases need, and draws those of one case.

    Of a single case there is nothing to draw together; its own figures take that place.
    """

    def __init__(
        self,
        single: bool = False,
        interactive: bool = False,
        runs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Begin; `runs` are what runs are called, where there are several."""
        # the headline chart is the first one that says something
        plots = sorted((p for p in all_plots() if p.in_report), key=lambda p: (p.rank, p.name))
        self._of_case = [plot for plot in plots if plot.scope is Scope.CASE]
        self._of_all = [plot for plot in plots if plot.scope is Scope.CASES and not single]
        self._gathered: dict[str, list[Any]] = {plot.name: [] for plot in self._of_all}
        self._options = Options()
        self._single = single
        self._interactive = interactive
        self._runs = runs
        self._own: tuple[Picture, ...] = ()
        self._taken = Taken()

    def gather(self, view: CaseView) -> None:
        """Keep the few numbers of a case that figures of all cases need."""
        for plot in self._of_all:
            self._gathered[plot.name] += self._taken.of(plot, view)
        if self._single:
            self._own = self._drawn_of(view)

    def of_case(self, view: CaseView) -> tuple[Picture, ...]:
        """Draw a case."""
        return () if self._single else self._drawn_of(view)

    def of_all(self) -> tuple[Picture, ...]:
        """Draw all cases together, the headline chart first."""
        found = [self._drawn(plot, self._gathered[plot.name]) for plot in self._of_all]
        return (*self._own, *(picture for picture in found if picture is not None))

    def _drawn_of(self, view: CaseView) -> tuple[Picture, ...]:
        loads = {one.load_fps for one in view.standing_trials if one.purpose is Purpose.LATENCY}
        few = len(loads) <= FEW_LOADS
        plots = [plot for plot in self._of_case if not (few and plot.of_many_loads)]
        if view.result is not None and view.result.loads:
            plots.sort(key=lambda plot: not plot.of_given_loads)  # nothing was searched
        of = f" of {self._runs[view.run]}" if view.run in self._runs else ""
        found = [self._drawn(plot, self._taken.of(plot, view), of) for plot in plots]
        return tuple(picture for picture in found if picture is not None)

    def _drawn(self, plot: Plot, samples: Any, of: str = "") -> Picture | None:
        """Draw, with what says which run it is of behind the title."""
        drawing: Drawing | None = plot.draw(samples, self._options) if samples else None
        if drawing is None:
            return None
        drawing = replace(drawing, title=f"{drawing.title}{of}")
        return Picture(
            name=plot.name,
            title=drawing.title,
            caption=drawing.caption,
            svg=svg(drawing),
            simulated=drawing.simulated,
            plots=plots_of(drawing) if self._interactive else "",
        )


class Taken:
    """What was taken from a case, until there is another: several plots draw the same numbers."""

    def __init__(self) -> None:
        self._view: CaseView | None = None
        self._found: dict[Any, Sequence[Any]] = {}

    def of(self, plot: Plot, view: CaseView) -> Sequence[Any]:
        """Return what a plot takes from a case."""
        if view is not self._view:
            self._view, self._found = view, {}
        if plot.gather not in self._found:
            self._found[plot.gather] = plot.gather(view)
        return self._found[plot.gather]


class NoPictures:
    """What a report without figures has in their place."""

    def gather(self, view: CaseView) -> None:
        """Keep nothing."""

    def of_case(self, view: CaseView) -> tuple[Picture, ...]:
        """Draw nothing."""
        return ()

    def of_all(self) -> tuple[Picture, ...]:
        """Draw nothing."""
        return ()
