"""What latency under load printed is what its packets come to, by a program of its own."""

from __future__ import annotations

from typing import Any

import pytest
from all_wrong import none_wrong
from echoes import MS, Bench, alone, beside, probe
from reread_packets import answers_of_packets
from test_reread_connections import moved
from test_reread_figures import changed

from vsperf.methods.latency_under_load import LatencyUnderLoad
from vsperf.records.exchange import Exchange
from vsperf.records.result import SearchResult

MADE = [
    *(alone(probe(*[1] * 97, 5, 8, None)), beside(probe(20, 30, None, unsent=7))),
    *(alone(probe(2, unsent=40)), beside(probe(*range(1, 400)))),
    *(alone(probe(3, began_ns=100 * MS)), beside(probe(1, 2, 3))),
]


def printed(made: list[Exchange], repeats: int) -> SearchResult:
    settings = {"kind": "latency_under_load", "duration": "4s", "repeats": repeats}
    return LatencyUnderLoad.model_validate(settings).play(Bench(made))


def differing(made: list[Exchange], result: SearchResult) -> list[str]:
    found = answers_of_packets(made, result)
    return [f"{name}: {text}" for name, against in found for text in against]


def test_what_was_printed_is_what_the_packets_say() -> None:
    none_wrong(differing(MADE, printed(MADE, 3)))


def test_each_number_is_read_again() -> None:
    """Values and repeats of figures, and the rows of curves."""
    result = printed(MADE, 3)
    assert {one.name for one in result.figures} == {
        *LatencyUnderLoad(kind="latency_under_load").metrics()
    }
    others = [*changed(result), *moved(result)]
    none_wrong(name for name, other in others if not differing(MADE, other))


def test_what_cannot_be_believed_says_nothing() -> None:
    wrong = [alone(probe(900, problem="it died")), beside(probe(900, problem="it died"))]
    assert not any(one.valid for one in wrong)
    assert differing([wrong[0], MADE[0], wrong[1], MADE[1]], printed(MADE[:2], 1)) == []


@pytest.mark.parametrize("name", ["p50_loaded", "p99_difference", "lost_loaded", "unsent_idle"])
def test_what_is_another_is_told(name: str) -> None:
    result = printed(MADE, 3)
    figures: tuple[Any, ...] = tuple(
        one.model_copy(update={"value": (one.value or 0) + 1}) if one.name == name else one
        for one in result.figures
    )
    told = differing(MADE, result.model_copy(update={"figures": figures}))
    assert len(told) == 1
    assert told[0].startswith(f"{name}: value printed")
