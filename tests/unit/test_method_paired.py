"""Switches in turns: who is faster, by how much, and how sure that is, on models with a truth."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from assertions import known
from paired import hold
from paired_models import LINE_FPS, MODELS, ModelTurns, PairedModel, method, session

from vsperf.cli.paired_view import compared_table
from vsperf.methods.paired_figures import interval_text
from vsperf.methods.turns import TurnsAsked, balanced
from vsperf.quantities.units import Duration
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.signed_ranks import outermost
from vsperf.records.turn_columns import TurnColumns
from vsperf.records.turn_ratios import Compared, compared, in_round, lost_share
from vsperf.records.turns import CONTROL, Role, Round, Terms, answering, clean_passes
from vsperf.search.base import Budget

QUIET = PairedModel("quiet")
BY_NAME = {model.name: model for model in MODELS}
EVERYDAY = ("draws", "telegraph")
SHORT: dict[str, Any] = {"rounds": 6, "pairs": 20}


def played(bench: ModelTurns, **settings: Any) -> dict[str, Figure]:
    return figures(method(**{**SHORT, **settings}).play(bench))


def figures(result: SearchResult) -> dict[str, Figure]:
    return {one.name: one for one in result.figures}


def answered_round(ring_frames: int | None = 1024) -> Round:
    """Return the first round of an answer, of a generator with such rings."""
    bench = session(QUIET, 1, 1.0)
    played(bench)
    return answering(bench.rounds)[0].model_copy(update={"ring_frames": ring_frames})


class TestOrder:
    @pytest.mark.parametrize("sides", range(2, 9))
    def test_nobody_is_favoured_by_place_or_by_whom_he_follows(self, sides: int) -> None:
        order = balanced(sides, 1)
        passes = [order[begin : begin + sides] for begin in range(0, len(order), sides)]
        places = Counter((place, side) for one in passes for place, side in enumerate(one))
        after = Counter(pair for one in passes for pair in itertools.pairwise(one))
        assert all(sorted(one) == list(range(sides)) for one in passes)
        assert len(places) == sides * sides
        assert len(set(places.values())) == 1
        assert len(after) == sides * (sides - 1)
        assert len(set(after.values())) == 1

    @pytest.mark.parametrize("sides", range(3, 9))
    def test_nor_by_whom_he_follows_from_one_pass_to_the_next(self, sides: int) -> None:
        order = balanced(sides, 1)
        ends = [(order[begin - 1], order[begin]) for begin in range(0, len(order), sides)]
        before = {
            side: sorted((side - last) % sides for last, first in ends if first == side)
            for side in range(sides)
        }
        assert all(last != first for last, first in ends)
        assert len({tuple(found) for found in before.values()}) == 1

    def test_two_take_turns_as_abba(self) -> None:
        assert balanced(2, 4) == (0, 1, 1, 0, 0, 1, 1, 0)

    def test_a_round_ends_with_a_whole_square(self) -> None:
        assert len(balanced(3, 100)) == 3 * 102


@dataclass
class BecomesFaster(ModelTurns):
    """Switches that are twice as fast as soon as the load is known."""

    def round(self, asked: TurnsAsked) -> Round:
        if asked.role is Role.ANSWER and self.shares[0] == 1:
            self.shares = tuple(2 * share for share in self.shares)
            self.turns = self._deployed()
        return super().round(asked)


class TestAnswer:
    def test_a_slower_rival_is_found_with_its_interval(self) -> None:
        found = played(session(BY_NAME["noise"], 1, 0.95))["ratio_b"]
        assert found.value == pytest.approx(0.95, abs=0.01)
        assert found.lower is not None
        assert found.upper is not None
        assert found.lower < 0.95 < found.upper < 1
        assert "slower than A" in found.reason

    def test_each_of_several_rivals_is_held_against_the_first(self) -> None:
        found = played(session(QUIET, 1, 0.9, 1.1, 1.0))
        ratios = [found[f"ratio_{letter}"].value for letter in "bcd"]
        assert ratios == [pytest.approx(one, abs=1e-3) for one in (0.9, 1.1, 1.0)]
        assert "not to be told from" in found["ratio_d"].reason

    def test_the_rates_are_per_direction_and_under_an_overload_of_the_fastest(self) -> None:
        bench = session(QUIET, 1, 1.25)
        found = played(bench)
        assert found["rate_a"].value == pytest.approx(4e6, rel=1e-3)
        assert found["rate_b"].value == pytest.approx(5e6, rel=1e-3)
        assert bench.rounds[-1].load_fps == pytest.approx(1.3 * 5e6, rel=1e-3)

    def test_a_machine_that_changes_for_both_falls_out(self) -> None:
        model = PairedModel("restless", {"far": "60%", "near_lasts": "50ms", "far_lasts": "80ms"})
        found = played(session(model, 3, 0.97), rounds=8, pairs=40)["ratio_b"]
        assert found.value == pytest.approx(0.97, abs=0.005)

    def test_what_deployments_make_is_told_beside_what_one_round_knows(self) -> None:
        bench = session(BY_NAME["large-draws"], 2, 1.0)
        found = played(bench, rounds=20)
        assert found["draw_b"].value is not None
        assert 0.03 < found["draw_b"].value < 0.13  # of two switches with 4.5 % each
        assert compared(bench.rounds, "B") is not None
        one = known(in_round(answering(bench.rounds)[0], "B"))
        assert one.lower is not None
        assert one.upper is not None
        assert one.upper / one.lower - 1 < 0.03

    def test_what_a_round_does_not_know_is_no_draw(self) -> None:
        """All deployments are the same, and rounds lie apart by the noise within them."""
        draws, apart = [], []
        for seed in range(1, 10):
            bench = session(BY_NAME["noise"], seed, 1.0, control=False)
            draws.append(played(bench, rounds=8)["draw_b"].value or 0.0)
            found = known(compared(bench.rounds, "B"))
            apart.append(statistics.stdev(math.log(one.ratio) for one in found.rounds))
        assert min(draws) == 0
        assert all(draw < rounds for draw, rounds in zip(draws, apart, strict=True))
        assert statistics.median(draws) < statistics.median(apart) / 2

    def test_a_load_that_was_given_is_offered_as_it_is_and_tells_what_was_lost(self) -> None:
        bench = session(QUIET, 1, 0.5)
        bench.loads = replace(bench.loads, fixed=(3_000_000,))
        found = played(bench, load="3Mpps")
        assert {one.load_fps for one in bench.rounds} == {3_000_000}
        assert found["lost_a"].value == 0
        assert found["lost_b"].value == pytest.approx(1 / 3, abs=0.01)
        assert found["rate_a"].flags == ()

    def test_what_is_refused_is_lost_however_long_the_guard_is(self) -> None:
        """A switch takes half of what is due; what it takes comes through. The guard of 10 ms
        is as long as what is measured, and nobody counts there what is refused.
        """
        bench = session(QUIET, 1, 1.0)
        bench.loads = replace(bench.loads, fixed=(3_000_000,))
        played(bench, load="3Mpps", guard="10ms")
        counts = {"sent_frames": 30_000, "refused_frames": 30_000, "intended_frames": 60_000}
        whole = {"turn_sent_frames": 60_000, "turn_received_frames": 60_000}
        assert lost_share([changed(one, **counts, **whole) for one in bench.rounds], "B") == 0.5
        nothing = dict.fromkeys((*counts, *whole), 0)
        silent = [changed(one, **nothing) for one in bench.rounds]
        assert lost_share(silent, "B") is None
        refusing = [changed(one, **(nothing | {"refused_frames": 9})) for one in bench.rounds]
        assert lost_share(refusing, "B") == 1

    def test_without_rivals_a_switch_is_held_against_itself(self) -> None:
        found = played(session(BY_NAME["draws"], 1), control=False)
        assert [name for name in found if name.startswith("ratio")] == []
        assert found["control"].value == pytest.approx(1, abs=0.1)

    def test_a_control_that_is_the_same_is_told(self) -> None:
        found = played(session(QUIET, 1, 0.9))["control"]
        assert (found.value, found.lower, found.upper) == (1, 1, 1)

    def test_a_switch_that_forwards_nothing_is_slower_and_not_left_out(self) -> None:
        bench = session(QUIET, 1, 1e-6)
        assert (played(bench)["ratio_b"].upper or 1) < 0.01


class TestCoverage:
    """Few sessions here, with chance that is always the same; `tools/bench/paired.py` has many."""

    @pytest.mark.parametrize(
        "name",
        [
            *EVERYDAY,
            *(
                pytest.param(one, marks=pytest.mark.thorough)
                for one in BY_NAME
                if one not in EVERYDAY
            ),
        ],
    )
    def test_intervals_hold_the_truth_as_often_as_they_say_on_every_model(self, name: str) -> None:
        # Of 16 with 96 % each, fewer than 13 come once in 300 times.
        held = hold(BY_NAME[name], 16, method(rounds=8, pairs=20))
        assert sum(held.holds) >= 13
        assert sum(held.control) >= 13
        assert held.wrong_way == 0

    @pytest.mark.thorough
    def test_so_they_do_where_looks_end_a_session(self) -> None:
        held = hold(BY_NAME["draws"], 16, method(rounds=16, pairs=20, until="decided"))
        assert sum(held.holds) >= 13
        assert sum(held.control) >= 13


class TestDoubt:
    def test_a_control_that_differs_leaves_nothing_to_be_believed(self) -> None:
        found = played(ModelTurns(QUIET, (1.0, 0.9, 0.95), ("A", CONTROL, "B"), seed=1))
        assert found["ratio_b"].flags == (Flag.CONTROL_DIFFERS,)
        assert "held against itself came out as -10.0%" in found["ratio_b"].reason

    def test_a_round_at_a_load_that_was_not_too_much_is_made_again_at_a_higher_one(self) -> None:
        bench = BecomesFaster(QUIET, (1.0, 1.0, 1.0), ("A", CONTROL, "B"), seed=1)
        result = played(bench)
        loads = [one.load_fps for one in bench.rounds if one.role is Role.ANSWER]
        assert loads[0] < 8e6 < loads[-1]
        assert [one.deployment for one in answering(bench.rounds)] == [1, 2, 3, 4, 5, 6]
        assert result["rate_a"].value == pytest.approx(8e6, rel=1e-3)
        assert result["rate_a"].flags == ()

    def test_a_switch_that_the_generator_cannot_overload_says_so(self) -> None:
        bench = session(QUIET, 1, 1.0)
        bench.loads = replace(bench.loads, maximum=3_000_000)
        found = played(bench)["rate_a"]
        assert found.flags == (Flag.NOT_OVERLOADED,)
        assert found.limit is Limit.GENERATOR

    def test_passes_in_which_the_generator_was_away_are_left_out_whatever_came(self) -> None:
        bench = session(BY_NAME["away"], 1, 0.97)
        played(bench, pairs=100)
        one = answering(bench.rounds)[0]
        kept = clean_passes(one)
        assert 0.3 * len(one.passes) < len(kept) < 0.7 * len(one.passes)
        assert not any(turn.gaps_ns for group in kept for turn in group)

    @pytest.mark.parametrize(
        ("ring", "longest_us", "all_us", "used"),
        [
            (1024, 100, 1500, True),  # at 5.2 Mfps a ring lasts for 197 us
            (1024, 300, 1500, False),
            (1024, 100, 2500, False),
            (None, 100, 1500, False),
            (None, 400, 400, True),
        ],
    )
    def test_gaps_that_a_ring_bridges_may_be_many(
        self, ring: int | None, longest_us: int, all_us: int, used: bool
    ) -> None:
        gaps = {"gaps_ns": all_us * 1000, "longest_gap_ns": longest_us * 1000}
        assert bool(clean_passes(changed(answered_round(ring), **gaps))) == used

    def test_rounds_with_too_few_pairs_say_nothing(self) -> None:
        model = PairedModel("gone", {"away": "90%"})
        found = played(session(model, 1, 0.97))["ratio_b"]
        assert found.value is None
        assert found.limit is Limit.UNKNOWN
        assert found.reason.startswith("0 rounds say something")

    def test_a_time_that_ends_leaves_what_rounds_there_are(self) -> None:
        bench = session(QUIET, 1, 0.97)
        asked = method(**SHORT)
        one_ns = asked.round_of(Role.ANSWER, 1, 1, 3).length_ns
        bench.budget = Budget(limit_ns=one_ns * 5)
        result = asked.play(bench)
        assert not result.complete
        assert figures(result)["ratio_b"].limit is Limit.UNKNOWN


def changed(one: Round, **columns: int) -> Round:
    """Return a round with the same number in a column of all turns."""
    count = len(one.turns.side)
    update = {name: (value,) * count for name, value in columns.items()}
    return one.model_copy(update={"turns": one.turns.model_copy(update=update)})


class TestTimeThatCounts:
    """A rate is per time, and silence for the generator's sake is none."""

    @pytest.mark.parametrize(("ring", "gap_us"), [(1024, 200), (1024, 500), (64, 500), (0, 300)])
    def test_frames_that_waited_behind_a_gap_make_no_rate_higher(
        self, ring: int, gap_us: int
    ) -> None:
        """A switch of 4 Mfps per direction goes on in a gap until its ring is empty."""
        one, waited = answered_round(ring), min(ring, 4 * gap_us)
        came = 2 * (4 * (10_000 - gap_us) + waited)
        gap = dict.fromkeys(("gaps_ns", "longest_gap_ns"), gap_us * 1000)
        turn = next(changed(one, received_frames=came, **gap).turns.rows())
        assert one.fps(turn) == pytest.approx(8e6, rel=1e-3)

    @pytest.mark.parametrize(
        ("ring", "gaps"), [(1024, {"longest_gap_ns": 100_000}), (None, {})], ids=["known", "not"]
    )
    def test_a_ring_bridges_each_of_several_gaps_and_where_nobody_knows_it_a_gap_counts(
        self, ring: int | None, gaps: dict[str, int]
    ) -> None:
        """Five of them, of 100 us each: in none of them is the ring empty, so all of it counts."""
        one = answered_round(ring)
        turn = next(changed(one, received_frames=80_000, gaps_ns=500_000, **gaps).turns.rows())
        assert one.fps(turn) == pytest.approx(8e6)

    def test_gaps_of_the_generator_show_no_rate_beyond_that_of_the_switch(self) -> None:
        found = played(session(PairedModel("gaps", {"gaps": "2.5%"}), 1, 0.5))
        assert found["rate_a"].value == pytest.approx(4e6, rel=2e-3)
        assert found["rate_b"].value == pytest.approx(2e6, rel=2e-3)
        assert found["ratio_b"].value == pytest.approx(0.5, rel=2e-3)

    def test_a_load_that_gaps_let_through_whole_is_no_overload(self) -> None:
        bench = session(PairedModel("gaps", {"gaps": "2.5%"}), 1, 1.0)
        bench.loads = replace(bench.loads, maximum=3_000_000)
        assert played(bench)["rate_a"].flags == (Flag.NOT_OVERLOADED,)

    def test_a_load_is_too_much_for_what_a_switch_does_while_others_let_it_run(self) -> None:
        """With half of its CPU, half of its rate would be seen as all that it can do."""
        bench = session(PairedModel("taken", {"taken": "50%"}), 1, 0.9)
        found = played(bench, rounds=8, pairs=100)
        assert bench.rounds[-1].load_fps >= 1.2 * 4e6
        assert found["rate_a"].flags == ()
        assert found["ratio_b"].value == pytest.approx(0.9, abs=0.02)

    def test_a_load_that_a_switch_brings_through_whenever_it_runs_is_no_overload(self) -> None:
        bench = session(PairedModel("taken", {"taken": "50%"}), 1, 0.9)
        bench.loads = replace(bench.loads, maximum=3_000_000)
        found = played(bench)
        assert found["rate_a"].flags == (Flag.NOT_OVERLOADED,)
        assert found["rate_b"].flags == (Flag.NOT_OVERLOADED,)

    def test_a_load_is_no_overload_that_comes_through_whenever_it_is_offered(self) -> None:
        """For the rest of the time the generator is slow, and says nothing of that."""

        def most(_anew: int, _side: int, turn: int) -> int:
            return LINE_FPS if turn % 8 < 2 else 2_000_000

        bench = BecomesFaster(PairedModel("quiet"), (1.0, 0.95), ("A", "B"), seed=1, most=most)
        found = played(bench, pairs=60)
        assert bench.rounds[-1].load_fps > 8e6
        assert found["ratio_b"].flags == ()

    def test_what_a_slow_generator_offers_is_brought_through_though_more_was_asked(self) -> None:
        bench = session(QUIET, 1, 1.0)
        bench.most_fps = 3_000_000
        found = played(bench)
        assert found["rate_a"].flags == (Flag.NOT_OVERLOADED,)
        loads = {one.load_fps for one in bench.rounds if one.role is Role.ANSWER}
        assert len(loads) == 1, "more would not be offered either"


@dataclass
class ColdAtFirst(ModelTurns):
    """A rival that is slower for 0.4 s after all was made anew."""

    def round(self, asked: TurnsAsked) -> Round:
        one = super().round(asked)
        told = one.turns
        came = tuple(
            frames // 2 if side == 2 and began_ns < 400_000_000 else frames
            for frames, side, began_ns in zip(
                told.received_frames, told.side, told.began_ns, strict=True
            )
        )
        one = one.model_copy(update={"turns": told.model_copy(update={"received_frames": came})})
        self.rounds[-1] = one
        return one


class TestWarmUp:
    def found(self, warm_up_ns: int) -> tuple[dict[str, Figure], ColdAtFirst]:
        bench = ColdAtFirst(QUIET, (1.0, 1.0, 1.0), ("A", CONTROL, "B"), seed=1)
        bench.warm_up_ns = warm_up_ns
        return played(bench), bench

    def test_what_a_switch_does_while_it_becomes_warm_is_none_of_the_answer(self) -> None:
        cold, warm = (self.found(ns)[0] for ns in (0, 500_000_000))
        assert (cold["ratio_b"].upper or 1) < 0.99
        assert warm["ratio_b"].value == pytest.approx(1, abs=1e-3)
        assert warm["rate_b"].value == pytest.approx(4e6, rel=1e-3)

    def test_so_many_turns_are_made_more_and_the_order_of_those_that_count_is_balanced(
        self,
    ) -> None:
        """Of 500 ms, and 36 of a pass: 14 passes."""
        _, bench = self.found(500_000_000)
        one = answering(bench.rounds)[0]
        assert (one.warm_passes, len(one.passes)) == (14, 24)
        assert one.turns.side[-24 * 3 :] == balanced(3, SHORT["pairs"])
        assert len(one.turns.side) == (14 + 24) * 3

    def test_a_round_takes_longer_by_it(self) -> None:
        short, long = (
            method(**SHORT).round_of(Role.ANSWER, 1, 1, 3, warm_up_ns=ns).length_ns
            for ns in (0, 500_000_000)
        )
        assert 500_000_000 <= long - short < 536_000_000


class TestNotOverloaded:
    """Who brings all of a load through may be faster: so much of an answer is not known."""

    def found(self, maximum_fps: int, share: float) -> Figure:
        bench = session(QUIET, 1, share, control=False)
        bench.loads = replace(bench.loads, maximum=maximum_fps)
        return played(bench)["ratio_b"]

    def test_of_both_nothing_is_known(self) -> None:
        found = self.found(3_000_000, 0.9)
        assert found.value is None
        assert found.limit is Limit.UNKNOWN
        assert found.flags == (Flag.NOT_OVERLOADED,)
        assert found.reason.startswith("both brought all of the load through")

    @pytest.mark.parametrize(
        ("maximum_fps", "share", "ends", "said"),
        [
            (3_500_000, 0.7, (0, pytest.approx(0.8, abs=0.01)), ("20% or more slower", "≤ 80")),
            (5_000_000, 1.3, (pytest.approx(1.25, abs=0.01), None), ("25% or more faster", "≥ 12")),
        ],
        ids=["the first", "a rival"],
    )
    def test_one_that_does_may_be_faster_by_more(
        self, maximum_fps: int, share: float, ends: tuple[object, object], said: tuple[str, str]
    ) -> None:
        found = self.found(maximum_fps, share)
        assert (found.lower, found.upper) == ends
        assert f"{said[0]} than A" in found.reason
        assert found.text.startswith(said[1])

    def test_nor_has_the_rate_of_who_does_an_end_above(self) -> None:
        bench = session(QUIET, 1, 0.7, control=False)
        bench.loads = replace(bench.loads, maximum=3_500_000)
        found = played(bench)
        assert found["rate_a"].text == "≥ 3.500 Mfps"
        assert found["rate_b"].text == "2.800 Mfps"

    def test_a_first_switch_that_differs_from_itself_is_told_as_far_as_that_is_known(self) -> None:
        one = Compared(1.2, 1.1, 1.3, None, None, ())
        assert interval_text(one) == "+20.0% [+10.0%, +30.0%]"
        assert interval_text(replace(one, carried=True)) == "≥ +10.0%"
        assert interval_text(replace(one, base_carried=True)) == "≤ +30.0%"

    @pytest.mark.parametrize(
        ("maximum_fps", "share", "begins", "word"),
        [
            (3_000_000, 0.9, ("–", "–"), "unknown"),
            (3_500_000, 0.7, ("≤ -", "≤ -"), "slower"),
            (5_000_000, 1.3, ("≥ +", "≥ +"), "faster"),
        ],
    )
    def test_a_table_has_no_bound_where_the_answer_has_none(
        self, maximum_fps: int, share: float, begins: tuple[str, str], word: str
    ) -> None:
        bench = session(QUIET, 1, share, control=False)
        bench.loads = replace(bench.loads, maximum=maximum_fps)
        played(bench)
        ratio, interval, so = map(str, compared_table(bench.rounds, None, Terms()).rows[1][3:6])
        assert ratio.startswith(begins[0])
        assert interval.startswith(begins[1])
        assert (so, "…" in interval) == (word, False)

    def test_a_load_that_was_given_is_meant_to_be_brought_through(self) -> None:
        bench = session(QUIET, 1, 1.0, control=False)
        bench.loads = replace(bench.loads, fixed=(3_000_000,))
        found = played(bench, load="3Mpps")["ratio_b"]
        assert (found.value, found.flags) == (1, ())

    def test_a_load_can_be_a_share_of_what_the_slowest_forwards(self) -> None:
        """So all of them can carry it, and how fast they are need not be known before."""
        bench = session(QUIET, 1, 0.5)
        found = played(bench, load="80% of slowest")
        roles = Counter(one.role for one in bench.rounds)
        assert (roles[Role.LOAD], roles[Role.ANSWER]) == (2, 6)
        assert {one.load_fps for one in answering(bench.rounds)} == {1_600_000}
        assert found["ratio_b"].value == 1
        assert found["lost_b"].value == 0
        assert found["ratio_b"].at == "B to A, 1.600 Mfps, 80% of slowest"

    def test_it_is_one_that_a_switch_can_carry_beside_what_takes_its_cpu(self) -> None:
        bench = session(PairedModel("taken", {"taken": "50%"}), 1, 1.0, control=False)
        played(bench, load="80% of slowest")
        rates = [one.load_fps for one in answering(bench.rounds)]
        assert max(rates) < 0.8 * 4_000_000


class TestFewRounds:
    def test_five_rounds_claim_no_interval(self) -> None:
        bench = session(BY_NAME["draws"], 1, 0.9)
        played(bench, rounds=8)
        rounds = [
            one if one.deployment <= 5 else changed(one, elsewhere_frames=1)
            for one in answering(bench.rounds)
        ]
        found = figures(method(rounds=8, pairs=20).answered(rounds))["ratio_b"]
        assert (found.value, found.lower, found.upper) == (None, None, None)
        assert found.reason.startswith("5 rounds say something, and 6 are needed")

    def test_an_interval_leaves_the_truth_out_in_as_many_cases_as_it_says_or_fewer(self) -> None:
        """All signs that ranks can have are as likely: those are counted that it leaves out."""
        for count, level in itertools.product(range(1, 13), (0.05, 0.025, 0.0125)):
            outer = outermost(count, level)
            if outer is None:
                assert 2 / 2**count > level
                continue
            sums = [
                sum(rank for rank, sign in zip(range(1, count + 1), signs, strict=True) if sign)
                for signs in itertools.product((0, 1), repeat=count)
            ]
            assert 2 * sum(one <= outer for one in sums) <= level * len(sums)
            assert 2 * sum(one <= outer + 1 for one in sums) > level * len(sums)


class TestRecomputed:
    def test_stored_rounds_give_the_same_answer(self) -> None:
        bench = session(BY_NAME["draws"], 1, 0.97)
        asked = method(**SHORT)
        result = asked.play(bench)
        stored = [Round.model_validate_json(one.model_dump_json()) for one in bench.rounds]
        assert asked.answered(stored) == result

    def test_columns_of_turns_have_one_length(self) -> None:
        columns = answered_round().turns.model_dump()
        columns["gaps_ns"] = columns["gaps_ns"][1:]
        with pytest.raises(ValueError, match="columns of turns have different lengths"):
            TurnColumns.model_validate(columns)


class TestSettings:
    @pytest.mark.parametrize(
        ("flows", "guard_ms"), [(1, 2), (999, 2), (1_000, 4), (9_999, 4), (10_000, 10)]
    )
    def test_the_guard_follows_from_the_number_of_flows(self, flows: int, guard_ms: int) -> None:
        assert method().guard_ns(flows) == guard_ms * 1_000_000

    @pytest.mark.parametrize("load", ["3Mfps", "40%", "80% of slowest"])
    def test_a_load_is_written_as_it_is_read(self, load: str) -> None:
        assert method(load=load).model_dump(mode="json")["load"] == load
        assert method(load="80% of slowest", overload="150%").is_looked_for

    def test_a_guard_that_is_given_holds_for_any(self) -> None:
        assert method(guard="7ms").guard_ns(100_000) == Duration.parse("7ms").ns

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ({"rounds": 5}, "greater than or equal to 6"),
            ({"overload": "100%"}, "an overload lies above 100%"),
            ({"overload": "130%", "load": "1Mpps"}, "either a `load` is given, or an `overload`"),
            ({"load": "0% of slowest"}, "a share of the slowest lies above 0%"),
            ({"load": "110% of slowest"}, "a ratio lies between 0 and 1"),
            ({"load": "80% of fastest"}, "'80% of fastest' is not a rate"),
            ({"turn": "2s"}, "a turn lasts between 1ms and 1s"),
            ({"guard": "1001ms"}, "a guard lasts 1s at most"),
            ({"guard": "0s", "load": "1Mpps"}, "what waited in a switch while it was held"),
        ],
    )
    def test_settings_that_say_nothing_are_refused(
        self, settings: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(ValueError, match=said):
            method(**settings)


class TestRecordsOfOthers:
    """They may say of turns what no round can come to."""

    def test_a_group_in_which_a_side_has_no_turn_is_no_pass(self) -> None:
        one = answered_round()
        first, sides = one.turns.side[0], len(one.sides)
        twice = (first,) * sides + one.turns.side[sides:]
        wrong = one.model_copy(update={"turns": one.turns.model_copy(update={"side": twice})})
        assert len(wrong.passes) == len(one.passes) - 1
        assert in_round(wrong, "B") is not None

    def test_fewer_frames_than_none_are_taken_as_none(self) -> None:
        one = answered_round()
        none, fewer = (in_round(changed(one, received_frames=n), "B") for n in (0, -1))
        assert none is not None and none == fewer

    @pytest.mark.parametrize("rounds", [{}, {"rounds": "many"}, {"rounds": None}])
    def test_a_specification_that_says_no_number_of_rounds_has_one_look(
        self, rounds: dict[str, Any]
    ) -> None:
        assert Terms.of({"until": "decided", **rounds}) == Terms()
