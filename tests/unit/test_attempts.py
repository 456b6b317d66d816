"""Measured again until it can be believed: how often, at whose cost, and what is said then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from assertions import known
from search_models import case_of, trial, way
from slot_samples import LOAD_FPS, RATE, WIDTH_NS, trial_of

from vsperf.engine.attempts import stayed_invalid, until_valid
from vsperf.engine.checks import PATIENT, check_path, diagnosis
from vsperf.engine.closing import close_failed
from vsperf.engine.conditions import warming
from vsperf.engine.measurer import Measurer
from vsperf.errors import ComponentError, PathError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.slots import Slot, Slots
from vsperf.records.switch import PortCounters, SwitchCounters
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import Direction, Trial
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


# When the path check gives up, and what it makes of the switch's counters.

SECOND = 1_000_000_000


def seen(first: tuple[int, int], second: tuple[int, int], **drops: int) -> Trial:
    """Return a lost trial with what the switch took and gave at each port."""
    ports = tuple(
        PortCounters(name=name, link=name, received_frames=took, sent_frames=gave)
        for name, (took, gave) in zip(("phy0", "phy1"), (first, second), strict=True)
    )
    switch = SwitchCounters(ports=ports, drops=drops)
    return trial(100, SECOND, [way(100, lost=100)]).model_copy(update={"switch": switch})


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((0, 0), (0, 0), "nothing reached the switch by phy0; the switch says: phy0 took 0 and"),
        ((100, 0), (0, 0), "the switch took frames from phy0 and gave none to phy1; the switch"),
        ((100, 100), (0, 0), "the switch took frames from phy0 and gave none to phy1; the switch"),
        ((100, 100), (100, 100), "the switch gave frames to phy1, and none of them arrived as one"),
    ],
)
def test_the_diagnosis_says_how_far_frames_came(
    first: tuple[int, int], second: tuple[int, int], words: str
) -> None:
    found = known(diagnosis(seen(first, second)))
    assert found.startswith(words)
    assert found.endswith("dropped: nothing")


def test_the_diagnosis_is_silent_on_ways_whose_frames_arrive() -> None:
    lost = seen((100, 0), (100, 100))
    ways = (way(100), way(100, lost=100, name="phy1 to phy0"))
    found = known(diagnosis(lost.model_copy(update={"directions": ways})))
    assert found.startswith("the switch took frames from phy1 and gave none to phy0; the switch")


def test_the_diagnosis_names_what_dropped_frames_and_leaves_out_what_did_not() -> None:
    found = known(diagnosis(seen((100, 0), (0, 0), datapath_drop_lock=3, datapath_drop_nsh=0)))
    assert found.endswith("dropped: 3 datapath_drop_lock")


def test_without_counters_of_the_switch_there_is_no_diagnosis() -> None:
    assert diagnosis(trial(100, SECOND, [way(100, lost=100)])) is None


CASE = case_of("rfc2544")
KEPT = ThreadActivity(part="switch", name="pmd-c01/id:8", cpu=1, delay_ns=540_000_000)
LOST = trial(100, SECOND, [way(100, lost=100)])
KEPT_AWAY = LOST.model_copy(update={"threads": (KEPT,)})
ARRIVED = trial(100, SECOND, [way(100)])


class Trials:
    """Gives one trial after the other, and counts them."""

    def __init__(self, *found: Trial) -> None:
        self.policy = CASE.trial
        self.left = list(found)

    def attempt(self, *_: object, **__: object) -> Trial:
        return self.left.pop(0)


def test_a_path_that_the_machine_kept_from_running_is_tried_for_longer() -> None:
    retries = CASE.trial.retries
    late = Trials(*[KEPT_AWAY] * (retries + 2), ARRIVED)
    assert check_path(cast("Measurer", late), CASE) == ()
    assert late.left == []


def test_a_path_that_runs_and_brings_nothing_is_broken_at_once() -> None:
    retries = CASE.trial.retries
    dead = Trials(*[LOST] * (retries + 1), ARRIVED)
    with pytest.raises(PathError):
        check_path(cast("Measurer", dead), CASE)
    assert dead.left == [ARRIVED]


def test_a_path_that_never_gets_to_run_is_told_so() -> None:
    with pytest.raises(PathError) as caught:
        check_path(cast("Measurer", Trials(*[KEPT_AWAY] * (PATIENT + 1))), CASE)
    why = caught.value.problems[0].why
    assert why == "by the machine, switch (pmd-c01/id:8) was kept from running for 540.0 ms"


def test_frames_that_all_came_through_and_more_are_not_said_to_be_lost() -> None:
    sent_more = way(101).model_copy(update={"intended_frames": 100})
    trials = [trial(100, SECOND, [sent_more])] * (CASE.trial.retries + 1)
    assert check_path(cast("Measurer", Trials(*trials)), CASE) == (
        "more frames came through in the path check than it has, at 1000 fps: phy0 to phy1: 101 of "
        "100 frames sent, 101 arrived",
    )


@pytest.mark.parametrize(
    ("found", "story"),
    [
        (way(100, lost=3), "phy0 to phy1: 100 frames sent, 97 arrived"),
        (way(100, unsent=1), "phy0 to phy1: 99 of 100 frames sent, 99 arrived"),
    ],
    ids=["lost by the switch", "never sent"],
)
def test_frames_that_do_not_come_through_are_told_as_what_became_of_them(
    found: Direction, story: str
) -> None:
    few = trial(100, SECOND, [found])
    trials = cast("Measurer", Trials(*[few] * (CASE.trial.retries + 1)))
    warning = f"not all frames of the path check came through, at 1000 fps: {story}"
    assert check_path(trials, CASE) == (warning,)


# A warm-up that is still warming when it ends was too short.

COUNT = 100


def warm_up(carried: Callable[[int], float], *, stalled: bool = False, cut: bool = False) -> Trial:
    """Return a warm-up at twice what can be carried, as a share of the due frames by slot."""
    noted = tuple(
        Slot(
            index=index,
            sent_frames=(RATE, RATE),
            received_frames=(round(RATE * carried(index)),) * 2,
            refused_frames=(0, 0),
            away_ns=200_000 if stalled else 0,
            silent_ns=0,
        )
        for index in range(COUNT)
        if carried(index) < 1
    )
    slots = Slots.of(
        width_ns=WIDTH_NS,
        count=COUNT,
        sent_frames=(RATE * COUNT,) * 2,
        received_frames=(RATE * COUNT,) * 2,
        refused_frames=(0, 0),
        noted=noted,
        cut=cut,
    )
    return trial_of(slots).model_copy(update={"load_fps": LOAD_FPS})


def growing(index: int) -> float:
    return 0.3 + 0.004 * index


def test_a_switch_that_gets_faster_to_the_end_is_still_warming() -> None:
    assert warming(warm_up(growing))


@pytest.mark.parametrize(
    ("carried", "what"),
    [
        (lambda index: 0.5, "all the same"),
        (lambda index: min(0.5, 0.3 + 0.004 * index), "at rest from the middle on"),
        (lambda index: 0.5 + 0.02 * (index % 2), "now this, now that"),
        (lambda index: 0.8 - 0.004 * index, "slower and slower"),
        (lambda index: 0.5 + 0.0004 * index, "faster by less than a twentieth"),
        (lambda index: 1.0, "no load of its own"),
    ],
)
def test_a_switch_at_rest_is_not(carried: Callable[[int], float], what: str) -> None:
    assert not warming(warm_up(carried)), what


def test_of_slots_that_nobody_knows_or_in_which_tgen_was_away_nothing_follows() -> None:
    assert not warming(warm_up(growing, stalled=True))
    assert not warming(warm_up(growing, cut=True))
    assert not warming(warm_up(growing).model_copy(update={"slots": None}))
