"""What VPP copies now and then is read next to a copy, and never across one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from vsperf.vswitches.vpp.copies import Read, at_rest, settled, whole
from vsperf.vswitches.vpp.reading import Reading
from vsperf.vswitches.vpp.segment import Segment

BEFORE, CLOCKS, CALLS, VECTORS, AFTER = range(1, 6)
"""The looks of one reading: at the heartbeat, at what nodes count, and at the heartbeat again."""


@dataclass
class Statistics:
    """Statistics of which a copy is made right before some of the looks at them."""

    copied_before: tuple[int, ...]
    looks: int = 0
    copies: int = 0

    def read(self, what: Callable[[Segment], Read]) -> Read:
        return what(cast(Segment, self))

    def number(self, name: str) -> int:
        return self._look()

    def simple(self, name: str) -> tuple[tuple[int, ...], ...]:
        return ((self._look(),),) if name.startswith("/sys/node") else ()

    def combined(self, name: str) -> tuple[tuple[int, ...], ...]:
        return ()

    def names(self, name: str) -> tuple[str, ...]:
        return ()

    def errors(self) -> dict[str, int]:
        return {}

    def _look(self) -> int:
        self.looks += 1
        self.copies += self.looks in self.copied_before
        return self.copies


def copies_in(found: Reading) -> set[int | None]:
    """Return the copies that the parts of a reading are of."""
    nodes = (found.clocks, found.calls, found.vectors)
    return {found.beats, *(count for part in nodes for thread in part for count in thread)}


def test_a_reading_is_of_one_copy() -> None:
    assert copies_in(whole(Statistics(()))) == {0}
    for beside in (CLOCKS, CALLS, VECTORS, AFTER):
        assert copies_in(whole(Statistics((beside,)))) == {1}


def test_statistics_that_never_rest_are_read_all_the_same() -> None:
    assert whole(Statistics(tuple(range(1, 100)))).beats == AFTER * 3


def test_before_the_first_trial_two_copies_are_enough() -> None:
    statistics = Statistics((4, 12))
    first, later = at_rest(statistics)
    assert (copies_in(first), copies_in(later)) == ({1}, {2})
    assert statistics.copies == 2


def test_what_is_enough_is_not_waited_for() -> None:
    statistics = Statistics(())
    assert settled(statistics, lambda found: True).beats == 0
    assert statistics.looks == AFTER


def test_a_copy_that_may_have_begun_before_is_not_the_last_word() -> None:
    statistics = Statistics((6, 16, 26))
    assert settled(statistics, lambda found: False).beats == 2
