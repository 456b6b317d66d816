"""Measured again until it can be believed: how often, at whose cost, and what is said then."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from vsperf.engine.attempts import stayed_invalid, until_valid
from vsperf.engine.closing import close_failed
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.search.base import Budget, BudgetExhausted

COST_NS = 2 * NANOSECONDS


@dataclass(frozen=True)
class Tried:
    index: int
    valid: bool


@dataclass
class Device:
    """What is measured: its first attempts are worth nothing."""

    bad: int
    repeated: list[int | None]

    def attempt(self, retry_of: int | None) -> Tried:
        self.repeated.append(retry_of)
        return Tried(len(self.repeated), len(self.repeated) > self.bad)


@pytest.mark.parametrize(
    ("bad", "valid", "repeated"),
    [
        (0, True, [None]),
        (1, True, [None, 1]),
        (2, True, [None, 1, 2]),
        (3, False, [None, 1, 2]),
    ],
)
def test_each_repeats_the_one_before_up_to_as_many_as_the_policy_allows(
    bad: int, valid: bool, repeated: list[int | None]
) -> None:
    device = Device(bad, [])
    last = until_valid(device.attempt, 2, Budget(60 * NANOSECONDS), COST_NS)
    assert (last.valid, device.repeated) == (valid, repeated)
    assert last.index == len(repeated)


def test_the_first_is_paid_for_by_who_asks_and_repeats_need_what_is_left() -> None:
    device = Device(9, [])
    with pytest.raises(BudgetExhausted):
        until_valid(device.attempt, 2, Budget(COST_NS - 1), COST_NS)
    assert device.repeated == [None]


@pytest.mark.parametrize(("retries", "words"), [(1, "after 1 repeat:"), (2, "after 2 repeats:")])
def test_the_error_names_the_first_flag_that_makes_it_invalid(retries: int, words: str) -> None:
    flags = (Flag.UNSTABLE, Flag.ENDS_DISAGREE)
    error = stayed_invalid("trial 3 at 5.000 Mfps", flags, retries)
    assert str(error).startswith(f"trial 3 at 5.000 Mfps stayed invalid {words} ends-disagree")
    assert error.with_why.endswith(f": {Flag.ENDS_DISAGREE.meaning}")


def test_the_error_says_what_was_seen_where_that_is_more_than_the_flag() -> None:
    error = stayed_invalid("exchange 2", (Flag.PROGRAM_FAILED,), 2, "client 1: it ended with 3")
    assert error.with_why.endswith(": client 1: it ended with 3")


def test_a_case_that_an_error_ended_keeps_how_it_is_mended() -> None:
    case: Any = SimpleNamespace(key="phy2phy_tput-64B")
    error = ComponentError("no port", why="it is taken", fix="name another one")
    assert (
        close_failed(case, error, ()).reason == "no port: it is taken; to mend it: name another one"
    )
    assert close_failed(case, ComponentError("it died"), ()).reason == "it died"
