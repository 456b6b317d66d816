"""When a comparison in turns ends, and what it answers from what there is by then."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

import pytest
from paired_models import ModelTurns, method, session
from test_method_paired import BY_NAME, QUIET, played

from vsperf.records.signed_ranks import LEAST, middle_of
from vsperf.records.turns import CONTROL, Role, Terms, looks_of


def answers(bench: ModelTurns) -> int:
    return sum(one.role is Role.ANSWER for one in bench.rounds)


class TestDecided:
    """Looks at planned numbers of rounds end it, and are wrong in 5 % of cases all together."""

    ASKED: ClassVar[dict[str, Any]] = {"rounds": 32, "until": "decided"}

    def test_it_ends_at_the_first_look_where_a_rival_is_slower_for_sure(self) -> None:
        bench = session(BY_NAME["draws"], 1, 0.8)
        found = played(bench, **self.ASKED)["ratio_b"]
        assert answers(bench) == 8
        assert found.upper is not None
        assert found.upper < 1

    def test_it_ends_where_a_difference_is_too_small_to_matter(self) -> None:
        bench = session(BY_NAME["noise"], 1, 0.999)
        found = played(bench, **self.ASKED, alike="2%")["ratio_b"]
        assert answers(bench) == 8
        assert "at most lie between them" in found.reason

    def test_it_goes_on_to_the_end_where_nothing_is_decided(self) -> None:
        bench = session(BY_NAME["large-draws"], 1, 1.0)
        played(bench, **self.ASKED)
        assert answers(bench) == 32

    def test_all_rivals_have_to_be_decided(self) -> None:
        bench = session(BY_NAME["large-draws"], 1, 0.7, 1.0)
        played(bench, **self.ASKED)
        assert answers(bench) > 8

    def test_it_does_not_end_on_a_control_that_differs(self) -> None:
        bench = ModelTurns(QUIET, (1.0, 0.9, 0.8), ("A", CONTROL, "B"), seed=1)
        played(bench, **self.ASKED)
        assert answers(bench) == 32

    def test_it_goes_on_where_a_rival_is_slower_and_its_criterion_is_open(self) -> None:
        """It has 80 % of the rate: after eight rounds it is slower for sure, and misses 99 %."""
        made = []
        for least in (0.8, 0.99):
            bench = session(BY_NAME["draws"], 1, 0.8)
            bench.least = {"ratio_b": least}
            found = played(bench, **self.ASKED)["ratio_b"]
            assert found.upper is not None
            assert found.upper < 0.99
            made.append(answers(bench))
        assert made == [32, 8]

    def test_a_criterion_that_is_decided_asks_for_no_more_of_its_rival(self) -> None:
        """It may be 10 % slower, and is not: whether it differs at all nobody asks."""
        bench = session(BY_NAME["draws"], 1, 1.0)
        bench.least = {"ratio_b": 0.8}
        found = played(bench, **self.ASKED)["ratio_b"]
        assert answers(bench) == 8
        assert (found.lower or 0) < 1 < (found.upper or 0)

    def test_a_rival_without_a_criterion_has_to_be_decided_beside_one_that_has_it(self) -> None:
        bench = session(BY_NAME["large-draws"], 1, 0.7, 1.0)
        bench.least = {"ratio_b": 0.97}
        played(bench, **self.ASKED)
        assert answers(bench) > 8

    def test_looks_are_planned_and_four_at_most(self) -> None:
        assert looks_of(6) == (6,)
        assert looks_of(8) == (8,)
        assert looks_of(20) == (8, 16, 20)
        assert looks_of(32) == (8, 16, 24, 32)
        assert looks_of(100) == (25, 50, 75, 100)

    def test_each_look_has_an_interval(self) -> None:
        for rounds in range(LEAST, 200):
            terms = Terms(looks=looks_of(rounds))
            assert terms.looks[0] >= terms.least
            assert len(terms.looks) * terms.level == pytest.approx(0.05)

    @pytest.mark.parametrize("shape", ["normal", "heavy-tailed", "two-valued"])
    def test_the_same_is_called_different_in_5_of_100_cases_whenever_it_ends(
        self, shape: str
    ) -> None:
        """1,500 sessions of one switch against itself, each ended where it seems decided."""
        chance = Random(7)

        def drawn() -> float:
            match shape:
                case "normal":
                    return chance.gauss(0, 0.04)
                case "heavy-tailed":
                    return 0.01 * chance.gauss(0, 1) / max(1e-3, abs(chance.gauss(0, 1)))
                case _:
                    return chance.choice((-0.03, 0.03)) + chance.gauss(0, 1e-4)

        def wrong(values: Sequence[float], level: float) -> bool:
            ends = [middle_of(values[:look], level) for look in looks_of(32)]
            return any(not (one.lower or 0) <= 0 <= (one.upper or 0) for one in ends)

        terms = Terms(looks=looks_of(32))
        sessions = [[drawn() for _ in range(32)] for _ in range(1500)]
        share = sum(wrong(values, terms.level) for values in sessions) / len(sessions)
        as_if_once = sum(wrong(values, 0.05) for values in sessions[:500]) / 500
        assert share <= 0.05
        assert as_if_once > 0.07  # what looks at 95 % each would make of it

    def test_what_is_alike_is_asked_for_by_looks_only(self) -> None:
        with pytest.raises(ValueError, match="set `until: decided`"):
            method(alike="2%")
