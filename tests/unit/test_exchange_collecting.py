"""Collectors around exchanges of programs: when they look, and what heavy ones have alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collecting_world import Driver, Looks, heavy, notes_in, started
from exchanges import exchange

from vsperf.deploy.exchanging import Around
from vsperf.engine.exchanges import HEAVY_NS, Looking, own_exchanges, own_ns
from vsperf.errors import ComponentError
from vsperf.records.exchange import Exchange
from vsperf.records.files.series import series_of
from vsperf.search.base import Budget

SECOND = 1_000_000_000


class Making:
    """Makes exchanges as a bench does: whoever looks is told when programs wait, and at the end."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.fails = fails
        self.asked: list[tuple[int, int, int]] = []

    def __call__(self, index: int, duration_ns: int, around: Around) -> Exchange:
        self.asked.append((index, duration_ns, around.lead_ns))
        around.begin()
        if self.fails is not None:
            raise self.fails
        around.end()
        return exchange(index=index)


def made_in(folder: Path) -> list[Exchange]:
    (case,) = (folder / "series").iterdir()
    found = series_of(folder, case.name, 1)
    return [own.exchange for one in found for own in one.own_exchanges()]


@pytest.fixture(name="budget")
def fixture_budget() -> Iterator[Budget]:
    yield Budget(None)


def test_light_ones_look_around_each_exchange_by_its_number(tmp_path: Path) -> None:
    looks = Looks()
    with started(tmp_path, proc=Driver(looks)) as collecting:
        for index in (1, 2):
            looking = Looking(collecting, index)
            assert looking.lead_ns > 0
            looking.begin()
            looking.end()
    assert looks.looks == [("begin", 1), ("end", 1), ("begin", 2), ("end", 2)]


def test_without_collectors_programs_wait_for_nobody(tmp_path: Path) -> None:
    with started(tmp_path) as collecting:
        assert Looking(collecting, 1).lead_ns == 0
        assert own_ns(collecting) == 0


def test_a_light_one_that_is_lost_ends_no_exchange(tmp_path: Path, budget: Budget) -> None:
    with started(tmp_path, proc=Driver(Looks(dies_at=1))) as collecting:
        looking = Looking(collecting, 1)
        looking.begin()
        looking.end()
        (warning,) = own_exchanges(collecting, Making(), budget)
    assert "the collector proc was lost at trial 1" in warning


def test_a_heavy_one_is_started_beside_programs_that_wait_and_ended_with_them(
    tmp_path: Path, budget: Budget
) -> None:
    looks, make = Looks(), Making()
    driver = heavy(looks, 2, "2s")
    with started(tmp_path, perf=driver) as collecting:
        assert looks.looks == []
        assert own_ns(collecting) > 2 * (2 * SECOND + HEAVY_NS)
        assert own_exchanges(collecting, make, budget) == ()
        assert driver.left
    assert make.asked == [(1, 2 * SECOND, HEAVY_NS), (2, 2 * SECOND, HEAVY_NS)]
    assert looks.looks == [("begin", 1), ("end", 1), ("begin", 2), ("end", 2)]
    assert [one.index for one in made_in(tmp_path)] == [1, 2]


@pytest.mark.parametrize(
    ("driver", "make"),
    [
        (Driver(Looks(), weighs=True), Making(ComponentError("it cannot be believed"))),
        (Driver(Looks(), at_start=OSError("no"), weighs=True), Making()),
    ],
    ids=["the exchange", "the collector"],
)
def test_what_goes_wrong_with_a_heavy_one_is_a_warning_and_ends_it(
    driver: Any, make: Making, tmp_path: Path, budget: Budget
) -> None:
    with started(tmp_path, perf=driver) as collecting:
        (warning,) = own_exchanges(collecting, make, budget)
    assert warning.startswith("the exchange for perf failed: ")
    assert made_in(tmp_path) == []
    assert notes_in(tmp_path)["perf"] == []


def test_its_exchanges_take_time_of_the_case(tmp_path: Path) -> None:
    """There is some for two of three."""
    make, budget = Making(), Budget(17 * SECOND)
    driver = heavy(Looks(), 3, "2s")
    with started(tmp_path, perf=driver) as collecting:
        (warning,) = own_exchanges(collecting, make, budget)
    assert warning == "2 of 3 exchanges for perf were made: the time was over"


def test_where_the_time_is_over_a_heavy_one_has_nothing(tmp_path: Path) -> None:
    make = Making()
    with started(tmp_path, perf=Driver(Looks(), weighs=True)) as collecting:
        (warning,) = own_exchanges(collecting, make, Budget(SECOND))
    assert warning == "nothing was collected by perf: the time was over"
    assert make.asked == []
