"""Single trials lead to where an answer is: what is tried next, and what if they mislead."""

from __future__ import annotations

from dataclasses import replace

import pytest
from search_models import LOADS, spec_of, switch

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import Trial
from vsperf.search.base import Budget, Probe
from vsperf.search.settle import Judged, Leading, Seen, Settling

CAPACITY = 1_050_000
SURE = 5
"""Trials of a second that decide a load, whatever they say."""
NDR = {"ndr": {"loss_ratio": "0"}}


class Asked:
    """A question, of which some loads were tried, each so many times."""

    def __init__(self, tried: dict[int, int], capacity_fps: int = CAPACITY) -> None:
        self.capacity_fps = capacity_fps
        self.probe = Probe(self.measure, Budget())
        spec = spec_of("mlr", goals=NDR, duration_sum="5s", width="1%")
        loads = replace(LOADS, step=None)
        self.judged = Judged(spec.search(loads).questions["ndr"], Seen(self.probe))
        for load, times in tried.items():
            self.make(load, times)
        self.leading = Leading(self.judged)

    def measure(self, load_fps: int, duration_ns: int) -> Trial:
        return switch(self.capacity_fps)(load_fps, duration_ns)

    def make(self, load_fps: int, times: int = 1) -> None:
        for _ in range(times):
            self.probe(load_fps, NANOSECONDS)

    def goes_on(self) -> int:
        """Make the next trial, and return its load."""
        Settling(self.probe, NANOSECONDS, 1000).go_on(self.leading)
        return self.probe.trials[-1].load_fps

    def ends(self) -> tuple[int | None, int | None]:
        bounds = self.judged.bounds
        return bounds.lower, bounds.upper


LED = {1_040_000: SURE, 1_045_000: 1, 1_053_000: 1, 1_100_000: 1, 2_700_000: SURE}
"""Sure is a wide interval; single trials lead to a narrow one at one of its ends."""


def test_the_ends_to_which_they_lead_are_tried_before_the_middle_of_what_is_sure() -> None:
    asked = Asked(LED)
    assert asked.ends() == (1_040_000, 2_700_000)
    loads = []
    while not asked.judged.finished:
        loads.append(asked.goes_on())
    assert {*loads} <= {1_045_000, 1_053_000}
    assert asked.ends()[1] == 1_053_000


def test_an_end_that_suffices_with_the_other_that_is_sure_is_tried_alone() -> None:
    below = Asked({1_044_000: SURE, 1_046_000: 1, 1_053_000: 1, 2_700_000: SURE})
    above = Asked({9_001: SURE, 1_046_000: 1, 1_052_000: 1, 1_055_000: SURE})
    for asked, load in ((below, 1_053_000), (above, 1_046_000)):
        while not asked.judged.finished:
            assert asked.goes_on() == load


@pytest.mark.parametrize("capacity_fps", [200_000, 500_000, 990_000, 1_200_000, 4_000_000])
def test_they_do_not_lead_on_and_on_where_they_are_of_a_time_that_is_over(
    capacity_fps: int,
) -> None:
    """Load by load they would, to where the switch is no more."""
    fresh, asked = Asked({}, capacity_fps), Asked({})
    for one in (fresh, asked):
        while not one.judged.finished:
            one.goes_on()
    before, asked.capacity_fps = len(asked.probe.trials), capacity_fps
    for end in asked.ends():
        assert end is not None
        asked.make(end, 2 * SURE)
    while not asked.judged.finished:
        asked.goes_on()
    lower, upper = asked.ends()
    assert lower is not None
    assert upper is not None
    assert lower <= capacity_fps < upper
    assert len(asked.probe.trials) - before - 4 * SURE <= 3 * len(fresh.probe.trials)


def test_before_they_lead_anywhere_each_load_is_tried_once() -> None:
    asked = Asked({})
    loads = []
    while not asked.leading.finished:
        loads.append(asked.goes_on())
    assert len(loads) == len({*loads})
