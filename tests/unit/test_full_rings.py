"""Rings that are filled while their switch stands: a generator that is slower is no limit then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from paired_models import MODELS, ModelTurns, PairedModel, session
from test_method_paired import played

from vsperf.methods.paired import PairedTurns
from vsperf.methods.paired_figures import figures_of
from vsperf.records.flags import Flag
from vsperf.records.turn_columns import Turn, TurnColumns
from vsperf.records.turn_guard import guard_of
from vsperf.records.turn_ratios import compared
from vsperf.records.turns import Round, Terms, answering, clean_passes

QUIET, NOISY = PairedModel("quiet"), MODELS[0]
SLOWER_FPS = 3_000_000
"""What the generator can send; the first switch of all models forwards 4 million frames."""
FULL = Terms(full_rings=True)


def bench_of(*shares: float, model: PairedModel = NOISY) -> ModelTurns:
    """Return switches that a generator is slower than, which receives twice as much alone."""
    bench = session(model, 1, *shares)
    bench.most_fps = bench.turns.most_fps = SLOWER_FPS
    return bench


def full(bench: ModelTurns, **settings: Any) -> dict[str, Any]:
    return played(bench, full_rings=True, **settings)


class TestAnswer:
    def test_switches_that_no_load_is_too_much_for_are_told_apart(self) -> None:
        assert played(bench_of(0.95))["ratio_b"].value is None
        ratio = full(bench_of(0.95))["ratio_b"]
        assert ratio.value == pytest.approx(0.95, abs=0.01)
        assert ratio.lower < 0.95 < ratio.upper < 1
        assert ratio.flags == ()
        assert ratio.at == "B to A, rings that were full"

    def test_rates_are_those_at_which_rings_are_emptied(self) -> None:
        found = full(bench_of(1.2, model=QUIET))
        assert found["rate_a"].value == pytest.approx(4e6, rel=1e-3)
        assert found["rate_b"].value == pytest.approx(4.8e6, rel=1e-3)

    def test_one_that_is_faster_than_the_generator_receives_may_be_so_by_more(self) -> None:
        found = full(bench_of(2.0, model=QUIET))
        ratio, rate = found["ratio_b"], found["rate_b"]
        assert ratio.flags == (Flag.NOT_OVERLOADED,)
        assert ratio.upper is None
        assert ratio.lower == pytest.approx(1.5, rel=1e-3)  # twice of 3 million
        assert ratio.reason.endswith(
            "; of 144 passes the generator could not receive as fast: B alone in 144, A alone in "
            "0, both in 0, so B may be faster"
        )
        assert rate.value == rate.lower == pytest.approx(6e6, rel=1e-3)
        assert rate.reason == "the generator could not receive as fast, so it may do more"

    def test_of_two_such_nothing_is_known(self) -> None:
        bench = bench_of(1.0)
        bench.shares = (2.0, 2.0, 2.5)
        bench.turns = bench._deployed()
        ratio = full(bench)["ratio_b"]
        assert ratio.value is None
        assert "emptied rings faster than the generator could receive" in ratio.reason

    def test_one_whose_rings_are_not_filled_is_told_as_such(self) -> None:
        """It has devices of the kernel, and is offered an overload."""
        bench = bench_of(0.5, model=QUIET)
        full(bench)
        for place, one in enumerate(bench.rounds):
            turns = [
                replace(turn, fillings=0) if one.sides[turn.side].letter == "B" else turn
                for turn in one.turns.rows()
            ]
            bench.rounds[place] = one.model_copy(update={"turns": TurnColumns.of(turns)})
        found = {one.name: one for one in figures_of(answering(bench.rounds), FULL)}
        ratio, control = found["ratio_b"], found["control"]
        assert ratio.at.startswith("B to A, an overload of ")
        assert ratio.at.endswith(" and rings that were full")
        assert "rings were filled for one of them only" in ratio.reason
        assert control.at == "A′ to A, rings that were full"
        assert "for one of them only" not in control.reason

    def test_too_little_that_comes_back_is_the_reason_that_is_told(self) -> None:
        bench = bench_of(0.95)
        full(bench)
        for place, one in enumerate(bench.rounds):
            turns = [replace(turn, fillings_short=turn.fillings) for turn in one.turns.rows()]
            bench.rounds[place] = one.model_copy(update={"turns": TurnColumns.of(turns)})
        (ratio, *_) = figures_of(answering(bench.rounds), FULL)
        assert ratio.value is None
        assert "in 144 less than a quarter of what rings held came back" in ratio.reason

    def test_how_turns_begin_is_not_told(self) -> None:
        """Each time that rings are emptied has a begin, which is left out."""
        bench = bench_of(0.95)
        full(bench)
        assert guard_of(bench.rounds, FULL) is None


class TestTimeThatCounts:
    def changed(self, **columns: Any) -> Round:
        """Return the first round of an answer, with other numbers in each turn of B."""
        bench = bench_of(0.95, model=QUIET)
        full(bench)
        one = answering(bench.rounds)[0]
        turns = [
            replace(turn, **columns) if one.sides[turn.side].letter == "B" else turn
            for turn in one.turns.rows()
        ]
        return one.model_copy(update={"turns": TurnColumns.of(turns)})

    def test_frames_that_wait_in_a_gap_are_counted_with_it(self) -> None:
        """A ring has room for all, so who goes on while the generator is away is no faster."""
        (turn, *_) = turns_of_b(one := self.changed(gaps_ns=300_000, longest_gap_ns=300_000))
        assert one.fps(turn) == pytest.approx(2 * 0.95 * 4e6, rel=1e-3)

    @pytest.mark.parametrize(("share", "kept"), [(0.19, True), (0.21, False)])
    def test_a_fifth_of_what_is_measured_may_be_gaps(self, share: float, kept: bool) -> None:
        (turn, *_) = turns_of_b(self.changed())
        one = self.changed(gaps_ns=round(share * turn.measured_ns))
        assert bool(clean_passes(one)) is kept

    @pytest.mark.parametrize(("short", "kept"), [(2, True), (3, False)])
    def test_turns_in_which_too_little_came_back_several_times_say_nothing(
        self, short: int, kept: bool
    ) -> None:
        one = self.changed(fillings=20, fillings_short=short)
        assert bool(clean_passes(one)) is kept

    @pytest.mark.parametrize(("behind", "ends"), [(2, True), (3, False)])
    def test_several_times_behind_leave_no_end_above(self, behind: int, ends: bool) -> None:
        one = self.changed(fillings=20, fillings_behind=behind)
        found = compared([one], "B", terms=FULL)
        assert found is not None
        assert found.carried is not ends


def turns_of_b(one: Round) -> list[Turn]:
    return [turn for turn in one.turns.rows() if one.sides[turn.side].letter == "B"]


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "why"),
        [
            ({"load": "1Mpps"}, "either a `load` is given, or rings are filled"),
            ({"load": "80% of slowest"}, "either a `load` is given, or rings are filled"),
        ],
    )
    def test_a_load_beside_it_is_refused(self, settings: dict[str, str], why: str) -> None:
        with pytest.raises(ValueError, match=why):
            PairedTurns.model_validate({"kind": "paired", "full_rings": True, **settings})

    def test_stored_settings_say_so(self) -> None:
        asked = PairedTurns(kind="paired", full_rings=True)
        assert Terms.of(asked.model_dump(mode="json")) == FULL == asked.terms
