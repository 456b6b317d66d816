"""All figures of this installation keep the promises of figures."""

from __future__ import annotations

import pytest
from figure_contract import FigureContract

from vsperf.output.figures.plot import Plot, all_plots, named

PLOTS = sorted(plot.name for plot in all_plots())
OTHERS = {
    *("buffer", "buffer-runs", "caches", "flows", "noise", "noise-latency", "noise-levels"),
    *("cpu-cost", "ratios", "series", "turns", "workers"),
}
"""Of which the cases of the contract have nothing; each has tests of its own."""


@pytest.mark.parametrize("plot", PLOTS, indirect=True, scope="class")
class TestEach(FigureContract):
    @pytest.fixture(scope="class")
    @classmethod
    def plot(cls, request: pytest.FixtureRequest) -> Plot:
        return named(request.param)

    @pytest.fixture
    def shows(self, plot: Plot) -> bool:
        return plot.name not in OTHERS
