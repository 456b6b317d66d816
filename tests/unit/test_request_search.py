"""What goes over open connections: on a device of known capacity, and what is said of a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from connection_models import POLICY, Device, asking, client, goodput, packets
from printed_text import printed
from pydantic import ValidationError
from record_samples import header, planned
from search_models import case_of

from vsperf.analysis.why import Verdict
from vsperf.analysis.why_connections import why_connections
from vsperf.cli.connections_view import asking_table, print_connections
from vsperf.cli.progress import connections_line
from vsperf.config.method import Contradiction
from vsperf.engine.judge_connections import judged
from vsperf.methods.connections import ConnectionsAsked
from vsperf.methods.request_search import PacketRate
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import Asking, ConnectionSlots, ConnectionTrial, Unbalanced
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.search.base import Budget

BY_CLOCK = ConnectionsAsked(
    rate_cps=5_000, connections=1_000, request_rps=10_000, requests_due=10_000
)


def figures(result: SearchResult) -> dict[str, Figure]:
    return {one.name: one for one in result.figures}


@pytest.mark.parametrize("capacity", [2_001, 12_345, 640_000])
def test_the_highest_rate_without_a_failure_is_told_in_packets_as_they_were_counted(
    capacity: int,
) -> None:
    found = figures(packets().play(Device(requests=capacity)))
    asked, answer = found["request_rate"], found["packet_rate"]
    assert asked.lower is not None and asked.upper is not None
    assert asked.lower <= capacity < asked.upper
    assert asked.upper - asked.lower <= max(1, 0.02 * asked.upper)
    assert (answer.value, answer.upper) == (3 * asked.lower, 3 * asked.upper)
    assert answer.limit is Limit.DUT
    assert "requests failed" in answer.reason and "waiting" in answer.reason


def test_goodput_is_what_responses_carry() -> None:
    found = figures(goodput(response=800).play(Device(requests=50_000)))
    asked = found["request_rate"]
    assert asked.value is not None
    assert found["goodput"].value == 8 * 800 * asked.value
    assert found["goodput"].at.startswith("1,000 connections; requests of 100 B and 800 B")


def test_each_trial_opens_all_connections_and_asks_on_them_by_a_clock() -> None:
    asked = packets(connections=200, rate=1_000, duration="2s").trial_at(30_000)
    assert (asked.connections, asked.rate_cps, asked.hold_ns) == (200, 1_000, 0)
    assert (asked.request_rps, asked.requests_due) == (30_000, 60_000)
    assert asked.lasting_ns == int(2.4 * NANOSECONDS), "they are closed as fast as they are opened"


def test_a_duration_into_which_no_whole_number_of_requests_fits_is_no_shorter_one() -> None:
    device = Device(requests=12_345, budget=Budget(60 * NANOSECONDS))
    found = figures(packets(duration="1700ms", min_rate=2_001).play(device))["request_rate"]
    assert found.lower is not None and found.upper is not None
    assert found.lower <= 12_345 < found.upper
    assert min(one.duration_ns for one in device.made) >= 1_700_000_000


def test_a_check_opens_a_few_and_asks_once_on_each() -> None:
    few = packets().checking()
    assert (few.connections, few.request_rps, few.requests_due) == (20, None, None)


def test_what_the_generator_does_not_ask_is_not_the_devices() -> None:
    answer = packets().play(Device(asks=20_000)).figures[0]
    assert (answer.limit, answer.upper) == (Limit.GENERATOR, None)
    assert "the generator began" in answer.reason and "requests in time" in answer.reason


def test_where_the_generator_had_no_time_left_nobody_can_tell_whose_failures_are() -> None:
    found = figures(packets().play(Device(requests=20_000, busy_ppm=980_000)))
    assert found["packet_rate"].limit is found["request_rate"].limit is Limit.GENERATOR
    assert found["request_rate"].upper is not None, "so a criterion on it would blame the switch"


def test_requests_that_may_be_late_are_not_said_to_be_in_time() -> None:
    strict, lenient = (
        figures(packets(failed=share).play(Device(requests=20_000)))["request_rate"].reason
        for share in ("0", "5%")
    )
    assert strict.endswith("all of which were answered at once")
    assert lenient.endswith("5% or fewer of which were not answered at once")


def contradictions(**settings: Any) -> list[Contradiction]:
    case = case_of("mlr")
    return list(packets(**settings).contradictions(case.traffic.frame_size, case.slowest_link))


def test_a_search_that_could_not_see_a_loss_is_refused() -> None:
    (seldom,) = contradictions(connections=1_001, min_rate=2_000)
    assert (seldom.path, seldom.fix) == (
        "min_rate", "--set search.min_rate=2002, or have fewer connections",
    )  # fmt: skip
    assert "less than 2 times a second each" in seldom.what
    assert contradictions(connections=1_000, min_rate=2_000) == []


def test_connections_that_cannot_all_be_open_are_refused() -> None:
    (many,) = contradictions(connections=64_513, min_rate=200_000, clients=1)
    assert (many.path, many.fix) == ("connections", "--set search.clients=2")
    assert many.what == "is 64,513, and search.clients is 1"
    assert contradictions(connections=64_512, min_rate=200_000, clients=1) == []


def test_how_often_a_connection_asks_is_not_said_as_the_clock_says_it() -> None:
    with pytest.raises(ValidationError, match="requests"):
        PacketRate.model_validate({"kind": "pps", "requests": 2})


# What is said of a trial, before a search sees it.


def trial(**changes: Any) -> ConnectionTrial:
    one = Device().connect(BY_CLOCK)
    assert one.counts is not None
    return one.model_copy(update={"flags": (), "counts": one.counts.model_copy(update=changes)})


def by_clock(**changes: Any) -> Asking:
    return asking(10_000, 10_000, 0, 1.0, 300_000).model_copy(update=changes)


@pytest.mark.parametrize(
    ("changes", "flag"),
    [
        ({"asking_ns": 100_000_000}, Flag.RUSHED),
        ({"asking_ns": 2_000_000_000}, Flag.STRETCHED),
        ({"asking_ns": None}, Flag.UNTIMED),
        ({"asking_ns": 1_300_000_000, "paused_ns": 300_000_000}, Flag.GENERATOR_PAUSED),
        ({"intended": 9_999, "asked": 9_999}, Flag.WRONG_LOAD),
        ({"asked": 0, "unasked": 10_000, "replied": 0}, Flag.NOTHING_SENT),
        ({"asked": 9_900, "unasked": 100, "replied": 9_900}, Flag.SHORT_OFFER),
    ],
)
def test_what_speaks_against_a_trial_is_said(changes: dict[str, Any], flag: Flag) -> None:
    assert flag in judged(trial(asking=by_clock(**changes)), POLICY).flags


def test_connections_that_were_not_begun_are_no_offer_either() -> None:
    some = client(1_000, 900, 0, 1, "refused")
    assert Flag.SHORT_OFFER in judged(trial(client=some), POLICY).flags


def test_requests_of_which_all_found_no_connection_are_a_trial_with_an_answer() -> None:
    gone = by_clock(asked=0, gone=10_000, replied=0, asking_ns=None)
    one = judged(trial(asking=gone), POLICY)
    assert (one.flags, one.failed) == ((), 10_000)


def test_a_generator_that_tells_nothing_of_the_clock_has_failed() -> None:
    assert judged(trial(asking=None), POLICY).flags == (Flag.GENERATOR_ERROR,)


def test_a_sound_trial_has_nothing_against_it() -> None:
    one = judged(trial(), POLICY)
    assert (one.flags, one.failed, one.causes_text) == ((), 0, "")


@pytest.mark.parametrize(
    ("changes", "failed", "said"),
    [
        ({"asked": 9_990, "waiting": 10, "replied": 9_990}, 10, "10 waiting"),
        ({"asked": 9_990, "gone": 10, "replied": 9_980}, 20, "10 gone, 10 not answered"),
    ],
)
def test_failures_are_told_by_cause(changes: dict[str, Any], failed: int, said: str) -> None:
    one = trial(asking=by_clock(**changes))
    assert (one.failed, one.causes_text) == (failed, said)
    assert said in connections_line(one)


def test_what_had_to_be_sent_again_was_not_answered_at_once_even_if_nobody_waited() -> None:
    sound = by_clock()
    again = sound.server.model_copy(update={"repeated": 3})
    one = trial(asking=sound.model_copy(update={"server": again}))
    assert (one.failed, one.causes_text) == (3, "3 repeated")
    seen = one.as_load(10_000).directions[0]
    assert (seen.sent_frames, seen.received_frames) == (10_000, 9_997)


def test_accounts_that_do_not_add_up_are_none() -> None:
    with pytest.raises(Unbalanced, match="requests that were due"):
        by_clock(gone=1).balanced()


def test_slots_of_time_begin_with_the_first_request() -> None:
    nothing = (0, 0, 0, 0)
    slots = ConnectionSlots(
        width_ns=500_000_000,
        launched=(1_000, 0, 0, 0),
        answered=(1_000, 0, 0, 0),
        completed=(1_000, 0, 0, 0),
        established=nothing,
        away_ns=(9, 0, 5, 0),
        asked=(0, 5_000, 5_000, 0),
        replied=(0, 5_000, 4_990, 0),
    )
    seen = trial(slots=slots).as_load(10_000).slots
    assert seen is not None
    assert (seen.sent_frames, seen.received_frames) == ((10_000,), (9_990,))
    assert [(slot.index, slot.away_ns) for slot in seen.noted] == [(0, 0), (1, 5)]


def test_accounts_are_shown_in_the_words_of_the_progress() -> None:
    one = trial(asking=by_clock(asked=9_000, unasked=400, waiting=600, replied=9_000))
    told = {str(row[0]): str(row[1]) for row in asking_table(one).texts}
    assert (told["due"], told["not begun"], told["waiting"]) == ("10,000", "400", "600")


def test_why_there_are_no_more_is_told_by_trials_of_connections_and_not_of_frames() -> None:
    device = Device(requests=20_000)
    result = packets().play(device)
    head, sentences = why_connections(result.figures, device.made)
    assert head.startswith("The packet rate was limited by the switch: at 20,")
    told = {one.resource: one for one in sentences}
    least = min(one.rate for one in device.made if one.failed)
    assert told["the generator"].verdict is Verdict.FREE
    assert f"at {least:,}/s" in told["the generator"].text
    assert "busy 30% of the time" in told["the generator"].text
    assert told["the polling threads of the switch"].verdict is Verdict.UNKNOWN
    late = Device(asks=20_000, busy_ppm=990_000)
    head, (generator, *_) = why_connections(packets().play(late).figures, late.made)
    assert head.startswith("The packet rate was limited by the generator")
    assert generator.verdict is Verdict.FULL and "requests in time" in generator.text
    switch = f"The packet rate was limited by the switch: {result.figures[0].reason}."
    assert why_connections(result.figures, ()) == (switch, ())


def test_a_record_that_tells_of_requests_alone_is_shown_without_accounts_of_connections() -> None:
    one = trial(asking=by_clock(asked=9_000, waiting=1_000, replied=9_000))
    assert one.counts is not None
    alone = one.model_copy(update={"counts": one.counts.model_copy(update={"client": None})})
    view = CaseView(Path(), header(), planned(), connections=(alone, alone))
    assert printed(print_connections, view, every=True).splitlines()[0] == "connections"


def test_threads_of_a_switch_that_were_busy_and_what_it_dropped_say_why() -> None:
    one = trial(asking=by_clock(asked=9_000, waiting=1_000, replied=9_000))
    full = PmdCounters(cpu=3, frames=1, busy_cycles=97, idle_cycles=3)
    switch = SwitchCounters(pmds=(full,), drops={"rx full": 7})
    made = [one.model_copy(update={"switch": switch})]
    figure = Figure(name="packet_rate", unit=Unit.PER_SECOND, value=1, reason="nobody knows")
    head, (_, threads, drops, _) = why_connections([figure], made)
    assert head == "What limited the packet rate cannot be told: nobody knows."
    assert threads.verdict is drops.verdict is Verdict.FULL
    assert "on CPU 3 was busy 97%" in threads.text
    assert drops.text.endswith("in which 1,000 requests failed, the switch dropped 7 frames.")


def test_a_thread_of_a_switch_that_had_nothing_to_do_stands_out() -> None:
    one = trial(asking=by_clock(asked=9_000, waiting=1_000, replied=9_000))
    figure = Figure(name="packet_rate", unit=Unit.PER_SECOND, value=1, reason="nobody knows")

    def said(*frames: int, busy: int | None = None) -> str:
        pmds = [
            PmdCounters(cpu=cpu, frames=count, busy_cycles=busy, idle_cycles=busy)
            for cpu, count in enumerate(frames, 1)
        ]
        switch = SwitchCounters(pmds=tuple(pmds))
        made = [one.model_copy(update={"switch": switch})]
        return why_connections([figure], made)[1][1].text

    spread = "Its frames by thread: CPU 1 75%, CPU 2 25%, CPU 3 0."
    assert said(300, 100, 0).endswith(f"no busy and idle cycles. {spread}")
    assert said(300, 100, 0, busy=5).endswith(f"was busy 50%. {spread}")
    assert "by thread" not in said(300) + said(0, 0)


def test_what_a_switch_counted_where_some_failed_is_told_by_name() -> None:
    one = trial(asking=by_clock(asked=9_000, waiting=1_000, replied=9_000))
    switch = SwitchCounters(drops={"queue full": 7, "no port": 0}, reasons={"retries": 1_200})
    figure = Figure(name="packet_rate", unit=Unit.PER_SECOND, value=1, reason="nobody knows")
    made = [one.model_copy(update={"switch": switch})]
    *_, counted = why_connections([figure], made)[1]
    assert counted.verdict is Verdict.UNKNOWN
    assert counted.text.endswith("the switch counted 7 queue full, 1,200 retries.")
