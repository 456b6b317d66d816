"""Limits, reasons, flags and standards are what trials come to, by a program of its own."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from conftest import REPOSITORY
from coverage import CAP, searched
from coverage_models import LINE_RATE, MODELS
from record_samples import case_record, goal, goal_result, planned, view_of
from record_samples import trial as recorded
from reread_shown import latency_differs, own_latency, own_lossless, shown_differs
from reread_verdicts import (
    Around,
    count_differs,
    goals_of_case,
    outcome_differs,
    standings_of,
    trials_differ,
    verdicts_of,
)
from search_models import lossy, trial, way
from slot_samples import in_slots

from vsperf.analysis.summary import CaseRow
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.view import views
from vsperf.records.flags import Flag
from vsperf.records.result import Compliance, GoalResult, Level, Limit, SearchResult, Standard
from vsperf.records.run import Check, Outcome
from vsperf.records.trial import Trial

AROUND = Around(CAP, LINE_RATE, switched=True)
SEARCH: dict[str, Any] = {
    "kind": "rfc2544",
    "goals": {"ndr": {"loss_ratio": "0"}},
    "duration": "60s",
}
LOST = "at 2.000 kfps the switch lost 12,000 of 120,000 frames from phy0 to phy1 (10%)"
MADE = (lossy(1_000, 60), lossy(2_000, 60, Fraction(1, 10)), lossy(3_000, 60, Fraction(1, 2)))
FOUND = goal(1_000, 2_000, reason=LOST)


def told(goal: GoalResult, *made: Trial, around: Around = AROUND, **changes: Any) -> list[str]:
    """Say what of a verdict does not follow."""
    result = SearchResult(goals=(goal.model_copy(update=changes),))
    found = goals_of_case(SEARCH, made or MADE, result, around)
    return [text for _, against in found for text in against]


def test_a_verdict_that_follows_from_its_trials_is_let_stand() -> None:
    assert told(FOUND) == []


@pytest.mark.parametrize("limit", [one for one in Limit if one is not Limit.DUT])
def test_any_other_limit_is_told(limit: Limit) -> None:
    assert any(
        text.startswith(f"limit printed {limit}, by its trials")
        for text in told(FOUND, limit=limit)
    )


def test_a_limit_is_the_generators_near_its_cap_or_where_no_switch_is() -> None:
    for around in (replace(AROUND, cap_fps=1_040), replace(AROUND, switched=False)):
        assert told(FOUND, around=around) == ["limit printed dut, by its trials generator"]
        assert told(FOUND, around=around, limit=Limit.GENERATOR) == []


def test_an_answer_without_an_upper_bound_ended_at_the_top_of_something() -> None:
    passed = {"upper_fps": None, "reason": "all passed"}
    made = MADE[:1]
    for limit, around in (
        (Limit.LINK, replace(AROUND, line_fps=1_000)),
        (Limit.GENERATOR, replace(AROUND, cap_fps=1_000)),
        (Limit.SETTING, replace(AROUND, cap_fps=None)),
    ):
        assert told(FOUND, *made, around=around, limit=limit, **passed) == []
        (text,) = told(FOUND, *made, around=around, limit=Limit.DUT, **passed)
        assert text == f"limit printed dut, by its trials {limit}"


def test_counts_in_a_reason_are_those_of_its_trials() -> None:
    (text,) = told(FOUND, reason=LOST.replace("12,000", "11,999"))
    assert text == "reason says lost 11,999 of 120,000 frames from, and no trial there did"
    (text,) = told(FOUND, reason=f"{LOST}; below 2.000 kfps: 1 of 3 passed")
    assert text == "reason says below 2.000 kfps: 1 of 3 passed, by its trials 0 of 1"


def test_flags_on_an_answer_follow_from_its_trials() -> None:
    for flag in (Flag.UNSTABLE, Flag.LOSS_INVERSION, Flag.CONSTANT_LOSS):
        assert told(FOUND, flags=(flag,)) == [f"{flag.value} is said"]
    again = (*MADE, lossy(2_000, 60), lossy(4_000, 60))
    assert told(FOUND, *again) == ["unstable is not said", "loss-inversion is not said"]


def test_what_stops_a_search_is_said_of_its_answer() -> None:
    assert "out-of-budget is not said" in told(FOUND, limit=Limit.BUDGET)


def test_what_too_little_time_speaks_for_counts_where_the_time_ended_alone() -> None:
    """One second of five at a load is no bound, so what limited it there limited no answer."""
    search = {
        "kind": "mlr",
        "goals": {"ndr": {"loss_ratio": "0"}},
        "exceed_ratio": "50%",
        "final_duration": "1s",
        "duration_sum": "5s",
    }
    short = trial(1_500, NANOSECONDS, [way(1_500, unsent=150)])
    made = [*[lossy(1_000, 1)] * 5, *[lossy(2_000, 1, Fraction(1, 10))] * 5, short]

    def against(**changes: Any) -> list[str]:
        goal = FOUND.model_copy(update={"limit": Limit.GENERATOR, "reason": "", **changes})
        found = goals_of_case(search, made, SearchResult(goals=(goal,)), AROUND)
        return [text for _, said in found for text in said]

    assert against() == ["limit printed generator, by its trials dut"]
    assert against(flags=(Flag.OUT_OF_BUDGET,)) == []


def test_where_the_time_ended_a_load_that_failed_in_unclean_time_limits_nothing() -> None:
    """Nor does the budget: more time of that kind would have told no more."""
    failing = in_slots(2_000, 60 * NANOSECONDS, 1_000, gaps=9_000, lost_in_gaps=9, own_loss=0)
    changes: dict[str, Any] = {"flags": (Flag.OUT_OF_BUDGET,), "reason": "the time ended"}
    by_budget = told(FOUND, MADE[0], failing, limit=Limit.BUDGET, **changes)
    assert len(by_budget) == 1
    assert by_budget[0].startswith("limit printed budget, by its trials ")
    assert told(FOUND, MADE[0], failing, limit=Limit.UNKNOWN, **changes) == []
    assert told(FOUND, limit=Limit.BUDGET, **changes) == []


# Standards and outcomes, by what else a record says.


def stands(level: Level, *deviations: str, goal: GoalResult = FOUND, **changes: Any) -> list[str]:
    """Say what a record has against a statement of compliance with RFC 2544."""
    one = Compliance(standard=Standard.RFC2544, level=level, deviations=deviations)
    result = SearchResult(goals=(goal,))
    record = case_record("one", **{"result": result, "compliance": (one,), **changes})
    return [text for _, against in standings_of(record, SEARCH) for text in against]


def test_a_statement_has_the_deviations_that_its_level_names() -> None:
    assert stands(Level.UNCONDITIONAL) == []
    assert stands(Level.CONDITIONAL, "one direction") == []
    assert stands(Level.CONDITIONAL) == ["conditionally compliant with 0 deviations"]
    assert stands(Level.UNCONDITIONAL, "one direction") == [
        "unconditionally compliant with 1 deviations"
    ]


def test_nothing_that_is_doubted_or_not_the_switchs_complies() -> None:
    suspect = stands(Level.UNCONDITIONAL, flags=(Flag.UNSTABLE,))
    assert suspect == ["unconditionally compliant, with unstable"]
    functional = stands(Level.CONDITIONAL, "emulated", flags=(Flag.EMULATED,))
    assert functional == ["conditionally compliant, and functional only: emulated-guest"]
    host = FOUND.model_copy(update={"limit": Limit.HOST})
    assert stands(Level.UNCONDITIONAL, goal=host) == [
        "unconditionally compliant, and limited by host"
    ]
    assert stands(Level.NOT, "limited by the host", goal=host) == []
    assert stands(Level.UNCONDITIONAL, outcome=Outcome.INVALID) == [
        "unconditionally compliant, and the case is INVALID"
    ]


def test_an_outcome_is_what_criteria_come_to() -> None:
    missed = (Check(criterion="ndr", met=False, found="less"),)
    assert list(outcome_differs(case_record("one"))) == []
    assert list(outcome_differs(case_record("one", checks=missed))) == [
        "PASS, and a criterion or an answer is not"
    ]
    assert list(outcome_differs(case_record("one", outcome=Outcome.FAIL))) == [
        "FAIL, and no criterion was missed"
    ]
    assert list(outcome_differs(case_record("one", limit=Limit.HOST))) == [
        "limit of the case host, of its first answer dut"
    ]
    unknown = SearchResult(goals=(FOUND.model_copy(update={"limit": Limit.UNKNOWN}),))
    assert list(outcome_differs(case_record("one", result=unknown, limit=Limit.UNKNOWN))) == [
        "PASS, and nobody can tell what limited an answer"
    ]
    invalid = goal_result().model_copy(update={"flags": (Flag.RX_EXCEEDS_TX,)})
    result = SearchResult(goals=(invalid,))
    assert list(outcome_differs(case_record("one", result=result))) == [
        "PASS, and a criterion or an answer is not"
    ]


def test_how_many_trials_a_case_took_is_what_is_stored() -> None:
    def told(trials: int) -> list[str]:
        record = case_record("one", trials=trials)
        return list(count_differs(view_of(planned(), record, [recorded(1), recorded(2)])))

    assert told(2) == []
    assert told(0) == ["printed 0, of 2 that are stored"]
    assert told(3) == ["printed 3, of 2 that are stored"]


# What trials say of themselves.


def test_flags_of_a_trial_are_what_was_counted() -> None:
    fine = recorded()
    assert list(trials_differ([fine])) == []
    way = fine.directions[0]
    more = way.model_copy(update={"received_frames": way.sent_frames + 1})
    made = fine.model_copy(update={"directions": (more, fine.directions[1])})
    assert list(trials_differ([made])) == [
        "trial 1: rx-exceeds-tx is not said, and counts say otherwise"
    ]
    doubted = fine.model_copy(update={"flags": (Flag.NOTHING_SENT,)})
    assert list(trials_differ([doubted])) == [
        "trial 1: nothing-sent is said, and counts say otherwise"
    ]


def test_a_trial_repeats_one_that_came_before_and_does_not_stand() -> None:
    first, again = recorded(1), recorded(2, retry_of=1)
    assert list(trials_differ([first, again])) == ["trial 2 repeats 1, which stands or came later"]


# Whole cases: of models, and as they were stored.


def test_verdicts_on_a_model_are_wrong_with_any_other_limit() -> None:
    ideal = next(one for one in MODELS if one.name == "ideal")
    run = searched("quick", ideal, 0)
    assert run is not None
    search, result, made = run
    goal = result.goals[0]
    for limit in (Limit.VNF, Limit.HOST, Limit.UNCOUNTED, Limit.GENERATOR, Limit.LINK):
        other = goal.model_copy(update={"limit": limit})
        changed = result.model_copy(update={"goals": (other, *result.goals[1:])})
        found = dict(goals_of_case(search, made, changed, AROUND))
        assert found[f"{goal.goal} verdict"]


def test_a_flag_that_a_stored_case_has_lost_is_told() -> None:
    folder = REPOSITORY / "tests/golden/records/2026-11-21-phy2phy_smoke-acj4"
    case = next(iter(views(folder)))
    assert case.record is not None
    search = case.planned.spec["search"]
    goals = case.record.result.goals if case.record.result else ()
    flagged = tuple(one.model_copy(update={"flags": (Flag.UNSTABLE,)}) for one in goals)
    assert case.record.result is not None
    result = case.record.result.model_copy(update={"goals": flagged})
    record = case.record.model_copy(update={"result": result, "flags": ()})
    found = dict(verdicts_of(replace(case, record=record), search))
    assert bool(goals) == any("unstable" in one for one in found["flags of the case"])
    record = case.record.model_copy(update={"clean_share": "1/7"})
    found = dict(verdicts_of(replace(case, record=record), search))
    assert any(one.startswith("clean share printed 1/7") for one in found["flags of the case"])


# What outputs show beside a record.


def test_latency_and_frames_without_loss_are_those_of_trials_at_the_answer() -> None:
    folder = REPOSITORY / "tests/golden/records/2026-11-20-phy2phy_tput-gxq9"
    case = next(iter(views(folder)))
    assert case.record is not None
    assert case.record.result is not None
    goals, row = case.record.result.goals, CaseRow.of(case)
    assert dict(shown_differs(case)) == {"latency at its loads": (), "frames without loss": ()}
    own = own_latency(goals, case.trials)
    later = {
        percentile: time_ns + 1 for percentile, time_ns in row.latency[0].percentiles_ns.items()
    }
    changed = (replace(row.latency[0], percentiles_ns=later), *row.latency[1:])
    assert len(list(latency_differs(changed, own))) == len(later)
    (missing,) = latency_differs(row.latency[1:], own)
    assert missing.startswith("printed at ")
    moved = [one.model_copy(update={"lower_fps": (one.lower_fps or 0) // 2}) for one in goals]
    assert own_latency(moved, case.trials) == []
    assert own_lossless(moved, case.trials) == {}
