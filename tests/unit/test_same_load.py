"""One load, one loss, one cap: each reads alike wherever it is told of; only bounds do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from record_samples import case_record, goal, lossy_load, planned, view_of
from search_models import LOADS, trial, way
from simulated_cases import simulated_case
from why_samples import cap, case, passing, said

from vsperf.analysis.answers import headlines, interval, longest_away, most_lost
from vsperf.analysis.summary import CaseRow
from vsperf.analysis.why import explain
from vsperf.cli.progress import trial_line
from vsperf.cli.tables import notes
from vsperf.engine.criteria import check_all
from vsperf.output.report.account import telling
from vsperf.output.report.numbers import numbers_of
from vsperf.quantities.human import human_ns, human_span
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.result import GoalResult, Limit, SearchResult
from vsperf.records.trial import Trial
from vsperf.records.words import meaning
from vsperf.search.classify import DurationRule
from vsperf.search.verdict import Question, answer

LOAD, BELOW = 2_550_613, 2_525_114
"""As loads they read 2.551 and 2.525 Mfps; as bounds 2.550 and up, or up to 2.526."""
LOST, SHARE = 23_046, "0.9035%"
BOUND = "at its lower bound"
"""Of a second at that load: 0.90354%."""
HALF = DurationRule(Fraction(0), Fraction(1, 2), NANOSECONDS, 5 * NANOSECONDS)


def made(load_fps: int, lost: int = 0) -> Trial:
    return trial(load_fps, NANOSECONDS, [way(load_fps, lost)])


def found(*trials: Trial, cap_fps: int = LOAD, complete: bool = True) -> GoalResult:
    loads = replace(LOADS, maximum=cap_fps, generator_cap=cap_fps)
    asked = Question("ndr", HALF, loads, lambda lower, upper: upper - lower < LOAD // 50)
    return answer(asked.ended(complete=complete), trials)


PASSED = [made(LOAD)] * 4 + [made(LOAD, LOST)]
FAILED = [made(BELOW)] * 5 + [made(LOAD, LOST)] * 5


@pytest.mark.parametrize(
    ("goal", "limit"),
    [
        (found(*PASSED), Limit.GENERATOR),
        (found(*PASSED, *[made(LOAD + 10_000, 9)] * 5, cap_fps=LOAD + 20_000), Limit.GENERATOR),
        (found(*FAILED, cap_fps=10**7), Limit.DUT),
        (found(*PASSED, cap_fps=10**7, complete=False), Limit.BUDGET),
    ],
)
def test_a_reason_names_the_load_of_its_trials_as_their_lines_do(
    goal: GoalResult, limit: Limit
) -> None:
    assert goal.limit is limit
    assert "2.551 Mfps" in trial_line(PASSED[0])
    assert "2.551 Mfps" in goal.reason
    assert "2.550" not in goal.reason


def test_an_end_of_an_interval_is_a_bound_and_rounded_away_from_it() -> None:
    assert interval(found(*PASSED)) == "≥ 2.550 Mfps"
    assert interval(found(*FAILED, cap_fps=10**7)) == "2.525 … 2.551 Mfps"


def test_what_the_generator_sent_reads_like_the_cap_that_it_is() -> None:
    answered = SearchResult(goals=(found(*PASSED),))
    at_cap = case(
        passing(load_fps=LOAD), limit=Limit.GENERATOR, result=answered, conditions=cap(LOAD)
    )
    told = said(explain(at_cap), "the generator").text
    assert told.startswith("The generator sent 2.551 Mfps of the 2.551 Mfps ")


def test_a_report_names_loads_and_losses_as_the_terminal_does() -> None:
    result = SearchResult(goals=(found(*PASSED),))
    row = CaseRow(view_of(planned(), case_record("mine", result=result)))
    remark = numbers_of(row, PASSED)[0].remark
    assert remark == f"Of the trials at the lower bound, 4 of 5 lost none, the worst lost {SHARE}."
    told = notes([CaseRow.of(replace(row.view, trials=PASSED))], simulated=False)
    (line,) = (one.plain for one in told if "at its lower bound" in one.plain)
    assert line == f"64B ndr: {remark[0].lower()}{remark[1:-1]}".replace(
        "at the lower bound,", BOUND
    )
    ended = SearchResult(goals=(goal(2_500_000, BELOW),))
    chosen = telling(ended, [made(2_500_000), made(BELOW, LOST)])
    assert chosen is not None
    assert chosen.why == "at 2.525 Mfps, where ndr ends"


def test_where_all_trials_at_the_lower_bound_passed_no_line_says_so() -> None:
    result = SearchResult(goals=(found(*PASSED[:4]),))
    view = view_of(planned(), case_record("mine", result=result), PASSED[:4])
    told = notes([CaseRow.of(view)], simulated=False)
    assert not [one for one in told if "at its lower bound" in one.plain]


def test_of_many_answers_that_mostly_passed_a_few_are_named_and_the_rest_counted() -> None:
    result = SearchResult(goals=(found(*PASSED),))
    rows = [
        CaseRow.of(view_of(planned(number), case_record("mine", result=result), PASSED))
        for number in range(1, 8)
    ]
    short, whole = (
        [one.plain for one in notes(rows, simulated=False, whole=whole)] for whole in (False, True)
    )
    assert sum("at its lower bound" in line for line in short) == 4
    assert "and 3 more: vsperf show RUN CASE" in short
    assert sum("at its lower bound" in line for line in whole) == 7


def test_the_word_says_how_a_load_passes() -> None:
    assert "By RFC 9971 a load passes where most of its time passed" in str(meaning("NDR"))


def test_what_a_load_lost_reads_like_the_line_of_the_trial_that_lost_it() -> None:
    load = lossy_load(f"{LOST}/{LOAD}").model_copy(update={"load_fps": LOAD})
    assert SHARE in trial_line(made(LOAD, LOST))
    assert most_lost(load) == SHARE
    assert headlines(SearchResult(loads=(load,))) == [f"2.551 Mfps: lost {SHARE}"]
    wanted = simulated_case(expect=[{"metric": "loss", "max_loss": "0.5%"}])
    (check,) = check_all(wanted, SearchResult(loads=(load,)), ())
    assert check.found == SHARE


@pytest.mark.parametrize(
    ("outages_ns", "away"),
    [
        ((30_004_000,), "30.00 ms"),
        ((29_996_000, 30_004_000), "30.01 ms"),
        ((30_004_000, None), None),
    ],
)
def test_how_long_frames_stayed_away_reads_like_the_reason_that_tells_of_it(
    outages_ns: tuple[int | None, ...], away: str | None
) -> None:
    """Of several there is a span, whose ends are bounds; of one there is what was found."""
    load = lossy_load("0").model_copy(update={"outages_ns": outages_ns})
    known = [one for one in outages_ns if one is not None]
    assert longest_away(load) == away
    assert away is None or human_span(known, human_ns).endswith(away)
