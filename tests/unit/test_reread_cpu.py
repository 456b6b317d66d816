"""Rates of programs and their cost in CPU time are what exchanges say, by a program of its own."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from all_wrong import none_wrong
from conftest import REPOSITORY
from exchanges import RATE, REVERSE, cpu, exchange, instance, program, use

from vsperf.methods.base import Repeats
from vsperf.methods.stream import Stream
from vsperf.methods.transactions import Transactions
from vsperf.methods.workload import Workload
from vsperf.records.exchange import CLIENTS, SERVERS, Exchange
from vsperf.records.result import SearchResult
from vsperf.records.switch import PmdCounters, SwitchCounters

sys.path.insert(0, str(REPOSITORY / "tools" / "bench"))
from reread_cpu import answers_of_programs

PMD = PmdCounters(cpu=2, frames=1, busy_cycles=100, idle_cycles=233)
USED: dict[str, Any] = {"clients": 0.5, "servers": 0.3, "switch": 0.2}
MADE = {
    "threads": exchange(cpu=use(cpu(0), **USED)),
    "a kernel": exchange(cpu=use(cpu(2, busy=0.1, soft=0.3, idle=0.2), **{**USED, "switch": None})),
    "polling": exchange(cpu=use(cpu(2), **USED), switch=SwitchCounters(pmds=(PMD,))),
    "both ways": exchange(
        instance(1), instance(2, 200_000_000, direction=REVERSE), cpu=use(cpu(0), **USED)
    ),
    "untold": exchange(cpu=use(programs=(program(CLIENTS, 1, 0), program(SERVERS, 1, 1)))),
    "nobody looked": exchange(),
}


def printed(method: Workload, *made: Exchange) -> SearchResult:
    return method.answered(Repeats(made, True, ""))


def differing(result: SearchResult, *made: Exchange) -> list[str]:
    found = answers_of_programs(made, result)
    return [f"{name}: {text}" for name, against in found for text in against]


def test_what_was_printed_is_what_exchanges_say() -> None:
    method = Stream(kind="stream")
    wrong = [
        f"{name}: {text}"
        for name, one in MADE.items()
        for text in differing(printed(method, one), one)
    ]
    every = tuple(MADE.values())
    none_wrong([*wrong, *differing(printed(method, *every), *every)])


def test_requests_are_counted_and_not_their_bits() -> None:
    one = MADE["threads"].model_copy(update={"traffic": "tcp-rr"})
    result = printed(Transactions(kind="rr"), one)
    assert result.figures[0].value == RATE
    none_wrong(differing(result, one))


@pytest.mark.parametrize("name", ["rate", "cpu_per_bit", "cpu_per_bit_switch"])
def test_what_is_another_is_told(name: str) -> None:
    one = MADE["a kernel"]
    result = printed(Stream(kind="stream"), one)
    figures: tuple[Any, ...] = tuple(
        each.model_copy(update={"value": (each.value or 0) * 2}) if each.name == name else each
        for each in result.figures
    )
    (told,) = differing(result.model_copy(update={"figures": figures}), one)
    assert told.startswith(f"{name}: value printed")
