"""How long nobody can connect while a switch starts anew, told by when SYNs were answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from connection_models import POLICY, Device
from pydantic import ValidationError
from reread_connections import answers_of_connections

from vsperf.engine.watch import not_back
from vsperf.errors import InvalidTrialError
from vsperf.methods.connections import ConnectionsAsked
from vsperf.methods.estimate import estimate
from vsperf.methods.events import RESETS
from vsperf.methods.reconnect import Reconnect
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import ConnectionSlots, ConnectionTrial
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.trial import Event
from vsperf.search.base import Budget, Loads

WIDTH_NS = 10_000_000
SLOTS = 400


def method(**settings: Any) -> Reconnect:
    asked = {"kind": "reconnect", "duration": "4s", "repeats": 2, "rate": 1_000}
    return Reconnect.model_validate({**asked, **settings})


def heard(*silences: tuple[int, int]) -> tuple[int, ...]:
    """Ten answers in each slot but in those from one to another."""
    quiet = {number for first, last in silences for number in range(first, last + 1)}
    return tuple(0 if number in quiet else 10 for number in range(SLOTS))


@dataclass
class Restarted(Device):
    """A switch that is away for some slots of each trial."""

    silences: Sequence[tuple[tuple[int, int], ...]] = (((101, 130),),)
    """Of each trial in turn."""
    failed: int = 0
    back_ns: int = 2 * NANOSECONDS
    """When what was done to it was over."""
    away: tuple[int, int] = (0, -1)
    """Slots from one to another in which the generator itself does not run."""
    tells: bool = True
    """Whether it tells when SYNs were answered."""
    asked: list[ConnectionsAsked] = field(default_factory=list)

    def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
        self.asked.append(asked)
        self.rate = 1_000 - self.failed // 4
        one = super().connect(asked)
        assert one.counts is not None
        told = heard(*self.silences[(len(self.asked) - 1) % len(self.silences)])
        slots = ConnectionSlots(
            width_ns=WIDTH_NS,
            launched=(10,) * SLOTS,
            answered=(10,) * SLOTS,
            completed=(10,) * SLOTS,
            established=(0,) * SLOTS,
            away_ns=tuple(WIDTH_NS * (self.away[0] <= n <= self.away[1]) for n in range(SLOTS)),
            heard=told if self.tells else None,
        )
        event = Event(name=str(asked.event), began_ns=NANOSECONDS, ended_ns=self.back_ns)
        counts = one.counts.model_copy(update={"slots": slots})
        made = one.model_copy(update={"counts": counts, "event": event})
        self.made[-1] = made
        return made


def figures(result: SearchResult) -> dict[str, Figure]:
    return {one.name: one for one in result.figures}


def test_it_is_the_longest_time_without_an_answer_in_the_mean_of_all_repeats() -> None:
    device = Restarted(silences=(((101, 130), (7, 9)), ((101, 150),)))
    found = figures(method().play(device))
    assert found["kill_time"].value == found["restart_time"].value == 40 * WIDTH_NS
    assert found["kill_time"].limit is Limit.DUT
    assert "slots of 10.00 ms" in found["kill_time"].reason


def test_each_event_is_done_as_often_as_asked_in_a_trial_of_its_own() -> None:
    device = Restarted()
    method(repeats=3).play(device)
    assert [one.event for one in device.asked] == ["restart-switch"] * 3 + ["kill-switch"] * 3
    assert {(one.rate_cps, one.connections) for one in device.asked} == {(1_000, 4_000)}


def test_connections_that_it_costs_are_counted_by_cause() -> None:
    failed = figures(method().play(Restarted(failed=40)))["kill_failed"]
    assert (failed.value, failed.reason) == (40, "40 no answer")


def test_where_nobody_connects_any_more_there_is_no_time() -> None:
    device = Restarted(silences=(((101, 130),), ((101, SLOTS - 1),)))
    found = figures(method().play(device))["kill_time"]
    assert (found.value, found.limit) == (None, Limit.UNKNOWN)
    assert "in 1 of 2 trials" in found.reason


def test_a_trial_that_was_over_before_the_switch_was_back_says_what_to_do() -> None:
    late = Restarted(silences=(((101, SLOTS - 1),),), back_ns=7 * NANOSECONDS)
    reason = figures(method().play(late))["kill_time"].reason
    assert "until it was back took 6.000 s: raise search.duration" in reason
    soon = Restarted(silences=(((101, SLOTS - 1),),))
    assert "duration" not in figures(method().play(soon))["kill_time"].reason


def test_time_in_which_the_generator_itself_was_away_is_not_the_switchs() -> None:
    found = figures(method().play(Restarted(away=(101, 115))))["kill_time"]
    assert (found.value, found.limit) == (30 * WIDTH_NS, Limit.HOST)
    assert found.reason.endswith("for 50% of it the generator itself was kept from running")
    elsewhere = figures(method().play(Restarted(away=(200, 215))))["kill_time"]
    assert elsewhere.limit is Limit.DUT
    none = figures(method().play(Restarted(silences=((),), away=(200, 215))))["kill_time"]
    assert (none.value, none.limit) == (0, Limit.DUT)


def test_when_answers_came_that_nobody_tells_is_not_never() -> None:
    found = figures(method().play(Restarted(tells=False)))["kill_time"]
    assert (found.value, found.limit) == (None, Limit.UNKNOWN)
    assert found.reason == "when SYNs were answered is not told in 2 of 2 trials"


def test_a_generator_that_does_not_tell_when_answers_came_tells_no_time() -> None:
    one = Restarted().connect(method().trial_of("kill-switch"))
    assert one.counts is not None and one.counts.slots is not None
    silent = one.counts.slots.model_copy(update={"heard": None})
    untold = one.model_copy(update={"counts": one.counts.model_copy(update={"slots": silent})})
    assert (one.outage_ns, untold.outage_ns) == (30 * WIDTH_NS, None)


def test_a_budget_that_ends_leaves_what_was_seen() -> None:
    found = method().play(Restarted(budget=Budget(9 * NANOSECONDS)))
    assert not found.complete
    assert [one.name for one in found.figures] == ["restart_time", "restart_failed"]


def test_a_trial_that_stays_invalid_leaves_nothing_of_its_event() -> None:
    def backwards(index: int) -> dict[str, Any]:
        return {"launching_ns": 1} if index > 2 else {}

    found = method().play(Restarted(change=backwards))
    assert "rushed" in found.spoiled
    assert [one.name for one in found.figures] == ["restart_time", "restart_failed"]
    with pytest.raises(InvalidTrialError):
        method().play(Restarted(change=lambda index: {"launching_ns": 1}))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"duration": "3s"}, "at least 4s"),
        ({"events": ["kill-switch", "kill-switch"]}, "named once"),
        ({"events": ["sing"]}, "no event 'sing'"),
        ({"rate": 99}, "100"),
    ],
)
def test_what_would_tell_nothing_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        method(**settings)


def test_who_did_not_come_back_is_whom_something_was_done_to() -> None:
    flags = {event: not_back(event, "gone").flag for event in (*RESETS, "reboot-vnfs")}
    assert flags == {**dict.fromkeys(RESETS, Flag.SWITCH_ERROR), "reboot-vnfs": Flag.VNF_ERROR}
    assert not_back("kill-switch", "gone").failure == "gone"


def test_a_plan_knows_how_long_it_takes() -> None:
    loads = Loads(1_000, 1_000, 1_001)
    seconds = estimate(method(), POLICY, loads).seconds
    assert 4 * 4 <= seconds < 4 * 4 + 4


DEVICES: dict[str, Callable[[], Restarted]] = {
    "one that comes back": Restarted,
    "one that does not": lambda: Restarted(silences=(((101, SLOTS - 1),),)),
    "one that costs connections": lambda: Restarted(failed=12),
    "one whose trials differ": lambda: Restarted(silences=(((5, 9),), ((5, 8), (20, 30)))),
}


@pytest.mark.parametrize("name", DEVICES)
def test_what_was_printed_is_what_the_trials_say(name: str) -> None:
    device = DEVICES[name]()
    result = method().play(device)
    settings = method().model_dump(mode="json")
    found = answers_of_connections(settings, device.made, result)
    assert [(who, text) for who, against in found for text in against] == []
