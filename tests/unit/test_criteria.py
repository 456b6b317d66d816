"""What a case earns: criteria met or missed, and the words of standards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from record_samples import given_load, goal, lossy_load
from search_models import LINE_RATE, METHODS, POLICY, case_of, search, spec_of, switch, trial, way
from simulated_cases import simulated_case
from slot_samples import in_slots

from vsperf.analysis.answers import loss_text
from vsperf.config.case import CaseSpec
from vsperf.engine.baselines import _as_bound
from vsperf.engine.criteria import check_all, flags_of, outcome_of
from vsperf.methods.base import method_of
from vsperf.methods.compliance import qualified
from vsperf.methods.fixed import FixedLoad
from vsperf.methods.throughput import Throughput
from vsperf.quantities.human import End
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration, Rate
from vsperf.records.flags import Flag
from vsperf.records.meaning import ETHERNET_SIZES, STANDARDS
from vsperf.records.result import Compliance, Figure, Level, Limit, SearchResult, Standard
from vsperf.records.run import Check, Outcome

# Criteria are judged on the certain side of the interval; where there is none, they say so.

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
    return SearchResult(goals=(goal(lower, upper, limit=limit, flags=flags),))


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
        (ndr(4_900_000, 4_950_000, Limit.VNF), None),
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
        load = given_load(trials=3, passed=2, worst_loss_ratio=ratio, limit=limit)
        return SearchResult(loads=(load,))

    wanted = simulated_case(expect=[{"metric": "loss", "max_loss": "1%"}])
    assert check_all(wanted, result("1/100", Limit.DUT), ())[0].met is True
    assert check_all(wanted, result("1/50", Limit.DUT), ())[0].met is False
    for elsewhere in (Limit.GENERATOR, Limit.VNF, Limit.HOST, Limit.UNCOUNTED):
        assert check_all(wanted, result("1/50", elsewhere), ())[0].met is None


def test_what_misses_by_less_than_its_digits_show_is_told_with_all_of_them() -> None:
    for asked, lower, met, found in (
        ("5Mfps", 4_999_700, False, "4.999 Mfps"),
        ("5Mfps", 5_000_400, True, "5.000 Mfps"),
        ("4999800fps", 4_999_700, False, "4,999,700 fps"),
        ("4999600fps", 4_999_700, True, "4,999,700 fps"),
    ):
        wanted = spec({"metric": "ndr", "min": asked})
        (rate,) = check_all(wanted, ndr(lower, lower if not met else 6_000_000), ())
        assert (rate.met, rate.found) == (met, found)
    for asked, ratio, found in (
        ("0", "1/100000000", "1e-06%"),
        ("1%", "10001/1000000", "1.0001%"),
        ("1%", "1/50", "2%"),
    ):
        wanted = simulated_case(expect=[{"metric": "loss", "max_loss": asked}])
        (check,) = check_all(wanted, SearchResult(loads=(lossy_load(ratio),)), ())
        assert (check.met, check.found) == (False, found)


@pytest.mark.parametrize(
    ("unit", "value", "least", "most"),
    [
        (Unit.FPS, 1234.5, "1234fps", "1235fps"),
        (Unit.BPS, 1234.5, "1234bit/s", "1235bit/s"),
        (Unit.NANOSECONDS, 1234.5, "1234ns", "1235ns"),
        (Unit.NANOSECONDS, 0.12345678, "0.123456ns", "0.123457ns"),
        (Unit.FACTOR, 0.12345678, "0.123456", "0.123457"),
        (Unit.RATIO, 1 / 3, "33.3333333333%", "33.3333333334%"),
        (Unit.COUNT, 12.5, "12", "13"),
        (Unit.COUNT, 100 * 0.97, "97", "97"),
    ],
)
def test_what_a_baseline_makes_a_bound_asks_for_no_more_than_it_means(
    unit: Unit, value: float, least: str, most: str
) -> None:
    assert [str(_as_bound(value, unit, end)) for end in End] == [least, most]


def test_nearly_all_is_not_written_as_all_that_was_lost() -> None:
    assert [loss_text(one) for one in ("1", "999999/1000000", "0", "1/1000000")] == [
        *("100%", "< 100%", "0", "0.0001%")
    ]


def test_a_switch_is_not_judged_by_what_the_generator_was_too_slow_for() -> None:
    wanted = simulated_case(expect=[{"metric": "loss", "max_loss": "1%"}])

    def met(lost: str, short: str) -> bool | None:
        result = SearchResult(loads=(lossy_load(lost, short_ratio=short),))
        return check_all(wanted, result, ())[0].met

    assert met("91/100", "90/100") is None
    assert met("92/100", "90/100") is False, "it lost more than that by itself"
    assert met("1/100", "1/100") is True


def test_a_generator_too_slow_for_loads_that_were_given_is_said() -> None:
    """Above what a search found it is no matter: the switch failed at less."""
    short = trial(10, 10**9, [way(10, unsent=5)], Flag.SHORT_OFFER)
    found = lossy_load("1", short_ratio="1/2")
    assert flags_of(SearchResult(loads=(found,)), [short]) == (Flag.SHORT_OFFER,)
    enough = found.model_copy(update={"short_ratio": "0"})
    assert flags_of(SearchResult(loads=(enough,)), [short]) == ()


def test_so_it_is_where_an_answer_says_so_itself() -> None:
    """Of switches in turns, figures have no limit at a load that is given."""
    rate = Figure(name="rate_b", unit=Unit.FPS, value=9, flags=(Flag.SHORT_OFFER,))
    assert flags_of(SearchResult(figures=(rate,)), ()) == (Flag.SHORT_OFFER,)


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
    result = SearchResult(loads=(lossy_load("1/50"),))
    (check,) = check_all(leaking(LEAK), result, ())
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


@pytest.mark.parametrize(("away", "met"), [(0, False), (90, None)])
def test_where_the_time_ended_a_loss_that_may_be_the_machines_misses_nothing(
    away: int, met: bool | None
) -> None:
    """As it is where the search ended by itself, and then says whose loss it was."""
    lost = in_slots(1_000_000, NANOSECONDS, 900_000, away, 0, own_loss=0)
    cut_short = ndr(None, 1_000_000, Limit.BUDGET, Flag.OUT_OF_BUDGET)
    (check,) = checks = check_all(spec(AT_LEAST_5M), cut_short, [lost])
    assert check.met is met
    assert check.found.startswith("no lower bound, as 1.000 Mfps failed")
    assert ("only 0% of the time was clean" in check.found) is bool(away)
    assert outcome_of(cut_short, checks)[0] is (Outcome.INVALID if away else Outcome.FAIL)


@pytest.mark.parametrize(
    ("upper", "cap_fps", "met"),
    [(9_850_000, 10_000_000, None), (9_400_000, 10_000_000, False), (9_850_000, None, False)],
)
def test_where_the_time_ended_near_what_the_generator_can_do_nothing_is_missed(
    upper: int, cap_fps: int | None, met: bool | None
) -> None:
    """As it is where the search ends there, and says that nobody can tell the two apart."""
    lost = trial(upper, NANOSECONDS, [way(upper, lost=7)])
    cut_short = ndr(9_000_000, upper, Limit.BUDGET, Flag.OUT_OF_BUDGET)
    wanted = spec({"metric": "ndr", "min": "9.9Mfps"})
    (check,) = check_all(wanted, cut_short, [lost], cap_fps)
    assert check.met is met
    told = "9.850 Mfps is 98.5% of what the generator does without a switch"
    assert (told in check.found) is (met is None)


def test_a_criterion_that_the_time_left_open_names_a_load_that_failed_by_one_number() -> None:
    lost = in_slots(4_528_285, NANOSECONDS, 4_000_000, 90, 0, own_loss=0)
    cut_short = ndr(None, 4_528_285, Limit.BUDGET, Flag.OUT_OF_BUDGET)
    (check,) = check_all(spec(AT_LEAST_5M), cut_short, [lost])
    assert re.findall(r"[\d.]+ Mfps", check.found) == ["4.528 Mfps"] * 2


def test_no_lower_bound_is_an_answer_and_not_a_doubt() -> None:
    assert outcome(ndr(None, 9_001, Limit.DUT, Flag.AT_MINIMUM)) is Outcome.PASS


def ratio(name: str, value: float | None, *flags: Flag) -> Figure:
    """Return how a switch stands to the first; of one without a value nobody knows."""
    unknown = Limit.UNKNOWN if value is None else None
    return Figure(
        name=name, unit=Unit.FACTOR, value=value, limit=unknown, reason="too few", flags=flags
    )


SLOWER = Check(criterion="ratio_b ≥ 97%", met=False, found="90%")
OPEN = Check(criterion="ratio_c ≥ 97%", met=None, found="too few")
SAME = ratio("control", 1.0)


def test_a_rival_without_an_answer_hides_no_other_one_that_is_slower_for_sure() -> None:
    rivals = (ratio("ratio_b", 0.9), ratio("ratio_c", None), SAME)
    for complete in (True, False):
        found = SearchResult(figures=rivals, complete=complete)
        assert outcome_of(found, (SLOWER, OPEN)) == (
            Outcome.FAIL,
            "ratio_b ≥ 97%: found 90%; nobody can tell ratio_c: too few",
        )
    last = SearchResult(figures=(rivals[1], rivals[0], SAME), complete=False)
    assert outcome_of(last, (OPEN, SLOWER))[0] is Outcome.FAIL


@pytest.mark.parametrize(
    ("figures", "check"),
    [
        ((ratio("ratio_b", 0.9), ratio("ratio_c", None), SAME), OPEN),
        ((ratio("ratio_b", 0.9), ratio("control", None)), SLOWER),
        ((ratio("ratio_b", 0.9, Flag.CONTROL_DIFFERS), SAME), SLOWER),
    ],
)
def test_where_nothing_is_sure_or_all_is_doubted_nothing_fails(
    figures: tuple[Figure, ...], check: Check
) -> None:
    assert outcome_of(SearchResult(figures=figures), (check,))[0] is Outcome.INVALID


# Which of the three words a case earns, per standard, and why not a better one.

NDR = {"ndr": {"loss_ratio": "0"}}
PDR = {"pdr": {"loss_ratio": "0.5%"}}

THROUGHPUT = (Standard.RFC2544, Standard.RFC9971, Standard.TST009)
"""What methods are held against that look for a throughput."""


def _searched(case: CaseSpec, capacity_fps: int) -> SearchResult:
    assert isinstance(case.search, Throughput)
    return search(case.search, switch(capacity_fps))


def _judge(
    case: CaseSpec,
    standard: Standard,
    result: SearchResult | None = None,
    sizes: tuple[int, ...] = ETHERNET_SIZES,
) -> tuple[Level, tuple[str, ...]]:
    """Return the word on a standard, and what deviates from it."""
    words = method_of(case).compliance(case, sizes, result or _searched(case, 10**6))
    (found,) = (each for each in words if each.standard is standard)
    return found.level, found.deviations


def _case(method: str, policy: dict[str, Any] | None = None, **changes: Any) -> CaseSpec:
    trial = POLICY.model_validate({**POLICY.model_dump(), **(policy or {})})
    return case_of(method, search=spec_of(method, **changes), trial=trial)


BY_THE_BOOK = [
    ("rfc2544", Standard.RFC2544), ("mlr as rfc2544", Standard.RFC2544),
    ("tst009", Standard.TST009), ("mlr as tst009", Standard.TST009), ("mlr", Standard.RFC9971),
]  # fmt: skip


@pytest.mark.parametrize(("method", "standard"), BY_THE_BOOK)
def test_full_trials_at_all_sizes_are_unconditionally_compliant(
    method: str, standard: Standard
) -> None:
    assert _judge(_case(method), standard) == (Level.UNCONDITIONAL, ())


@pytest.mark.parametrize(
    ("method", "changes", "deviation"),
    [
        ("rfc2544", {"duration": "1s"}, "trial duration 1s instead of 60s"),
        ("mlr as rfc2544", {"final_duration": "10s"}, "trial duration 10s instead of 60s"),
        ("rfc2544", {"goals": PDR}, "the strictest goal, pdr, allows a loss of 0.5%"),
        ("mlr as tst009", {}, "up to 50% of the time at a load may be lossy"),
        ("tst009", {}, "a lossy trial is repeated and may be disregarded"),
    ],
)
def test_what_changes_the_meaning_of_throughput_is_not_rfc2544(
    method: str, changes: dict[str, Any], deviation: str
) -> None:
    assert _judge(_case(method, **changes), Standard.RFC2544) == (Level.NOT, (deviation,))


FORWARD = {"frame_size": "64B", "direction": "forward"}
REPLAYED = {"frame_size": "64B", "replay": {"file": "/tmp/x.pcap"}}


@pytest.mark.parametrize(
    ("changes", "deviation"),
    [
        ({"settle": "1s"}, "wait before the test stream 1s instead of 2s (section 23)"),
        ({"drain": "0s"}, "wait for late frames 0s instead of 2s (section 23)"),
        ({"pause": "100ms"}, "wait after a trial 100ms instead of 5s (section 23)"),
        ({"learning": False}, "no learning frames before a trial (section 23)"),
        ({"traffic": FORWARD}, "traffic in one direction only (section 14)"),
        ({"traffic": REPLAYED}, "frames of a capture file, not the test frames (section 8)"),
    ],
)
def test_what_weakens_the_evidence_leaves_rfc2544_conditionally(
    changes: dict[str, Any], deviation: str
) -> None:
    if traffic := changes.get("traffic"):
        case = case_of("rfc2544", traffic=traffic, search=spec_of("rfc2544"))
    else:
        case = _case("rfc2544", changes)
    assert _judge(case, Standard.RFC2544) == (Level.CONDITIONAL, (deviation,))


def test_missing_frame_sizes_are_named() -> None:
    def word(*sizes: int) -> tuple[Level, tuple[str, ...]]:
        return _judge(_case("rfc2544"), Standard.RFC2544, sizes=sizes)

    missing = "frame sizes not measured (section 9.1): 1024, 1280"
    assert word(64, 128, 256, 512, 1518) == (Level.CONDITIONAL, (missing,))
    assert word(64, 512, 1024, 1518)[1][-1] == "4 of at least 5 frame sizes (section 9)"
    assert word()[1][-1] == "1 of at least 5 frame sizes (section 9)"
    assert word(*ETHERNET_SIZES, 9018)[0] is Level.UNCONDITIONAL, "further ones do no harm"


def test_all_deviations_are_listed_and_the_breaking_ones_come_first() -> None:
    case = _case("rfc2544", {"learning": False}, duration="1s")
    deviations = (
        "trial duration 1s instead of 60s",
        "no learning frames before a trial (section 23)",
    )
    assert _judge(case, Standard.RFC2544) == (Level.NOT, deviations)


def test_the_strictest_goal_is_the_one_that_is_judged() -> None:
    both = {"pdr": {"loss_ratio": "0.5%", "exceed_ratio": "50%"}, "ndr": {"loss_ratio": "0"}}
    case = _case("mlr as rfc2544", goals=both)
    assert _judge(case, Standard.RFC2544)[0] is Level.UNCONDITIONAL


def _limited(limit: Limit, *flags: Flag) -> SearchResult:
    result = search(spec_of("rfc2544", goals=NDR), switch(10**6))
    goal = result.goals[0].model_copy(update={"limit": limit, "flags": flags})
    return result.model_copy(update={"goals": (goal,)})


@pytest.mark.parametrize(
    ("limit", "deviation"),
    [
        (Limit.GENERATOR, "the generator limited the result, not the switch"),
        (Limit.HOST, "the host limited the result, not the switch"),
        (Limit.BUDGET, "the time ended before the search did"),
        (Limit.UNKNOWN, "the trials contradict each other, or do not tell"),
        (Limit.SETTING, "the highest load allowed lies below the line rate, and it passed"),
    ],
)
def test_a_result_that_is_not_the_throughput_of_the_switch_complies_with_nothing(
    limit: Limit, deviation: str
) -> None:
    case = _case("rfc2544", goals=NDR)
    assert _judge(case, Standard.RFC2544, _limited(limit)) == (Level.NOT, (deviation,))


def test_the_line_rate_is_a_throughput() -> None:
    case = _case("rfc2544", goals=NDR)
    found = _judge(case, Standard.RFC2544, _searched(case, LINE_RATE))
    assert found[0] is Level.UNCONDITIONAL


def test_an_upper_bound_that_was_not_tried_again_in_time_is_conditional() -> None:
    case = _case("rfc2544", goals=NDR)
    found = _judge(case, Standard.RFC2544, _limited(Limit.DUT, Flag.OUT_OF_BUDGET))
    assert found[0] is Level.CONDITIONAL


@pytest.mark.parametrize("method", ["rfc2544", "tst009"])
def test_only_a_multiple_loss_ratio_search_complies_with_rfc9971(method: str) -> None:
    assert _judge(_case(method), Standard.RFC9971)[0] is Level.NOT


def test_rfc9971_recommends_a_warm_up_and_a_width_not_below_the_loss() -> None:
    deviations = (
        "goal pdr: the width is smaller than the loss ratio",
        "no warm-up trial before the search",
    )
    case = _case("mlr", {"warm_up": "0s"}, width="0.1%")
    assert _judge(case, Standard.RFC9971) == (Level.CONDITIONAL, deviations)


@pytest.mark.parametrize(
    ("capacity_fps", "deviation"),
    [
        (LINE_RATE, "goal ndr: irregular result, no upper bound"),
        (5_000, "goal ndr: irregular result, no lower bound"),
    ],
)
def test_a_result_with_one_bound_only_is_called_irregular(
    capacity_fps: int, deviation: str
) -> None:
    case = _case("mlr", goals=NDR)
    found = _judge(case, Standard.RFC9971, _searched(case, capacity_fps))
    assert found == (Level.CONDITIONAL, (deviation,))


def test_a_result_whose_upper_bound_is_the_generator_s_is_irregular() -> None:
    case = _case("mlr", goals=NDR)
    result = _searched(case, 10**6)
    short = result.goals[0].model_copy(update={"upper_fps": None, "limit": Limit.GENERATOR})
    _, deviations = _judge(case, Standard.RFC9971, result.model_copy(update={"goals": (short,)}))
    assert deviations == ("goal ndr: irregular result, no load failed by the switch",)


def test_a_search_that_was_cut_short_does_not_comply_with_rfc9971() -> None:
    result = search(spec_of("mlr"), switch(10**6)).model_copy(update={"complete": False})
    assert _judge(_case("mlr"), Standard.RFC9971, result)[0] is Level.NOT


def test_a_quick_search_complies_with_no_fixed_recipe() -> None:
    case = _case("mlr")
    assert _judge(case, Standard.RFC2544)[0] is Level.NOT
    deviation = (
        "only 60 s trials, a duration sum of 120 s and an exceed ratio of 50% make a goal "
        "equivalent, not 1s, 21s and 50%"
    )
    assert _judge(case, Standard.TST009) == (Level.NOT, (deviation,))


def test_tst009_without_repeats_is_conditional() -> None:
    assert _judge(_case("tst009", max_repeats=0), Standard.TST009)[0] is Level.CONDITIONAL


def test_a_fixed_load_complies_with_nothing_and_says_why() -> None:
    spec = FixedLoad.model_validate({"kind": "fixed", "loads": ["50%"], "duration": "60s"})
    case = case_of("mlr", search=spec)
    found = method_of(case).compliance(case, ETHERNET_SIZES, SearchResult())
    assert {each.level for each in found} == {Level.NOT}
    assert found[0].deviations == ("loads are given and no throughput is searched",)


@pytest.mark.parametrize("method", METHODS)
def test_every_standard_is_judged_once_and_what_is_not_perfect_has_a_reason(method: str) -> None:
    case = _case(method)
    found = method_of(case).compliance(case, (), _searched(case, 10**6))
    assert [each.standard for each in found] == list(THROUGHPUT)
    for each in found:
        assert (each.level is Level.UNCONDITIONAL) == (not each.deviations)


def test_every_standard_that_a_result_can_name_is_explained() -> None:
    assert set(STANDARDS) == set(Standard)


def _level(*flags: Flag, level: Level = Level.UNCONDITIONAL) -> tuple[Level, tuple[str, ...]]:
    given = Compliance(standard=Standard.RFC9971, level=level, deviations=())
    (found,) = qualified((given,), flags)
    return found.level, found.deviations


def test_nothing_that_is_suspect_complies_unconditionally() -> None:
    """Whoever says it: later trials, the machine, or a trial whose numbers stand as they are."""
    assert _level() == (Level.UNCONDITIONAL, ())
    assert _level(Flag.SPORADIC_LOSS) == (Level.UNCONDITIONAL, ()), "a note is no reservation"
    for flag in (Flag.UNSTABLE, Flag.CHANGED_SINCE, Flag.BUFFERED):
        level, (deviation,) = _level(flag)
        assert level is Level.CONDITIONAL
        assert deviation.startswith(f"{flag.value}: ")
    assert _level(Flag.UNSTABLE, level=Level.NOT)[0] is Level.NOT


@pytest.mark.parametrize("flag", [Flag.SHARED_CPU, Flag.EMULATED])
def test_what_is_functional_only_complies_with_nothing(flag: Flag) -> None:
    level, deviations = _level(flag)
    assert level is Level.NOT
    assert deviations == ("functional only: it says nothing of how fast the switch is",)


@pytest.mark.parametrize(
    ("limit", "level", "deviation"),
    [
        (Limit.UNKNOWN, Level.NOT, "the trials contradict each other, or do not tell"),
        (Limit.HOST, Level.CONDITIONAL, "the host limited the result, not the switch"),
    ],
)
def test_what_limits_a_goal_decides_how_far_it_complies_with_rfc9971(
    limit: Limit, level: Level, deviation: str
) -> None:
    found = _judge(_case("mlr", goals=NDR), Standard.RFC9971, _limited(limit))
    assert found == (level, (f"goal ndr: {deviation}",))
