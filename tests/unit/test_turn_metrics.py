"""Latency and loss of switches in turns: by how much they differ, and how sure that is."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from assertions import known
from paired_models import FASTEST_FPS, ModelTurns, PairedModel, method, session
from pydantic import ValidationError
from test_paired_runs import run, shown, stored, vsperf

from vsperf.analysis.answers import more_is_better
from vsperf.quantities.unit import Unit
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.turn_columns import Turn, TurnColumns
from vsperf.records.turn_ratios import compared, metrics_of, usable_passes
from vsperf.records.turns import CONTROL, Metric, Round, Terms, answering
from vsperf.simulation.path import BATCH_FRAMES, FLOOR_NS

QUIET = PairedModel("quiet")
SHORT: dict[str, Any] = {"rounds": 6, "pairs": 20}
AT_A_LOAD = ("--set", "search.load=80% of slowest")


def played(bench: ModelTurns, load_fps: int | None = None, **settings: Any) -> SearchResult:
    if load_fps is not None:
        bench.loads = replace(bench.loads, fixed=(load_fps,))
        settings["load"] = f"{load_fps}fps"
    return method(**{**SHORT, **settings}).play(bench)


def by_name(result: SearchResult) -> dict[str, Figure]:
    return {one.name: one for one in result.figures}


def latency_ns(capacity_fps: float, load_fps: float, share: float) -> float:
    """Return what a share of the frames do not exceed, of a queue in the model."""
    used = load_fps / capacity_fps
    wait_ns = BATCH_FRAMES * 1e9 / capacity_fps * used / (2 * (1 - used))
    return FLOOR_NS - math.log(1 - share) * wait_ns


def with_turns(one: Round, *changes: tuple[str, Any]) -> Round:
    """Return a round of which every turn has these changes."""
    turns = [replace(turn, **dict(changes)) for turn in one.turns.rows()]
    return one.model_copy(update={"turns": TurnColumns.of(turns)})


def test_a_rate_says_whether_what_was_too_much_was_dropped_by_who_had_taken_it() -> None:
    """A model takes all that is offered; a switch that refuses takes what it forwards."""
    bench = session(QUIET, 1, 1.0)
    assert "23.08% of what it took never came" in by_name(played(bench))["rate_a"].reason
    refused = []
    for one in bench.rounds:
        taken = {"turn_sent_frames": one.turns.turn_received_frames}
        turns = one.turns.model_copy(update=taken)
        refused.append(one.model_copy(update={"turns": turns}))
    told = by_name(method(**SHORT).answered(refused))["rate_a"].reason
    assert told == "the middle of its turns, over all rounds"


class TestLatency:
    @pytest.mark.parametrize(("metric", "share"), [("latency", 0.5), ("p99", 0.99)])
    def test_a_rival_that_takes_longer_is_found_with_its_interval(
        self, metric: str, share: float
    ) -> None:
        load = 3_000_000
        found = by_name(played(session(QUIET, 1, 0.9), load, metric=metric))
        slower = latency_ns(0.9 * FASTEST_FPS, load, share)
        truth = slower / latency_ns(FASTEST_FPS, load, share)
        ratio = found[f"{metric}_ratio_b"]
        assert ratio.value == pytest.approx(truth, rel=0.01)
        assert ratio.lower is not None
        assert ratio.value is not None
        assert 1 < ratio.lower < ratio.value
        assert found[f"{metric}_b"].value == pytest.approx(slower, rel=0.01)
        assert "more latency than A" in ratio.reason

    def test_what_was_asked_for_is_the_first_answer_and_the_others_stand_behind_it(self) -> None:
        names = [
            one.name for one in played(session(QUIET, 1, 0.9), 3_000_000, metric="p99").figures
        ]
        assert names[:2] == ["p99_ratio_b", "p99_control"]
        assert names[2:8] == [
            *("ratio_b", "control", "latency_ratio_b"),
            *("latency_control", "delivery_ratio_b", "delivery_control"),
        ]
        assert names[8:12] == ["p99_a", "rate_a", "latency_a", "lost_a"]

    def test_under_an_overload_there_is_none_since_it_would_be_that_of_full_queues(self) -> None:
        bench = session(QUIET, 1, 0.9)
        names = [one.name for one in played(bench).figures]
        assert not [name for name in names if "latency" in name or "p99" in name]
        assert metrics_of(bench.rounds, Terms()) == (Metric.RATE,)
        with pytest.raises(ValidationError, match="under an overload all queues are full"):
            method(metric="latency")

    def test_turns_with_few_frames_tell_no_99th_percentile(self) -> None:
        """At 10 kfps each way 200 come in a turn; who asked for the median has his answer."""
        found = by_name(played(session(QUIET, 1, 0.9), 10_000, metric="latency"))
        assert found["latency_ratio_b"].value is not None
        assert found["p99_ratio_b"].value is None
        assert found["p99_ratio_b"].limit is None
        assert "of 144 passes 0 have 500 frames or more" in found["p99_ratio_b"].reason
        asked = by_name(played(session(QUIET, 1, 0.9), 10_000, metric="p99"))
        assert asked["p99_ratio_b"].limit is Limit.UNKNOWN

    def test_a_gap_of_the_generator_counts_less_the_rarer_the_frames_are_that_it_makes_late(
        self,
    ) -> None:
        bench = session(QUIET, 1, 0.9)
        played(bench, 3_000_000)
        one = answering(bench.rounds)[0]
        every = len(one.passes)

        def used(gaps_ns: int) -> list[int]:
            gone = with_turns(one, ("gaps_ns", gaps_ns), ("longest_gap_ns", 1))
            return [len(usable_passes(gone, metric)) for metric in Metric]

        assert used(40_000) == [every] * 4
        assert used(100_000) == [every, every, 0, every]
        assert used(900_000) == [every, 0, 0, every]  # each gap of which a ring lasts

    def test_a_turn_without_a_frame_has_no_latency(self) -> None:
        bench = session(QUIET, 1, 0.9)
        played(bench, 3_000_000)
        one = answering(bench.rounds)[0]
        first, *others = one.turns.rows()
        none: dict[str, Any] = dict.fromkeys(("latency_p50_ns", "latency_p99_ns"))
        silent: Turn = replace(first, latencies=0, latency_sum_ns=0, **none)
        columns = TurnColumns.of([silent, *others])
        assert columns.latency_p50_ns is not None
        assert columns.latency_p50_ns[0] is None
        assert len(usable_passes(one.model_copy(update={"turns": columns}), Metric.LATENCY)) == (
            len(one.passes) - 1
        )

    def test_where_the_first_differs_from_itself_by_what_was_not_asked_there_is_no_number(
        self,
    ) -> None:
        """The case has its answer all the same: each of them has a control of its own."""
        bench = session(QUIET, 1, 0.9)
        asked = method(**SHORT, load="3Mpps", metric="latency")
        bench.loads = replace(bench.loads, fixed=(3_000_000,))
        asked.play(bench)
        for number, one in enumerate(bench.rounds):
            turns = [
                replace(turn, latency_p99_ns=2 * (turn.latency_p99_ns or 0))
                if turn.side == 1
                else turn
                for turn in one.turns.rows()
            ]
            bench.rounds[number] = one.model_copy(update={"turns": TurnColumns.of(turns)})
        result = asked.answered(bench.rounds)
        found = by_name(result)
        assert found["latency_ratio_b"].value is not None
        assert found["p99_ratio_b"].value is found["p99_control"].value is None
        assert "held against itself came out as" in found["p99_ratio_b"].reason
        assert Flag.CONTROL_DIFFERS not in result.flags
        doubted = asked.model_copy(update={"metric": "p99"}).answered(bench.rounds)
        assert Flag.CONTROL_DIFFERS in doubted.flags


class TestLoss:
    def test_it_is_that_of_all_turns_of_a_round_and_stands_as_a_share_of_what_came(self) -> None:
        """The load is all that the first one does; the rival brings 95 % of it through."""
        found = by_name(played(session(QUIET, 1, 0.95), FASTEST_FPS, metric="loss"))
        ratio = found["delivery_ratio_b"]
        assert ratio.value == pytest.approx(0.95, abs=1e-3)
        assert "less of the frames through than A" in ratio.reason
        assert found["lost_a"].value == pytest.approx(0, abs=1e-3)
        assert found["lost_b"].value == pytest.approx(0.05, abs=1e-3)
        assert found["lost_b"].spread is not None
        assert found["lost_b"].spread.runs == 6

    def test_loss_in_few_turns_counts_though_the_middle_one_has_none(self) -> None:
        bench = session(QUIET, 1, 1.0)
        played(bench, 3_000_000)
        for number, one in enumerate(bench.rounds):
            turns = list(one.turns.rows())
            ninth = [place for place, turn in enumerate(turns) if turn.side == 2][8]
            came = (turns[ninth].turn_received_frames // 2) // 2
            turns[ninth] = replace(
                turns[ninth], turn_received_frames=2 * came, received_by_direction=(came, came)
            )
            bench.rounds[number] = one.model_copy(update={"turns": TurnColumns.of(turns)})
        found = known(compared(bench.rounds, "B", terms=Terms(overload=False), metric=Metric.LOSS))
        assert found.ratio == pytest.approx(1 - 0.5 / 24, abs=1e-3)
        assert found.worse

    def test_a_switch_that_loses_everything_has_a_ratio_above_nothing(self) -> None:
        bench = session(QUIET, 1, 1.0)
        played(bench, 3_000_000)
        none: dict[str, Any] = {"turn_received_frames": 0, "received_by_direction": (0, 0)}
        for number, one in enumerate(bench.rounds):
            turns = [replace(t, **none) if t.side == 2 else t for t in one.turns.rows()]
            bench.rounds[number] = one.model_copy(update={"turns": TurnColumns.of(turns)})
        found = known(compared(bench.rounds, "B", terms=Terms(overload=False), metric=Metric.LOSS))
        assert 0 < found.ratio < 1e-6


class TestCriterion:
    @pytest.mark.parametrize(
        ("metric", "name", "least", "most"),
        [
            ("rate", "ratio_c", "97%", None),
            ("latency", "latency_ratio_c", None, "103%"),
            ("p99", "p99_ratio_c", None, "103%"),
            ("loss", "delivery_ratio_c", "97%", None),
        ],
    )
    def test_what_is_worse_by_more_misses_it(
        self, metric: str, name: str, least: str | None, most: str | None
    ) -> None:
        found = method(load="1Mpps", metric=metric).worse_by("C", Fraction(3, 100))
        assert found.metric == name
        assert [None if one is None else str(one) for one in (found.min, found.max)] == [
            least,
            most,
        ]

    def test_each_of_them_can_be_asked_for_where_a_load_is_given(self) -> None:
        told = method(load="1Mpps").metrics()
        for name in ("latency_ratio_b", "p99_control", "delivery_ratio_h", "p99_a", "lost_c"):
            assert name in told
        assert "latency_ratio_b" not in method().metrics()

    def test_looks_end_when_that_is_decided_and_not_when_rates_are(self) -> None:
        """Rates are those of the load, and so alike from the first look on."""
        noisy = PairedModel("noisy", {"noise": "2%"}, {"draw": "3%"})
        ended = {}
        for metric in ("rate", "latency"):
            bench = session(noisy, 3, 1.0)
            played(bench, 2_000_000, rounds=32, until="decided", metric=metric)
            ended[metric] = len(answering(bench.rounds))
        assert ended["rate"] == 8
        assert ended["latency"] > 8

    def test_a_rival_that_takes_longer_fails_the_run(self, tmp_path: Path) -> None:
        asked = (*AT_A_LOAD, "--set", "search.metric=latency", "--fail-above", "3%")
        done = run(tmp_path, *asked)
        assert done.exit_code == 1, done.output
        assert "latency_ratio_b ≤ 103%: found" in done.output
        assert "ratio_b ≥" not in done.output

    def test_one_that_loses_no_more_passes(self, tmp_path: Path) -> None:
        asked = (*AT_A_LOAD, "--set", "search.metric=loss", "--fail-above", "3%")
        done = run(tmp_path, *asked)
        assert done.exit_code == 0, done.output


class TestOutput:
    def test_people_see_a_table_for_each_and_what_they_asked_for_first(
        self, tmp_path: Path
    ) -> None:
        done = run(tmp_path, *AT_A_LOAD, "--set", "search.metric=latency")
        text = shown(tmp_path)
        heads = [line.split() for line in text.splitlines() if "so it is" in line]
        values = [
            next(w for w in line if w in {"forwards", "median", "p99", "lost"}) for line in heads
        ]
        assert list(dict.fromkeys(values)) == ["median", "forwards", "p99", "lost"]
        assert "more latency" in text
        rounds = [line for line in done.output.splitlines() if " answer " in line]
        assert rounds
        assert all(" latency " in line and " p99" in line for line in rounds)

    def test_programs_get_the_same_numbers(self, tmp_path: Path) -> None:
        run(tmp_path, *AT_A_LOAD, "--set", "search.metric=p99")
        record = known(stored(tmp_path).record)
        assert record.result is not None
        figure = record.result.figures[0]
        (case,) = json.loads(shown(tmp_path, "--json"))["cases"]
        told = case["compared"][2]["p99"]
        assert (told["ratio"], told["lower"], told["upper"]) == (
            figure.value,
            figure.lower,
            figure.upper,
        )
        assert len(told["by_itself"]) == 6
        assert case["compared"][2]["loss"]["ratio"] == 1

    def test_tables_of_other_programs_have_a_column_for_each(self, tmp_path: Path) -> None:
        run(tmp_path, *AT_A_LOAD)
        where = ("--table", "cases", "--results", str(tmp_path))
        done = vsperf("export", "csv", "latest", *where)
        assert done.exit_code == 0, done.output
        head = done.output.splitlines()[0]
        for name in ("latency_ratio_b", "p99_b", "delivery_ratio_b", "lost_a"):
            assert name in head

    def test_each_of_the_words_is_explained(self) -> None:
        names = ("latency_ratio_b", "p99_control", "delivery_ratio_c", "latency_draw_a", "p99_b")
        for name in names:
            for word in (name, name.replace("_", " ")):
                assert vsperf("explain", word).exit_code == 0, word


def test_more_latency_is_worse_and_more_that_comes_through_is_better() -> None:
    told = {one: more_is_better(one.ratio_name("B"), Unit.FACTOR) for one in Metric}
    assert told == {one: one.more_is_better for one in Metric}


def test_a_control_alone_has_its_letter_nowhere_but_in_its_word() -> None:
    told = [one.ratio_name(CONTROL) for one in Metric]
    assert told == ["control", "latency_control", "p99_control", "delivery_control"]
    assert Metric.LATENCY.draw_name(CONTROL) == "latency_draw_a"
