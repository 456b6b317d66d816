"""Figures of a report, taken from the catalogue: those of each case, and those of all of them."""

from __future__ import annotations

from typing import Any

from vsperf.figures.catalog import all_plots
from vsperf.figures.drawing import Drawing
from vsperf.figures.plot import Options, Plot, Scope
from vsperf.figures.render import svg
from vsperf.report.page import Picture
from vsperf.store.view import CaseView

FIRST = ("throughput", "ndr-pdr", "latency-size")
"""Names of what is looked for first; the headline chart is the first one that says something."""
ELSEWHERE = ("topology",)
"""Plots of what a page says in words of its own."""


class Pictures:
    """Gathers from each case what figures of all cases need, and draws those of one case."""

    def __init__(self) -> None:
        plots = [plot for plot in all_plots() if plot.name not in ELSEWHERE]
        self._of_case = [plot for plot in plots if plot.scope is Scope.CASE]
        self._of_all = sorted((p for p in plots if p.scope is Scope.CASES), key=_order)
        self._gathered: dict[str, list[Any]] = {plot.name: [] for plot in self._of_all}
        self._options = Options()

    def gather(self, view: CaseView) -> None:
        """Keep the few numbers of a case that figures of all cases need."""
        for plot in self._of_all:
            self._gathered[plot.name] += plot.gather(view)

    def of_case(self, view: CaseView) -> tuple[Picture, ...]:
        """Draw a case."""
        found = ((plot, plot.gather(view)) for plot in self._of_case)
        drawn = [self._drawn(plot, samples) for plot, samples in found if samples]
        return tuple(picture for picture in drawn if picture is not None)

    def of_all(self) -> tuple[Picture, ...]:
        """Draw all cases together, the headline chart first."""
        found = [self._drawn(plot, self._gathered[plot.name]) for plot in self._of_all]
        return tuple(picture for picture in found if picture is not None)

    def _drawn(self, plot: Plot, samples: Any) -> Picture | None:
        drawing: Drawing | None = plot.draw(samples, self._options) if samples else None
        if drawing is None:
            return None
        simulated = drawing.simulated
        return Picture(plot.name, drawing.title, drawing.caption, svg(drawing), simulated)


def _order(plot: Plot) -> tuple[int, str]:
    return (FIRST.index(plot.name) if plot.name in FIRST else len(FIRST), plot.name)


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
