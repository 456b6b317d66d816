"""Switches in turns, where their generator is slow at times and offers no overload then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from paired_models import LINE_FPS, MODELS, ModelTurns, Most, PairedModel
from test_method_paired import BecomesFaster, played

from vsperf.records.flags import Flag
from vsperf.records.result import Figure
from vsperf.records.turns import Role, Round, clean_passes

NOISY = MODELS[0]
Slow = Callable[[int, int, int], bool]
"""Whether a generator is slow: by the deployment, the side, and which pass or turn it is."""


def slow_where(slow: Slow) -> Most:
    """Return a generator that offers half of what switches can, where that is so."""
    return lambda anew, side, turn: 2_000_000 if slow(anew, side, turn) else LINE_FPS


def of_two(slow: Slow) -> Most:
    """Return one that is slow by the number of a pass of two sides."""
    return slow_where(lambda anew, side, turn: slow(anew, side, turn // 2))


class TestSlowGenerator:
    """Where a machine is slow for a while a switch may wait for frames, and shows no rate of its
    own."""

    def played(self, slow: Slow, **settings: Any) -> tuple[dict[str, Figure], tuple[Round, ...]]:
        bench = ModelTurns(NOISY, (1.0, 0.95), ("A", "B"), seed=1, most=of_two(slow))
        bench.loads = replace(bench.loads, fixed=settings.pop("fixed", ()))
        found = played(bench, **{"rounds": 8, "pairs": 30, "patience": "0%", **settings})
        return found, tuple(one for one in bench.rounds if one.role is Role.ANSWER)

    def test_passes_in_which_both_waited_for_it_are_left_out(self) -> None:
        found, _ = self.played(lambda _anew, _side, number: number % 3 == 0)
        ratio = found["ratio_b"]
        assert ratio.value == pytest.approx(0.95, abs=0.01)
        assert (ratio.upper or 1) < 1
        assert ratio.flags == ()
        assert (
            "; of 240 passes they waited for the generator: B alone in 0, A alone in 0, both in "
            "80, which are left out"
        ) in ratio.reason
        assert found["rate_a"].flags == (Flag.NOT_OVERLOADED,)  # so much at least

    def test_so_are_rounds_in_which_there_are_too_few_others(self) -> None:
        found, _ = self.played(lambda anew, _side, number: anew in {2, 5} and number > 5)
        ratio = found["ratio_b"]
        assert ratio.value == pytest.approx(0.95, abs=0.01)
        assert ratio.flags == ()
        assert "as far as 6 rounds tell" in ratio.reason

    def test_without_enough_others_all_count_and_were_no_overload(self) -> None:
        found, _ = self.played(lambda anew, _side, _number: anew in {2, 5, 6})
        assert found["ratio_b"].value is None
        assert found["ratio_b"].flags == found["rate_a"].flags == (Flag.NOT_OVERLOADED,)

    @pytest.mark.parametrize(("who", "name"), [(1, "B"), (0, "A")])
    @pytest.mark.parametrize("rounds", [set(range(9)), {2, 5}], ids=["everywhere", "in two rounds"])
    def test_who_waits_where_the_other_does_not_may_be_faster(
        self, who: int, name: str, rounds: set[int]
    ) -> None:
        """What is left without these passes, or rounds, would be what is slow of it."""
        found, _ = self.played(
            lambda anew, side, number: side == who and anew in rounds and number % 8 > 2
        )
        ratio = found["ratio_b"]
        assert ratio.flags == (Flag.NOT_OVERLOADED,)
        assert (ratio.upper is None) == (name == "B")
        assert (ratio.lower == 0) == (name == "A")
        assert f", so {name} may be faster" in ratio.reason

    def test_who_waits_all_the_time_is_known_to_be_no_slower_than_that(self) -> None:
        """The other one waits in some of these passes, and they are left out."""
        found, _ = self.played(lambda _anew, side, number: side == 1 or number % 4 == 0)
        ratio = found["ratio_b"]
        assert ratio.value == pytest.approx(0.5, abs=0.01)
        assert ratio.lower == pytest.approx(0.5, abs=0.02)
        assert ratio.upper is None

    def test_that_one_waits_a_little_more_often_is_chance(self) -> None:
        slow = {(0, 3), (1, 7), (1, 9), (1, 12), (1, 20), (1, 21)}
        found, _ = self.played(lambda anew, side, number: anew == 1 and (side, number) in slow)
        assert found["ratio_b"].flags == ()

    def test_that_a_third_one_waits_is_nothing_to_the_others(self) -> None:
        most = slow_where(lambda _anew, side, _turn: side == 2)
        bench = ModelTurns(NOISY, (1.0, 0.95, 1.0), ("A", "B", "C"), seed=1, most=most)
        found = played(bench, rounds=6, pairs=30)
        assert found["ratio_b"].value == pytest.approx(0.95, abs=0.01)
        assert found["ratio_b"].flags == ()
        assert found["ratio_c"].flags == (Flag.NOT_OVERLOADED,)

    def test_nor_does_it_keep_a_load_from_becoming_higher_for_them(self) -> None:
        most = slow_where(lambda _anew, side, _turn: side == 1)
        bench = BecomesFaster(PairedModel("quiet"), (1.0, 1.0), ("A", "B"), seed=1, most=most)
        found = played(bench)
        assert bench.rounds[-1].load_fps > 8e6
        assert found["rate_a"].value == pytest.approx(8e6, rel=1e-3)
        assert found["rate_a"].flags == ()

    def test_below_an_overload_all_that_is_offered_is_to_come_through(self) -> None:
        found, rounds = self.played(
            lambda _anew, _side, number: number % 3 == 0, load="3Mpps", fixed=(3_000_000,)
        )
        assert len(clean_passes(rounds[0])) == len(rounds[0].passes)
        assert found["ratio_b"].flags == (Flag.SHORT_OFFER,)
        assert "waited" not in found["ratio_b"].reason


class TestPatience:
    """For rounds in which it is slow all the time, and that say nothing, others are made."""

    def played(
        self, slow: Callable[[int], bool], **settings: Any
    ) -> tuple[dict[str, Figure], list[Round], int]:
        """Play it with one that is slow on some deployments; how long it took is last."""
        most = slow_where(lambda anew, _side, _turn: slow(anew))
        bench = ModelTurns(NOISY, (1.0, 1.0, 0.95), ("A", "A′", "B"), seed=1, most=most)
        bench.budget.limit_ns = settings.pop("limit_ns", None)
        found = played(bench, **{"rounds": 8, "pairs": 30, **settings})
        made = [one for one in bench.rounds if one.role is Role.ANSWER]
        return found, made, bench.budget.spent_ns

    def test_as_many_more_are_made_as_said_nothing(self) -> None:
        found, rounds, _ = self.played(lambda anew: anew in {2, 5, 6})
        assert [one.deployment for one in rounds] == [*range(1, 12)]
        assert found["ratio_b"].value == pytest.approx(0.95, abs=0.01)
        assert "as far as 8 rounds tell" in found["ratio_b"].reason
        assert found["ratio_b"].flags == found["control"].flags == ()

    @pytest.mark.parametrize(("percent", "rounds"), [(100, 16), (25, 10), (0, 8)])
    def test_no_more_than_patience_lasts(self, percent: int, rounds: int) -> None:
        found, made, _ = self.played(lambda anew: anew > 7, patience=f"{percent}%")
        assert len(made) == rounds
        assert "as far as 7 rounds tell" in found["ratio_b"].reason

    def test_nor_than_it_takes_to_see_that_there_will_be_no_answer(self) -> None:
        """With one round that tells, the twelfth is the first after which it could not be six."""
        found, made, _ = self.played(lambda anew: anew > 1)
        assert len(made) == 12
        assert found["ratio_b"].value is None
        assert found["ratio_b"].flags == (Flag.NOT_OVERLOADED,)

    def test_nor_than_there_is_time_for(self) -> None:
        _, made, spent_ns = self.played(lambda anew: anew == 2)
        assert len(made) == 9
        limit_ns = spent_ns + made[0].elapsed_ns  # one may have to be made again
        found, made, _ = self.played(lambda anew: anew in {2, 4}, limit_ns=limit_ns)
        assert len(made) == 9
        assert "as far as 7 rounds tell" in found["ratio_b"].reason

    def test_the_last_look_is_behind_them(self) -> None:
        """One at the last of `rounds` and one more at the end would be wrong too often."""
        found, made, _ = self.played(lambda anew: anew == 2, until="decided")
        assert len(made) == 9
        assert "as far as 8 rounds tell" in found["ratio_b"].reason

    def test_none_is_made_where_none_would_tell(self) -> None:
        """All sides are faster than this generator."""
        _, made, _ = self.played(lambda _anew: True)
        assert len(made) == 8

    def test_none_is_made_for_a_switch_that_is_faster_than_others(self) -> None:
        """That it waits is what its rounds tell."""
        most = slow_where(lambda _anew, side, _turn: side == 1)
        bench = ModelTurns(NOISY, (1.0, 1.0), ("A", "B"), seed=1, most=most)
        played(bench, rounds=6, pairs=30)
        assert sum(one.role is Role.ANSWER for one in bench.rounds) == 6
