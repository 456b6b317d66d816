"""Criteria are judged on the certain side of the interval; where there is none, they say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from search_models import trial, way
from simulated_cases import simulated_case

from vsperf.engine.criteria import check_all, flags_of, outcome_of
from vsperf.methods.fixed import FixedLoad
from vsperf.record.flags import Flag
from vsperf.record.limit import Limit
from vsperf.record.result import GoalResult, LoadResult, SearchResult
from vsperf.record.run import Outcome
from vsperf.spec.case import CaseSpec
from vsperf.unit import Unit
from vsperf.units import Duration, Rate

MLR = {
    "kind": "mlr",
    "min_load": "9001fps",
    "max_load": "100%",
    "goals": {"ndr": {"loss_ratio": 0}},
    "exceed_ratio": "50%",
    "initial_duration": "1s",
    "final_duration": "1s",
    "duration_sum": "5s",
    "width": "1%",
}


LATENCY = {"goal": "ndr", "loads": ["50%"], "duration": "1s"}


def spec(*criteria: dict[str, Any]) -> CaseSpec:
    """A search with 64 B frames on 10 Gbit/s links, with these criteria."""
    return simulated_case(search=MLR, latency=LATENCY, expect=criteria)


def ndr(
    lower: int | None, upper: int | None, limit: Limit = Limit.DUT, *flags: Flag
) -> SearchResult:
    goal = GoalResult(
        goal="ndr",
        loss_ratio="0",
        lower_fps=lower,
        upper_fps=upper,
        throughput_fps=lower,
        limit=limit,
        reason="because",
        flags=flags,
    )
    return SearchResult(goals=(goal,))


AT_LEAST_5M = {"metric": "ndr", "min": "5Mfps"}


@pytest.mark.parametrize(
    ("result", "met"),
    [
        (ndr(5_000_000, 5_050_000), True),
        (ndr(4_900_000, 4_950_000), False),
        (ndr(4_990_000, 5_010_000), None),
        (ndr(4_900_000, None, Limit.GENERATOR), None),
        (ndr(6_000_000, None, Limit.GENERATOR), True),
        (ndr(None, 9_001), False),
        (ndr(4_900_000, 4_950_000, Limit.HOST), None),
        (ndr(4_900_000, 4_950_000, Limit.GUEST), None),
        (ndr(4_900_000, 4_950_000, Limit.GENERATOR), None),
        (ndr(4_900_000, 4_950_000, Limit.UNCOUNTED), None),
        (ndr(5_000_000, 5_050_000, Limit.UNKNOWN, Flag.UPPER_NOT_REPRODUCED), None),
        (SearchResult(), None),
    ],
)
def test_a_rate_is_reached_missed_or_left_open(result: SearchResult, met: bool | None) -> None:
    (check,) = check_all(spec(AT_LEAST_5M), result, ())
    assert check.met is met


def test_a_share_of_the_line_rate_is_a_rate_too() -> None:
    half = {"metric": "ndr", "min": "50%"}
    assert check_all(spec(half), ndr(7_440_477, 7_500_000), ())[0].met is True
    assert check_all(spec(half), ndr(7_400_000, 7_440_476), ())[0].met is False


def test_loss_of_a_fixed_load_is_judged_by_the_worst_trial() -> None:
    def result(ratio: str, limit: Limit) -> SearchResult:
        load = LoadResult(
            load_fps=1, trials=3, passed=2, worst_loss_ratio=ratio, throughput_fps=1, limit=limit,
            reason="",
        )  # fmt: skip
        return SearchResult(loads=(load,))

    wanted = simulated_case(expect=[{"metric": "loss", "max_loss": "1%"}])
    assert check_all(wanted, result("1/100", Limit.DUT), ())[0].met is True
    assert check_all(wanted, result("1/50", Limit.DUT), ())[0].met is False
    for elsewhere in (Limit.GENERATOR, Limit.GUEST, Limit.HOST, Limit.UNCOUNTED):
        assert check_all(wanted, result("1/50", elsewhere), ())[0].met is None


def test_a_switch_is_not_judged_by_what_the_generator_was_too_slow_for() -> None:
    wanted = simulated_case(expect=[{"metric": "loss", "max_loss": "1%"}])

    def met(lost: str, short: str) -> bool | None:
        load = LoadResult(
            load_fps=1, trials=1, passed=0, worst_loss_ratio=lost, short_ratio=short,
            throughput_fps=1, limit=Limit.DUT, reason="",
        )  # fmt: skip
        return check_all(wanted, SearchResult(loads=(load,)), ())[0].met

    assert met("91/100", "90/100") is None
    assert met("92/100", "90/100") is False, "it lost more than that by itself"
    assert met("1/100", "1/100") is True


def test_a_generator_too_slow_for_loads_that_were_given_is_said() -> None:
    """Above what a search found it is no matter: the switch failed at less."""
    short = trial(10, 10**9, [way(10, unsent=5)], Flag.SHORT_OFFER)
    found = LoadResult(
        load_fps=1, trials=1, passed=0, worst_loss_ratio="1", short_ratio="1/2",
        throughput_fps=1, limit=Limit.DUT, reason="",
    )  # fmt: skip
    assert flags_of(SearchResult(loads=(found,)), [short]) == (Flag.SHORT_OFFER,)
    enough = found.model_copy(update={"short_ratio": "0"})
    assert flags_of(SearchResult(loads=(enough,)), [short]) == ()


LEAK = {"metric": "leak", "max_loss": "1%"}


class Leak(FixedLoad):
    """A method of somebody else's, which has another word for what its loads lose."""

    def metrics(self) -> Mapping[str, Unit]:
        return {"leak": Unit.RATIO, "loss": Unit.RATIO}

    def losses(self) -> frozenset[str]:
        return frozenset({"leak"})


def leaking(criterion: dict[str, Any]) -> CaseSpec:
    asked = Leak(kind="fixed", loads=(Rate.parse("1kfps"),), duration=Duration.parse("1s"))
    return CaseSpec.model_validate(
        {**dict(simulated_case()), "search": asked, "expect": [criterion]}
    )


def test_a_method_says_by_which_word_the_loss_of_its_loads_is_judged() -> None:
    load = LoadResult(
        load_fps=1, trials=1, passed=0, worst_loss_ratio="1/50", throughput_fps=1, limit=Limit.DUT,
        reason="",
    )  # fmt: skip
    (check,) = check_all(leaking(LEAK), SearchResult(loads=(load,)), ())
    assert (check.criterion, check.met) == ("leak ≤ 1%", False)


@pytest.mark.parametrize(
    ("criterion", "why"),
    [
        ({"metric": "leak", "max": "1%"}, "leak takes `max_loss`, not `max`"),
        ({"metric": "leak", "baseline": "main", "rise": "1%"}, "`max_loss`, not `baseline`"),
        ({"metric": "loss", "max_loss": "1%"}, "loss takes `min` or `max`, not `max_loss`"),
        ({"metric": "p99", "max_loss": "1%"}, "p99 takes `max`, not `max_loss`"),
    ],
)
def test_a_criterion_that_is_no_loss_for_the_method_takes_no_greatest_loss(
    criterion: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        leaking(criterion)


def test_latency_that_was_not_measured_cannot_meet_a_criterion() -> None:
    wanted = spec({"metric": "p99", "max": "100us"})
    assert check_all(wanted, ndr(1, 2), ())[0].met is None


def outcome(result: SearchResult, *criteria: dict[str, Any]) -> Outcome:
    return outcome_of(result, check_all(spec(*criteria), result, ()))[0]


def test_a_buffer_that_filled_under_overload_is_no_doubt_about_the_case() -> None:
    waited = trial(10**6, 10**9, [way(10**6)], Flag.BUFFERED, Flag.UNTIMED)
    assert flags_of(ndr(1, 2), [waited]) == (Flag.UNTIMED,)
    assert flags_of(ndr(1, 2, Limit.DUT, Flag.BUFFERED), [waited])[0] is Flag.BUFFERED


def test_the_outcome_follows_from_doubts_first_then_from_criteria() -> None:
    assert outcome(ndr(5_000_000, 5_050_000)) is Outcome.PASS
    assert outcome(ndr(5_000_000, 5_050_000), AT_LEAST_5M) is Outcome.PASS
    assert outcome(ndr(4_000_000, 4_050_000), AT_LEAST_5M) is Outcome.FAIL
    assert outcome(ndr(4_000_000, None, Limit.GENERATOR), AT_LEAST_5M) is Outcome.INVALID
    doubtful = ndr(4_000_000, 4_050_000, Limit.UNKNOWN, Flag.UPPER_NOT_REPRODUCED)
    assert outcome(doubtful, AT_LEAST_5M) is Outcome.INVALID
    assert outcome(ndr(None, None, Limit.BUDGET)) is Outcome.INVALID


def test_no_lower_bound_is_an_answer_and_not_a_doubt() -> None:
    assert outcome(ndr(None, 9_001, Limit.DUT, Flag.AT_MINIMUM)) is Outcome.PASS
