"""Rounds of turns, read again by code that shares nothing with the method: it finds the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from all_wrong import none_wrong
from paired_models import MODELS, ModelTurns, PairedModel, method, session
from reread_rounds import answers_of_rounds, criteria_differ, turns_differ
from test_reread_connections import moved
from test_reread_figures import changed
from test_slow_generator import Slow, slow_where

from vsperf.methods.paired import PairedTurns
from vsperf.quantities.unit import Unit
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, SearchResult
from vsperf.records.run import Check
from vsperf.records.turns import CONTROL

SHORT: dict[str, Any] = {"rounds": 6, "pairs": 20}


def against(asked: PairedTurns, bench: ModelTurns, result: SearchResult) -> Iterator[str]:
    """Yield where what is printed is not what its rounds come to."""
    for name, told in answers_of_rounds(asked.model_dump(mode="json"), bench.rounds, result):
        yield from (f"{bench.model.name}, {name}: {text}" for text in told)


def compare(bench: ModelTurns, **settings: Any) -> Iterator[str]:
    asked = method(**{**SHORT, **settings})
    return against(asked, bench, asked.play(bench))


@pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])
def test_rounds_of_every_model_come_to_what_was_printed(model: PairedModel) -> None:
    none_wrong(compare(session(model, 1, 0.95, 1.0)))


def test_so_they_do_where_it_ends_when_all_is_decided() -> None:
    none_wrong(compare(session(MODELS[1], 1, 0.5), rounds=32, until="decided"))


def test_so_they_do_where_turns_at_the_begin_do_not_count() -> None:
    bench = session(MODELS[1], 1, 0.9)
    bench.warm_up_ns = 100_000_000
    none_wrong(compare(bench))
    assert [one.warm_passes for one in bench.rounds[-2:]] == [3, 3]


def test_so_they_do_where_a_load_is_given_or_is_no_overload() -> None:
    given, weak = session(PairedModel("quiet"), 1, 0.5), session(PairedModel("quiet"), 1, 0.5)
    given.loads = replace(given.loads, fixed=(3_000_000,))
    weak.loads = replace(weak.loads, maximum=3_000_000)
    none_wrong([*compare(given, load="3Mpps"), *compare(weak)])


@pytest.mark.parametrize(
    "slow",
    [
        lambda _anew, _side, number: number % 3 == 0,
        lambda anew, _side, _number: anew in {2, 5},
        lambda anew, _side, _number: anew > 4,
        lambda _anew, side, number: side == 1 and number % 3 == 0,
        lambda _anew, side, number: side == 0 and number % 3 == 0,
        lambda _anew, side, number: side == 2 or number % 5 == 0,
    ],
    ids=["passes", "rounds", "too many rounds", "a rival", "the first", "one always"],
)
def test_so_they_do_where_switches_waited_for_the_generator(
    slow: Slow,
) -> None:
    most = slow_where(lambda anew, side, turn: slow(anew, side, turn // 3))
    bench = ModelTurns(MODELS[1], (1.0, 0.95, 0.98), ("A", "B", "C"), seed=1, most=most)
    none_wrong(compare(bench, rounds=8))


@pytest.mark.parametrize("share", [0.9, 3.0], ids=["as fast", "faster than it receives"])
def test_so_they_do_where_rings_are_filled(share: float) -> None:
    bench = session(MODELS[1], 1, share)
    bench.turns.most_fps = bench.most_fps = 3_000_000  # slower than switches, as some receives are
    none_wrong(compare(bench, full_rings=True))
    assert all(turn.fillings for turn in bench.rounds[-1].turns.rows())


def test_so_does_a_load_that_follows_from_the_slowest() -> None:
    asked, bench = method(**SHORT, load="70% of slowest"), session(MODELS[1], 1, 0.8)
    result = asked.play(bench)
    none_wrong(against(asked, bench, result))
    bench.rounds[-1] = bench.rounds[-1].model_copy(update={"load_fps": 3_000_000})
    assert any(
        "at 3000000 fps, 70 % of the slowest are 2" in one for one in against(asked, bench, result)
    )


@pytest.mark.parametrize("share", [1.0, 0.9], ids=["the same", "another"])
def test_a_doubt_for_the_control_is_told_by_the_control(share: float) -> None:
    bench = ModelTurns(PairedModel("quiet"), (1.0, share, 0.8), ("A", CONTROL, "B"), seed=1)
    asked = method(**SHORT)
    result = asked.play(bench)
    none_wrong(against(asked, bench, result))
    turned = result.model_copy(
        update={
            "figures": tuple(
                one.model_copy(update={"flags": (Flag.CONTROL_DIFFERS,) if share == 1 else ()})
                for one in result.figures
            )
        }
    )
    wrong = against(asked, bench, turned)
    assert any("ratio_b is" in one and "doubted for its control" in one for one in wrong)


@pytest.mark.parametrize(
    ("asked", "met", "agrees"),
    [
        ({"min": "97%"}, False, True),
        ({"min": "97%"}, True, False),
        ({"min": "90%"}, True, False),  # it lies in the interval
        ({"min": "90%"}, None, True),
        ({"max": "93%"}, True, True),
        ({"max": "93%"}, False, False),
        ({"drop": "3%", "baseline": "main", "held_to": "0.870000"}, True, True),
        ({"drop": "3%", "baseline": "main", "held_to": "0.920000"}, True, False),
    ],
)
def test_a_criterion_is_judged_by_the_whole_interval(
    asked: dict[str, Any], met: bool | None, agrees: bool
) -> None:
    ratio = Figure(name="ratio_b", unit=Unit.FACTOR, value=0.9, lower=0.88, upper=0.92)
    check = Check(criterion="ratio_b", met=met, found="")
    result = SearchResult(figures=(ratio,))
    told = list(criteria_differ({"expect": [{"metric": "ratio_b", **asked}]}, [check], result))
    assert (told == []) is agrees


def test_turns_that_do_not_come_to_what_they_say_are_told() -> None:
    bench = session(PairedModel("quiet"), 1, 0.9)
    method(**SHORT).play(bench)
    one = bench.rounds[-1]
    assert list(turns_differ(one)) == []
    told = one.turns
    more = (told.turn_received_frames[0] + 10**6, *told.received_frames[1:])
    measured = told.model_copy(update={"received_frames": more})
    (text,) = turns_differ(one.model_copy(update={"turns": measured}))
    assert "turn 0" in text
    assert "measured of" in text
    same = told.model_copy(update={"side": (told.side[1], *told.side[1:])})
    (text,) = turns_differ(one.model_copy(update={"turns": same}))
    assert "not of each side once" in text


def test_what_was_printed_otherwise_is_told() -> None:
    bench, asked = session(PairedModel("quiet"), 1, 0.9), method(**SHORT)
    result = asked.play(bench)
    ratio, *others = result.figures
    for update in ({"value": 0.91}, {"lower": 0.8}, {"upper": 0.95}):
        other = result.model_copy(update={"figures": (ratio.model_copy(update=update), *others)})
        (text,) = against(asked, bench, other)
        assert text.startswith("quiet, ratio_b: printed (0.")
    (text,) = against(asked, bench, result.model_copy(update={"figures": tuple(others)}))
    assert text.startswith("quiet, ratio_b: not printed, by all turns (0.")


def test_each_number_is_read_again() -> None:
    """Values, bounds and repeats."""
    bench, asked = session(PairedModel("quiet"), 1, 0.9), method(**SHORT)
    result = asked.play(bench)
    others = [*changed(result), *moved(result)]
    assert {"ratio_b spread", "control", "rate_a", "draw_b"} <= {name for name, _ in others}
    none_wrong(name for name, other in others if not any(against(asked, bench, other)))


@pytest.mark.parametrize("metric", ["rate", "latency", "p99", "loss"])
def test_latency_and_loss_come_to_what_was_printed(metric: str) -> None:
    model = PairedModel("restless", {"noise": "3%", "taken": "20%"}, {"draw": "2%"})
    none_wrong(compare(session(model, 1, 0.95, 1.0), load="97% of slowest", metric=metric))


def test_a_percentile_that_was_changed_is_noticed() -> None:
    bench, asked = session(MODELS[0], 1, 0.9), method(**SHORT, load="80% of slowest")
    result = asked.play(bench)
    for number, one in enumerate(bench.rounds):
        told = one.turns.latency_p50_ns
        if told is not None:
            slower = tuple(None if ns is None else ns + 700 * n for n, ns in enumerate(told))
            columns = one.turns.model_copy(update={"latency_p50_ns": slower})
            bench.rounds[number] = one.model_copy(update={"turns": columns})
    wrong = " ".join(against(asked, bench, result))
    assert "latency_a: printed" in wrong
    assert "p99" not in wrong
