"""What is printed of programs is what their exchanges say, by a program of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from all_wrong import none_wrong
from exchanges import RATE, REVERSE, cpu, exchange, instance, program, use
from record_samples import case_record, planned, view_of
from reread import exchanges_of
from reread_cpu import answers_of_programs, exchange_differs
from test_http_method import NONE, asked, http, took
from test_reread_connections import moved
from test_reread_figures import changed

from vsperf.methods.base import Repeats
from vsperf.methods.stream import Stream
from vsperf.methods.transactions import Transactions
from vsperf.methods.workload import Workload
from vsperf.records.exchange import CLIENTS, SERVERS, Exchange
from vsperf.records.flags import Flag
from vsperf.records.result import SearchResult
from vsperf.records.switch import PmdCounters, SwitchCounters

PMD = PmdCounters(cpu=2, frames=1, busy_cycles=100, idle_cycles=233)
USED: dict[str, Any] = {"clients": 0.5, "servers": 0.3, "switch": 0.2}
MADE = {
    "threads": exchange(cpu=use(cpu(0), **USED)),
    "a kernel": exchange(cpu=use(cpu(2, busy=0.1, soft=0.3, idle=0.2), **{**USED, "switch": None})),
    "polling": exchange(cpu=use(cpu(2), **USED), switch=SwitchCounters(pmds=(PMD,))),
    "both ways": exchange(
        instance(1), instance(2, 200_000_000, direction=REVERSE), cpu=use(cpu(0), **USED)
    ),
    "both ways, of which one slows": exchange(
        instance(1),
        instance(2, direction=REVERSE, intervals=instance(2).intervals[:4]),
        cpu=use(cpu(0), **{**USED, "clients": 0.7}),
    ),
    "untold": exchange(
        cpu=use(programs=(program(CLIENTS, 1, 0, voluntary=None), program(SERVERS, 1, 1)))
    ),
    "nobody looked": exchange(),
}


def printed(method: Workload, *made: Exchange) -> SearchResult:
    return method.answered(Repeats(made, True, ""))


def differing(result: SearchResult, *made: Exchange) -> list[str]:
    found = answers_of_programs(made, result)
    return [f"{name}: {text}" for name, against in found for text in against]


def test_an_exchange_whose_window_parts_or_flags_are_not_its_own_is_told() -> None:
    one = exchange()
    assert list(exchange_differs(one)) == []
    assert one.window is not None
    later = one.window.model_copy(update={"began_ns": one.window.began_ns + 1})
    (text,) = exchange_differs(one.model_copy(update={"window": later}))
    assert text.startswith("exchange 1: window (")
    first = one.instances[0]
    twice = first.model_copy(update={"intervals": (first.intervals[0], *first.intervals)})
    (text,) = exchange_differs(one.model_copy(update={"instances": (twice,)}))
    assert text.endswith("overlap, or are none")
    late = one.model_copy(update={"flags": (Flag.PROGRAM_LATE,)})
    assert list(exchange_differs(late)) == [
        "exchange 1: program-late is said, and all began in time"
    ]
    elsewhere = use(programs=(program(CLIENTS, 1, 0, 1, placed=(0,)),))
    assert list(exchange_differs(exchange(cpu=elsewhere))) == [
        "exchange 1: program-mispinned is not said"
    ]
    nowhere = one.model_copy(update={"flags": (Flag.PROGRAM_MISPINNED,)})
    assert list(exchange_differs(nowhere)) == [
        "exchange 1: program-mispinned is said, and all were where they were put"
    ]


def test_what_was_printed_is_what_exchanges_say() -> None:
    method = Stream(kind="stream")
    wrong = [
        f"{name}: {text}"
        for name, one in MADE.items()
        for text in differing(printed(method, one), one)
    ]
    every = tuple(one for one in MADE.values() if len(one.directions) == 1)
    none_wrong([*wrong, *differing(printed(method, *every), *every)])


def test_requests_are_counted_and_not_their_bits() -> None:
    one = MADE["threads"].model_copy(update={"traffic": "tcp-rr"})
    result = printed(Transactions(kind="rr"), one)
    assert result.figures[0].value == RATE
    none_wrong(differing(result, one))


@pytest.mark.parametrize(
    ("name", "made"),
    [
        *(("rate", "a kernel"), ("cpu_per_bit", "a kernel"), ("cpu_per_bit_switch", "a kernel")),
        *(("total", "both ways"), ("context_switches_clients", "a kernel")),
        *(("context_switches_servers", "untold"), ("context_switches_switch", "threads")),
    ],
)
def test_what_is_another_is_told(name: str, made: str) -> None:
    one = MADE[made]
    result = printed(Stream(kind="stream"), one)
    figures: tuple[Any, ...] = tuple(
        each.model_copy(update={"value": (each.value or 0) * 2}) if each.name == name else each
        for each in result.figures
    )
    (told,) = differing(result.model_copy(update={"figures": figures}), one)
    assert told.startswith(f"{name}: value printed")


def test_a_sum_is_told_that_is_missing_or_of_one_direction_alone() -> None:
    method, both, one = Stream(kind="stream"), MADE["both ways"], MADE["threads"]
    result, alone = printed(method, both), printed(method, one)
    (total,) = (each for each in result.figures if each.name == "total")
    figures = tuple(each for each in result.figures if each is not total)
    (told,) = differing(result.model_copy(update={"figures": figures}), both)
    assert told == "total: nothing printed, by all trials 2,000,000,000"
    more = {"figures": (*alone.figures, total.model_copy(update={"spread": None}))}
    (told,) = differing(alone.model_copy(update=more), one)
    assert told == "total: value printed 2000000000.0, by all trials None"


def datagrams(lost: int) -> Exchange:
    ends: dict[str, Any] = {"repeated_segments": None, "sent_packets": 10_000, "lost_packets": lost}
    both = instance(1, **ends), instance(2, direction=REVERSE, sent_bytes=4 * RATE, **ends)
    return exchange(*both, traffic="udp-stream", cpu=use(cpu(0), **USED))


def requests(traffic: str, p50_ms: int, **changed: Any) -> Exchange:
    """Of two instances, one of which is slower."""
    told: dict[str, Any] = {"round_trips": took(p50_ms, 3 * p50_ms), **changed}
    both = asked(1, **told), asked(2, **{**told, "transactions": 4_000, "direction": REVERSE})
    said = (Flag.REQUESTS_FAILED,) if "failures" in changed else ()
    return exchange(*both, traffic=traffic, cpu=use(cpu(0), **USED), flags=said)


WAITED: dict[str, Any] = {
    "from_due": took(5, 900),
    "failures": NONE.model_copy(update={"statuses": 3, "timeouts": 1, "unanswered": 2}),
}
EVERY: Mapping[str, tuple[Workload, tuple[Exchange, ...]]] = {
    "stream": (Stream(kind="stream"), (MADE["both ways"], MADE["both ways, of which one slows"])),
    "datagrams": (
        Stream.model_validate({"kind": "stream", "protocol": "udp"}),
        tuple(map(datagrams, (0, 7, 30))),
    ),
    "in turns": (Transactions(kind="rr"), tuple(requests("tcp-rr", ms) for ms in (1, 4, 2))),
    "requests": (http(), tuple(requests("http-rr", ms) for ms in (1, 4, 2))),
    "by a clock": (http(rate=1_000), (requests("http-open", 2, **WAITED),)),
}
"""Each kind of exchange, with all there is to tell of it."""


@pytest.mark.parametrize("name", EVERY)
def test_each_number_of_each_method_is_read_again(name: str) -> None:
    """Values and repeats of figures, and the rows of curves."""
    method, made = EVERY[name]
    result = printed(method, *made)
    assert {one.name for one in result.figures} == {*method.metrics()}
    assert [one.name for one in result.figures if one.value is None] == []
    none_wrong(differing(result, *made))
    others = [*changed(result), *moved(result)]
    none_wrong(which for which, other in others if not differing(other, *made))


def test_what_an_instance_does_not_tell_is_read_as_that() -> None:
    silent = requests("tcp-rr", 1, round_trips=None)
    result = printed(Transactions(kind="rr"), silent)
    assert {one.name: one.value for one in result.figures}["mean_round_trip"] is None
    none_wrong(differing(result, silent))
    whole = asked(1), asked(2, round_trips=None)
    some = exchange(*whole, traffic="http-rr")
    none_wrong(differing(printed(http(), some), some))


def test_datagrams_of_several_sizes_are_not_counted_by_one_of_them() -> None:
    one = exchange(instance(1, write_bytes=16), instance(2), traffic="udp-stream")
    method = Stream.model_validate({"kind": "stream", "protocol": "udp"})
    result = printed(method, one)
    assert {each.name: each.value for each in result.figures}["datagrams"] is None
    none_wrong(differing(result, one))


def test_exchanges_on_a_deployment_that_died_say_nothing_of_the_answer() -> None:
    """The record of a case counts those of the one that came last."""
    dead, first, second = (exchange(index=number) for number in (1, 2, 3))
    case = replace(view_of(planned()), exchanges=(dead, first, second))
    assert exchanges_of(case) == [dead, first, second]
    for count, made in ((2, [first, second]), (3, [dead, first, second])):
        record = case_record("mine", trials=count)
        assert exchanges_of(replace(case, record=record)) == made
