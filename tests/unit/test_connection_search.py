"""Connections that are searched for: on a device of known capacity, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import pytest
from connection_models import POLICY, Device, client, held, packets, rate, server
from pydantic import ValidationError
from record_samples import goal
from reread_connections import answers_of_connections
from search_models import case_of

from vsperf.cli.connections_view import accounts_table, segments_table, switch_table
from vsperf.config.expect import Expectation
from vsperf.engine.conditions import busy
from vsperf.engine.criteria import check_all
from vsperf.engine.judge_connections import judged
from vsperf.errors import InvalidTrialError
from vsperf.methods.connection_search import ConnectionSearch
from vsperf.methods.connections import ConnectionsAsked, ConnectionsBench, limit_of
from vsperf.methods.estimate import estimate
from vsperf.output.table import NOTHING
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration
from vsperf.records.connections import ConnectionSlots, ConnectionTrial, Unbalanced
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.switch import ConnectionCounters, PmdCounters, SwitchCounters
from vsperf.records.trial import Purpose
from vsperf.search.base import Budget, Loads


def first(result: SearchResult) -> Figure:
    return result.figures[0]


@pytest.mark.parametrize("capacity", [501, 999, 1_000, 12_345, 77_777, 640_000])
def test_the_highest_rate_without_a_failure_is_found(capacity: int) -> None:
    device = Device(rate=capacity)
    assert isinstance(device, ConnectionsBench)
    found = first(rate().play(device))
    assert found.lower is not None and found.upper is not None
    assert found.lower <= capacity < found.upper
    assert found.upper - found.lower <= max(1, 0.02 * found.upper)
    assert found.value == found.lower
    assert found.limit is Limit.DUT
    assert "no answer" in found.reason


def test_no_device_is_offered_more_than_twice_what_it_takes() -> None:
    device = Device(rate=12_345)
    rate().play(device)
    assert max(one.rate_cps for one in device.made) <= 2 * 12_345


def test_both_ends_of_the_interval_are_tried_again() -> None:
    device = Device(rate=12_345)
    found = first(rate().play(device))
    for end in (found.lower, found.upper):
        assert len([one for one in device.made if one.rate_cps == end]) >= 2


@pytest.mark.parametrize("duration", ["7ms", "333ms", "2500ms"])
def test_a_duration_into_which_no_whole_number_of_connections_fits_is_no_shorter_one(
    duration: str,
) -> None:
    """A trial that is shorter than asked decides no load, and the search would never leave it."""
    device = Device(rate=12_345, budget=Budget(60 * NANOSECONDS))
    found = first(rate(duration=duration, min_rate=333).play(device))
    assert found.lower is not None and found.upper is not None
    assert found.lower <= 12_345 < found.upper
    assert min(one.duration_ns for one in device.made) >= Duration.parse(duration).ns
    assert rate(duration="2500ms").trial_at(333).connections == 833


def test_what_all_rates_hold_is_bounded_by_what_may_be_offered() -> None:
    found = first(rate(max_rate=8_000).play(Device()))
    assert (found.value, found.upper, found.limit) == (8_000, None, Limit.SETTING)
    assert "8,000/s, held" in found.reason


def test_no_port_asks_twice_in_a_trial_of_flows_as_the_second_would_be_none_that_is_new() -> None:
    few = {"clients": 1, "duration": "2s"}
    device = Device()
    found = first(rate(protocol="udp", **few).play(device))
    assert (found.value, found.upper, found.limit) == (32_256, None, Limit.SETTING)
    assert max(one.asked for one in device.made) == 64_512
    assert rate(**few).searched_range == (500, 1_000_000), "of TCP a device sees the end"


def test_what_the_generator_does_not_begin_is_not_the_devices() -> None:
    found = first(rate().play(Device(generator=20_000)))
    assert found.limit is Limit.GENERATOR
    assert found.value is not None and found.value <= 20_000
    assert found.upper is None
    assert "the generator began" in found.reason


def test_what_was_not_begun_while_the_machine_was_away_is_the_machines() -> None:
    away = {"paused_ns": 300_000_000, "launching_ns": 1_299_000_000}
    found = first(rate().play(Device(generator=20_000, change=lambda index: away)))
    assert found.limit is Limit.HOST
    assert "kept it from running for 23" in found.reason


def test_where_no_switch_is_between_both_ends_none_is_blamed() -> None:
    for switched, limit in ((True, Limit.DUT), (False, Limit.GENERATOR)):
        found = rate().play(Device(rate=5_000, switched=switched)).figures[0]
        assert (found.limit, found.upper is not None) == (limit, True)


def test_what_was_not_begun_for_want_of_ports_says_what_to_do() -> None:
    class Few(Device):
        def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
            self.generator = 64_512 * asked.rate_cps // asked.connections
            one = super().connect(asked)
            assert one.counts is not None and one.client is not None
            told = one.client.model_copy(update={"no_port": one.client.unsent})
            return one.model_copy(update={"counts": one.counts.model_copy(update={"client": told})})

    found = first(held(clients=1).play(Few()))
    assert found.limit is Limit.GENERATOR
    assert "no port left, and search.clients says how many" in found.reason


def test_a_generator_that_begins_too_few_at_any_rate_leaves_no_number() -> None:
    found = first(rate().play(Device(generator=100)))
    assert (found.value, found.limit) == (None, Limit.UNKNOWN)
    assert "the generator began 100 of 500" in found.reason


def test_where_the_generator_has_no_time_left_nobody_can_tell_whose_failures_are() -> None:
    found = first(rate().play(Device(rate=10_000, busy_ppm=990_000)))
    assert found.limit is Limit.GENERATOR
    assert "no time left" in found.reason


@pytest.mark.parametrize(
    ("limit", "flags", "said"),
    [
        (Limit.DUT, (), "no answer"),
        (Limit.HOST, (), "in clean time none of these trials would have failed"),
        (Limit.UNKNOWN, (Flag.UPPER_NOT_REPRODUCED,), "when it was tried again, none failed"),
        (Limit.UNKNOWN, (Flag.CONSTANT_LOSS,), "about as many fail at any load"),
        (Limit.UNKNOWN, (), "whose failures these are nobody can tell"),
    ],
)
def test_a_limit_that_is_not_the_switch_says_what_makes_it_another(
    limit: Limit, flags: tuple[Flag, ...], said: str
) -> None:
    lossy = Device(rate=900).connect(ConnectionsAsked(rate_cps=1_000, connections=1_000))
    answer = goal(500, 1_000, "connections", limit=limit, flags=flags)
    found, reason, upper = limit_of(answer, [(1_000, lossy)], str)
    assert (found, upper) == (limit, 1_000)
    assert reason.startswith("at 1000 100 of 1,000 connections failed")
    assert reason.endswith(said)


@pytest.mark.parametrize(
    ("device", "least", "met"),
    [
        (Device(rate=300), "500", False),
        (Device(rate=300), "400", None),
        (Device(rate=300, busy_ppm=990_000), "500", None),
        (Device(rate=10_000), "9k", True),
        (Device(rate=10_000), "11k", False),
    ],
)
def test_a_rate_that_not_even_the_lowest_load_reached_is_missed(
    device: Device, least: str, met: bool | None
) -> None:
    wanted = Expectation.model_validate({"metric": "connection_rate", "min": least})
    asked = case_of("mlr").model_copy(update={"search": rate(), "expect": (wanted,)})
    (check,) = check_all(asked, rate().play(device), ())
    assert check.met is met, check.found


def test_failures_are_told_by_their_cause() -> None:
    found = first(rate().play(Device(rate=10_000, cause="refused")))
    assert "refused" in found.reason


def test_what_the_switch_counted_as_dropped_is_told_beside_them() -> None:
    class Full(Device):
        def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
            one = super().connect(asked)
            drops = {"connection table full": one.failed or 0, "tx errors": 0}
            return one.model_copy(update={"switch": SwitchCounters(drops=drops)})

    reason = first(rate().play(Full(rate=10_000))).reason
    assert "the switch counted" in reason
    assert "connection table full" in reason
    assert "tx errors" not in reason


def test_a_flood_runs_beside_each_trial_and_is_told_with_the_answer() -> None:
    method, device = rate(syn_flood="20k", half_open=True), Device(rate=10_000)
    found = {one.name: one for one in method.play(device).figures}
    assert {one.flood_fps for one in device.made} == {20_000}
    assert "beside 20,000 half-open connections a second" in found["connection_rate"].at
    assert found["flood_arrived"].value == pytest.approx(0.5)
    assert "SYNs of the flood came through" in found["flood_arrived"].reason
    assert "flood_arrived" in method.metrics()


def test_without_a_flood_nothing_is_said_of_one() -> None:
    found = rate().play(Device(rate=10_000))
    assert "flood" not in first(found).at
    assert "flood_arrived" not in {one.name for one in found.figures}
    assert rate().checking().flood_fps is None


@pytest.mark.parametrize(("hold_ns", "floods"), [(0, 0.8), (10**10, 0.2)])
def test_a_flood_that_was_not_sent_is_no_flood_and_it_goes_on_while_connections_are_held(
    hold_ns: int, floods: float
) -> None:
    asked = ConnectionsAsked(rate_cps=1_000, connections=1_000, hold_ns=hold_ns, flood_fps=50_000)
    assert Device(floods=0.95).connect(asked).flags == ()
    with pytest.raises(InvalidTrialError, match="noise-slackened"):
        Device(floods=floods).connect(asked)


def test_half_open_connections_are_of_a_flood() -> None:
    with pytest.raises(ValidationError, match="syn_flood asks for none"):
        rate(half_open=True)


def test_not_all_may_fail() -> None:
    with pytest.raises(ValidationError, match="`failed` is 100%: where all may fail, any load"):
        rate(failed="100%")
    assert rate(failed="99%").failed.value < 1


def test_a_share_that_may_fail_is_let_through() -> None:
    strict = first(rate().play(Device(rate=10_000)))
    lenient = first(rate(failed="10%").play(Device(rate=10_000)))
    assert strict.value is not None and lenient.value is not None
    assert lenient.value > 1.05 * strict.value


def test_times_and_segments_that_were_sent_again_are_those_at_the_answer() -> None:
    figures = {one.name: one for one in rate().play(Device(rate=10_000)).figures}
    assert figures["handshake_p99"].value == pytest.approx(100_000, rel=0.01)
    assert figures["first_response_p99"].value == pytest.approx(300_000, rel=0.01)
    assert figures["repeated_segments"].value == pytest.approx(1 / 500, rel=0.01)
    assert figures["handshake_p99"].at.startswith("at ")


def test_a_generator_that_tells_no_times_has_an_answer_and_says_so() -> None:
    untold = ("times", "launching_ns", "completing_ns", "paused_ns", "longest_gap_ns")
    device = Device(rate=10_000, change=lambda index: dict.fromkeys(untold))
    figures = {one.name: one for one in rate().play(device).figures}
    assert figures["connection_rate"].value == pytest.approx(10_000, rel=0.02)
    assert figures["handshake_p99"].value is None
    assert figures["handshake_p99"].reason == "the generator does not tell it"
    assert {one.flags for one in device.made} == {(Flag.UNTIMED,)}


def test_the_curve_has_every_rate_that_was_tried() -> None:
    device = Device(rate=10_000)
    (curve,) = rate().play(device).curves
    assert [point[0] for point in curve.points] == sorted({one.rate_cps for one in device.made})
    failed = {point[0]: point[1] for point in curve.points}
    assert all((share or 0) > 0 for load, share in failed.items() if (load or 0) > 10_000)
    assert all(share == 0 for load, share in failed.items() if (load or 0) <= 10_000)


def test_the_time_that_is_over_leaves_what_is_known() -> None:
    found = rate().play(Device(rate=10_000, budget=Budget(7 * NANOSECONDS)))
    assert not found.complete
    assert first(found).limit is Limit.BUDGET
    assert first(found).value is not None


def test_no_trial_begins_that_takes_longer_than_there_is_time() -> None:
    """Each is opened for as many seconds as there are thousands, and held for twice as long."""
    device = Device(budget=Budget(30 * NANOSECONDS))
    found = held(rate=1_000, hold="1s").play(device)
    assert [one.asked for one in device.made] == [1_000, 2_000, 4_000]
    assert not found.complete
    assert first(found).limit is Limit.BUDGET


def test_a_trial_that_stays_invalid_is_no_answer() -> None:
    def backwards(index: int) -> dict[str, Any]:
        return {"launching_ns": 1} if index > 1 else {}

    with pytest.raises(InvalidTrialError, match="rushed"):
        rate().play(Device(change=backwards))


@pytest.mark.parametrize("room", [1_001, 30_000, 262_144])
def test_the_most_at_a_time_is_found(room: int) -> None:
    found = first(held().play(Device(room=room)))
    assert found.name == "concurrent_connections"
    assert found.lower is not None and found.upper is not None
    assert found.lower <= room < found.upper
    assert found.upper - found.lower <= max(1, 0.02 * found.upper)


def test_each_is_held_until_the_last_has_been_opened() -> None:
    """Even where the machine makes that take twice as long."""
    asked = held(rate=1_000, hold="2s").trial_at(5_000)
    assert (asked.connections, asked.rate_cps) == (5_000, 1_000)
    assert asked.hold_ns == 12 * NANOSECONDS
    assert asked.lasting_ns == 17 * NANOSECONDS, "so long is the last one open"


def test_what_was_open_at_a_time_is_counted_and_not_presumed() -> None:
    class Late(Device):
        def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
            one = super().connect(asked)
            assert one.counts is not None and one.counts.client is not None
            fewer = one.counts.client.model_copy(update={"most_established": asked.connections - 7})
            return one.model_copy(
                update={"counts": one.counts.model_copy(update={"client": fewer})}
            )

    found = first(held(max_connections=4_000).play(Late()))
    assert (found.value, found.lower, found.text) == (3_993, 3_993, "≥ 3,993")


def test_connections_that_may_fail_were_not_open_at_a_time() -> None:
    found = first(held(failed="5%", max_connections=16_000).play(Device(room=15_800)))
    assert (found.value, found.text, found.limit) == (15_800, "≥ 15,800", Limit.SETTING)


def test_a_plan_knows_for_how_long_connections_are_opened_and_held() -> None:
    def planned_s(method: ConnectionSearch) -> float:
        lowest, highest = method.range
        loads = Loads(lowest, highest, highest + 1, ascending=True)
        return estimate(method, POLICY, loads).seconds

    quick, slow = (planned_s(held(rate=rate, hold="0s")) for rate in (10_000, 1_000))
    assert slow == pytest.approx(10 * quick, rel=0.05)
    assert quick > 2 * 500_000 / 10_000, "a trial opens half a million or more, and closes them"
    assert planned_s(rate(duration="10s")) == pytest.approx(10 * planned_s(rate()), rel=0.05)


def test_a_check_asks_for_a_few_of_the_same_kind() -> None:
    few = held(request=200).checking()
    assert (few.connections, few.hold_ns, few.purpose) == (20, 0, Purpose.PATH_CHECK)
    assert few.request_bytes == 200


# What is said of a trial, before a search sees it.


def trial(**changes: Any) -> ConnectionTrial:
    device = Device()
    one = device.connect(ConnectionsAsked(rate_cps=1_000, connections=1_000))
    assert one.counts is not None
    return one.model_copy(update={"flags": (), "counts": one.counts.model_copy(update=changes)})


@pytest.mark.parametrize(
    ("changes", "flag"),
    [
        ({"launching_ns": 100_000_000}, Flag.RUSHED),
        ({"launching_ns": 2_000_000_000}, Flag.STRETCHED),
        ({"launching_ns": None}, Flag.UNTIMED),
        ({"launching_ns": 1_300_000_000, "paused_ns": 300_000_000}, Flag.GENERATOR_PAUSED),
        ({"client": client(900, 900, 0, 1, "refused")}, Flag.WRONG_LOAD),
        ({"client": client(1_000, 0, 0, 0, "refused")}, Flag.NOTHING_SENT),
        ({"client": client(1_000, 990, 0, 1, "refused")}, Flag.SHORT_OFFER),
        ({"server": server(999)}, Flag.ENDS_DISAGREE),
        (
            {"client": client(1_000, 1_000, 3, 1, "no_answer"), "missed_frames": 1},
            Flag.GENERATOR_BEHIND,
        ),
    ],
)
def test_what_speaks_against_a_trial_is_said(changes: dict[str, Any], flag: Flag) -> None:
    assert flag in judged(trial(**changes), POLICY).flags


def test_a_proxy_that_says_to_have_had_fewer_than_came_to_their_end_is_not_believed() -> None:
    def flags(accepted: int, opened: int) -> tuple[Flag, ...]:
        counted = ConnectionCounters(accepted=accepted, opened=opened)
        seen = trial().model_copy(update={"switch": SwitchCounters(connections=counted)})
        return judged(seen, POLICY).flags

    assert flags(1_000, 1_000) == flags(1_003, 1_001) == (), "it may try again"
    assert flags(999, 1_000) == flags(1_000, 999) == (Flag.ENDS_DISAGREE,)


def test_what_a_switch_counted_is_shown_by_name() -> None:
    switch = SwitchCounters(
        connections=ConnectionCounters(accepted=1_000, opened=999),
        drops={"listen queue full": 3, "socket queue full": 0},
        reasons={"haproxy retries": 2},
        pmds=tuple(
            PmdCounters(cpu=cpu, frames=count, busy_cycles=None, idle_cycles=None)
            for cpu, count in ((1, 5_000), (3, 0))
        ),
    )
    seen = trial().model_copy(update={"switch": switch})
    assert [(str(name), str(count)) for name, count in switch_table(seen).texts] == [
        ("connections accepted", "1,000"),
        ("connections opened", "999"),
        ("frames of the thread on CPU 1", "5,000"),
        ("frames of the thread on CPU 3", "0"),
        ("listen queue full", "3"),
        ("haproxy retries", "2"),
    ]
    assert switch_table(trial()).rows == ()


def test_pauses_after_the_last_syn_make_no_trial_a_fast_one() -> None:
    away = {"launching_ns": 500_000_000, "paused_ns": 450_000_000}
    some = client(1_000, 500, 0, 1, "refused")
    flags = judged(trial(**away, client=some, server=server(500)), POLICY).flags
    assert Flag.RUSHED not in flags
    assert {Flag.SHORT_OFFER, Flag.GENERATOR_PAUSED} <= {*flags}


def test_a_sound_trial_has_nothing_against_it() -> None:
    assert judged(trial(), POLICY).flags == ()


def test_of_a_generator_that_failed_nothing_is_counted() -> None:
    one = judged(trial().model_copy(update={"counts": None, "error": "gone"}), POLICY)
    assert one.flags == (Flag.GENERATOR_ERROR,)
    assert (one.failed, one.unsent, one.failed_ratio, one.causes) == (None, None, None, {})


def test_a_part_that_failed_is_what_is_told() -> None:
    assert judged(trial(), POLICY, Flag.SWITCH_ERROR).flags == (Flag.SWITCH_ERROR,)


def test_noise_that_did_less_than_it_should_spoils_a_trial_beside_it() -> None:
    one = judged(trial(), POLICY, noise_slackened=True)
    assert one.flags == (Flag.NOISE_SLACKENED,)
    assert not one.valid
    died = judged(trial(), POLICY, Flag.NOISE_ERROR, noise_slackened=True)
    assert died.flags == (Flag.NOISE_ERROR,)


def test_accounts_that_do_not_add_up_are_none() -> None:
    sound = client(10, 10, 0, 1, "refused")
    with pytest.raises(Unbalanced, match="adds up to"):
        sound.model_copy(update={"completed": 9}).balanced()


def test_slots_of_time_are_those_of_connections() -> None:
    lanes = {"launched": (500, 500), "answered": (500, 490), "completed": (500, 490)}
    slots = ConnectionSlots(width_ns=3, **lanes, established=(1, 0), away_ns=(0, 7))
    seen = trial(slots=slots).as_load(1_000)
    assert seen.slots is not None
    assert (seen.slots.sent_frames, seen.slots.received_frames) == ((1_000,), (990,))
    assert [slot.away_ns for slot in seen.slots.noted] == [0, 7]


@pytest.mark.parametrize(
    ("changed", "why"),
    [({"width_ns": 0}, "no width"), ({"completed": (500,)}, "different lengths")],
)
def test_a_record_of_slots_that_no_time_can_have_is_refused(
    changed: dict[str, Any], why: str
) -> None:
    two: dict[str, Any]
    two = dict.fromkeys(("launched", "answered", "completed", "established", "away_ns"), (500, 490))
    ConnectionSlots(width_ns=3, **two)
    with pytest.raises(ValueError, match=why):
        ConnectionSlots(**{"width_ns": 3, **two, **changed})


def test_a_budget_that_is_over_before_the_first_trial_leaves_no_number() -> None:
    found = rate().play(Device(budget=Budget(1)))
    assert not found.complete
    assert first(found).value is None


def test_connections_that_were_begun_are_told_in_the_words_of_the_progress() -> None:
    made = Device(generator=900).connect(ConnectionsAsked(rate_cps=1_000, connections=1_000))
    told = {str(row[0]): str(row[1]) for row in accounts_table(made).texts}
    assert (told["due"], told["not begun"], told["begun"]) == ("1,000", "100", "900")


def test_where_connections_are_held_it_may_take_longer_to_open_them() -> None:
    slow = {"launching_ns": 2_000_000_000}
    held_ones = trial(**slow).model_copy(update={"hold_ns": NANOSECONDS})
    assert Flag.STRETCHED not in judged(held_ones, POLICY).flags
    assert ConnectionsAsked(rate_cps=1, connections=1, hold_ns=1).is_of_open_ones
    assert not ConnectionsAsked(rate_cps=1, connections=1).is_of_open_ones


SLOTS, AWAY_IN = 100, 50


@dataclass
class Restless(Device):
    """A device on a machine that is away in every tenth slot of time, and begins too few in one."""

    short_from: int = 10**9
    """From this rate on."""
    every: int = 10
    """One slot in so many is the one in which it is away."""

    def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
        short = 3 if asked.rate_cps >= self.short_from else 0
        self.generator = (asked.connections - short) * asked.rate_cps // asked.connections
        one = super().connect(asked)
        assert one.client is not None and one.counts is not None
        launched, completed = (
            tuple(
                count - (short if slot == AWAY_IN else 0) for slot, count in enumerate(spread(all_))
            )
            for all_ in (one.client.launched + short, one.client.completed + short)
        )
        slots = ConnectionSlots(
            width_ns=10_000_000,
            launched=launched,
            answered=launched,
            completed=completed,
            established=(0,) * SLOTS,
            away_ns=tuple(3_000_000 * (slot % self.every == 0) for slot in range(SLOTS)),
        )
        counts = one.counts.model_copy(update={"slots": slots})
        self.made[-1] = made = one.model_copy(update={"counts": counts})
        return made


def spread(count: int) -> tuple[int, ...]:
    """By slots of 10 ms, in some of which the schedule stands still for three of them."""
    ends = list(accumulate(7 if slot % 10 == 0 else 10 for slot in range(SLOTS)))
    sums = [count * end // ends[-1] for end in ends]
    return tuple(later - one for one, later in pairwise([0, *sums]))


@pytest.mark.parametrize("short_from", [3_000, 8_000, 10**9])
@pytest.mark.parametrize("capacity", [4_500, 60_000])
def test_nothing_far_above_what_held_is_offered_for_clean_time_either(
    capacity: int, short_from: int
) -> None:
    device = Restless(rate=capacity, short_from=short_from)
    rate().play(device)
    held_so_far = 500
    for one in device.made:
        assert one.rate_cps <= 2 * held_so_far, [made.rate_cps for made in device.made]
        if not one.failed:
            held_so_far = max(held_so_far, one.rate_cps)


@pytest.mark.parametrize("short_from", [3_000, 10**9])
def test_the_answer_from_clean_time_stands_beside_that_from_all_time(short_from: int) -> None:
    """Where the machine is away connections are begun too late, and the next ones are not."""
    device = Restless(rate=4_500, short_from=short_from)
    result = rate().play(device)
    found = {one.name: one for one in result.figures}
    answer, clean = found["connection_rate"], found["connection_rate_clean"]
    assert clean.lower is not None and answer.lower is not None
    assert clean.value == clean.lower >= answer.lower
    assert clean.limit is (Limit.DUT if short_from > 4_500 else Limit.GENERATOR)
    assert "of the time in which nothing kept the generator from running" in clean.reason
    assert f"{clean.lower:,.0f}/s held" in clean.reason
    settings = rate().model_dump(mode="json")
    told = answers_of_connections(settings, device.made, result)
    assert [(who, text) for who, against in told for text in against] == []
    wrong = clean.model_copy(update={"value": clean.lower + 1})
    others = tuple(one for one in result.figures if one is not clean)
    changed = result.model_copy(update={"figures": (*others, wrong)})
    told = answers_of_connections(settings, device.made, changed)
    assert [who for who, against in told if against] == ["connection_rate_clean"]


def test_where_too_little_time_is_clean_it_is_said_in_place_of_a_number() -> None:
    device = Restless(rate=4_500, every=2)
    result = rate(max_rate=1_000).play(device)
    found = {one.name: one for one in result.figures}
    clean = found["connection_rate_clean"]
    assert (clean.value, clean.limit) == (None, None)
    assert "of the time was clean" in clean.reason
    assert found["connection_rate"].value == 1_000


def test_a_criterion_can_be_about_clean_time_where_there_is_some() -> None:
    assert rate().metrics()["connection_rate_clean"] is Unit.PER_SECOND
    assert "packet_rate_clean" in packets().metrics()
    parts = ("_clean", "_near", "_far")
    assert not [name for name in held().metrics() if name.endswith(parts)]
    quiet = {one.name for one in rate().play(Device(rate=10_000)).figures}
    assert not [name for name in quiet if name.endswith(parts)], "nobody knows of any"


def failing_in_a_slot(**changes: Any) -> ConnectionTrial:
    """Return a trial in which ten of 1,000 failed: all that were due in one slot of 10 ms."""
    one = Device(rate=990).connect(ConnectionsAsked(rate_cps=1_000, connections=1_000))
    assert one.counts is not None
    away = changes.pop("away", ())
    slots = ConnectionSlots(
        width_ns=10_000_000,
        launched=(10,) * SLOTS,
        answered=(10,) * SLOTS,
        completed=tuple(10 * (slot != AWAY_IN) for slot in range(SLOTS)),
        established=(0,) * SLOTS,
        away_ns=tuple(3_000_000 * (slot in away) for slot in range(SLOTS)),
    )
    counts = one.counts.model_copy(update={"slots": slots, **changes})
    return one.model_copy(update={"counts": counts})


ENDED = "the time ended before the search did; 500 held, 1000 did not"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"away": [AWAY_IN]}, "; in clean time none of these trials would have failed"),
        ({"busy_ppm": 990_000}, "no time left there, so nobody can tell whose they are"),
        ({"missed_frames": 10}, "; what the generator's own ports missed explains them"),
    ],
)
def test_where_the_time_ended_a_load_bounds_a_device_that_nobody_else_can_have_failed_at(
    changes: dict[str, Any], said: str
) -> None:
    answer = goal(500, 1_000, "connections", limit=Limit.BUDGET, flags=(Flag.OUT_OF_BUDGET,))
    limit, reason, upper = limit_of(answer, [(1_000, failing_in_a_slot(**changes))], str)
    assert (limit, upper) == (Limit.BUDGET, None if said else 1_000)
    failed = "; at 1000 10 of 1,000 connections failed (1%): 10 no answer" if said else ""
    assert reason.startswith(f"{ENDED}{failed}")
    assert reason.endswith(said or ENDED)


def test_where_the_time_ended_and_was_not_clean_both_is_said() -> None:
    """That trials did not agree would be wrong: there was one at each load."""
    ended = {"limit": Limit.UNKNOWN, "flags": (Flag.OUT_OF_BUDGET,)}
    made = [(1_000, failing_in_a_slot(away=range(SLOTS)))]
    _, reason, _ = limit_of(goal(500, 1_000, "connections", **ended), made, str)
    assert reason.startswith(f"{ENDED}; at 1000 10 of 1,000 connections failed")
    assert reason.endswith("; whose failures these are nobody can tell")
    _, reason, _ = limit_of(goal(500, None, "connections", **ended), made, str)
    assert reason == "the time ended before the search did; 500 held"


@pytest.mark.parametrize(
    ("busy_ppm", "least", "met", "said"),
    [
        (300_000, "20k", False, "8,000/s"),
        (300_000, "5k", None, "between 8,000/s and 12,000/s: the time ended too early to tell"),
        (990_000, "20k", None, "≥ 8,000/s, limited by budget: what the switch can do nobody"),
        (990_000, "5k", None, "≥ 8,000/s, limited by budget: what the switch can do nobody"),
    ],
)
def test_where_the_time_ended_a_rate_is_never_met_and_missed_by_the_devices_failures_alone(
    busy_ppm: int, least: str, met: bool | None, said: str
) -> None:
    """As a goal of frames is."""
    device = Device(rate=10_000, busy_ppm=busy_ppm, budget=Budget(7 * NANOSECONDS))
    result = rate().play(device)
    wanted = Expectation.model_validate({"metric": "connection_rate", "min": least})
    asked = case_of("mlr").model_copy(update={"search": rate(), "expect": (wanted,)})
    (check,) = check_all(asked, result, ())
    assert check.met is met
    assert check.found.startswith(said)


NEAR, FAR = (200, 210), (1_000, 1_050)
"""Round trips of a cache line between two CPUs, before and after a trial."""


@dataclass
class Moved(Device):
    """A device on a machine whose CPUs are moved: it takes less while they are far apart."""

    far: int = 4_500
    """Connections a second that it takes then."""
    waits: int = 0
    """Which move them as well as every fifth trial does."""

    @property
    def is_far(self) -> bool:
        return (len(self.made) // 5 + self.waits) % 2 == 1

    def round_trip_ns(self) -> int | None:
        return (FAR if self.is_far else NEAR)[0]

    def hold(self, ns: int) -> None:
        self.waits += 1

    def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
        near, far = self.rate, self.is_far
        self.rate = self.far if far else near
        one = super().connect(asked)
        self.rate = near
        self.made[-1] = made = one.model_copy(update={"round_trips_ns": FAR if far else NEAR})
        return made


def test_where_cpus_are_moved_the_answer_of_each_regime_stands_beside_that_of_all_trials() -> None:
    device = Moved(rate=20_000)
    result = rate().play(device)
    found = {one.name: one for one in result.figures}
    whole, near, far = (found[f"connection_rate{part}"] for part in ("", "_near", "_far"))
    assert far.upper is not None and near.lower is not None
    assert far.value == far.lower and far.lower is not None and far.lower <= 4_500 < far.upper
    assert near.lower > far.upper >= (whole.upper or 0)
    assert "were far from each other (1000 to 1050 ns there and back)" in far.reason
    assert (whole.limit, near.limit) == (Limit.HOST, Limit.DUT)
    assert "were near each other" in whole.reason
    told = answers_of_connections(rate().model_dump(mode="json"), device.made, result)
    assert [(who, text) for who, against in told for text in against] == []


def test_what_is_open_at_a_time_says_nothing_of_where_cpus_are() -> None:
    found = held(max_connections=8_000).play(Moved(room=5_000, far=10**9)).figures
    assert not [one.name for one in found if one.name.endswith(("_near", "_far"))]


def test_where_connections_are_held_no_time_is_cleaner_than_another() -> None:
    """Not even where as many are open as begin in a second, so that load and rate are one number.

    One load alone would be known of then, and all others tried for it until none may be any more.
    """
    device, other = (Restless(room=12_345) for _ in range(2))
    found = first(held(rate=4_000, max_connections=64_000).play(device))
    assert found.lower is not None and found.upper is not None
    assert found.lower <= 12_345 < found.upper
    held(rate=4_001, max_connections=64_000).play(other)
    assert [one.asked for one in device.made] == [one.asked for one in other.made]
    assert {one.as_load(one.asked, of_time=False).slots for one in device.made} == {None}
    away = Restless(every=2)
    held(max_connections=2_000).play(away)
    told = [one.as_load(one.rate) for one in away.made]
    assert busy(told), "whether the machine was too busy is told all the same"


def test_where_nothing_has_failed_yet_twice_of_what_held_comes_next() -> None:
    loads = Loads(500, 1_000_000, 1_000_001, ascending=True)
    assert [loads.above(lower) for lower in (None, 8_000, 700_000)] == [500, 16_000, 1_000_000]
    frames = Loads(500, 1_000_000, 1_000_001)
    assert [frames.above(lower) for lower in (None, 8_000)] == [1_000_000, 1_000_000]
    offered = packets().offers(case_of("mlr"), None)
    assert offered.ascending, "what looks for clean time goes by what a plan may offer"


def test_what_an_end_does_not_count_is_not_shown_as_none() -> None:
    one = Device().connect(rate().checking())
    assert one.counts is not None
    silent = one.counts.model_copy(update={"server_segments": None})
    table = segments_table(one.model_copy(update={"counts": silent}))
    assert [tuple(map(str, row)) for row in table.rows] == [("sent", "100", NOTHING)]
