"""Which case of a run another one is held against, and what is said of the two."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from export_samples import SPEC
from record_samples import case_record, case_start, header, planned, run_end
from series_samples import header as series_header
from stored_runs import RUN, store
from why_samples import BOUND, bound_at, passing

from vsperf.analysis.why import Sentence, Verdict
from vsperf.cli.why_view import show_why, sister_of, why
from vsperf.errors import UsageError
from vsperf.records.files.series import SeriesFile
from vsperf.records.files.view import CaseView, RunView, open_run
from vsperf.records.run import Line, PlannedCase, TrialLine
from vsperf.records.series import Nature, OwnTrial, Quantity, Sample

CYCLES = {"none": 200, "level_1": 300, "level_2": 400}
"""What a frame costs beside each noise."""


def stored(tmp_path: Path, *points: dict[str, str], without: str = "") -> RunView:
    """A run with a case for each point, with two trials each at the load that it came to.

    `without` is the key of the case that came to no result.
    """
    cases, lines = list[PlannedCase](), list[Line]()
    for point in points:
        key = "-".join(point.values())
        cases.append(planned(1, key=key, id=key, label=key, point=point, spec=SPEC))
        lines.append(case_start(key))
        for index in (1, 2):
            trial = passing(CYCLES[point.get("noise", "none")] + index).model_copy(
                update={"index": index}
            )
            lines.append(TrialLine(case=key, trial=trial))
        result = None if key == without else bound_at(BOUND)
        lines.append(case_record(key, result=result))
    head = header(RUN).model_copy(update={"cases": tuple(cases)})
    return open_run(store(tmp_path, RUN, [head, *lines, run_end()]))


def grid(noises: tuple[str, ...], collects: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"noise": noise, "collect": collect} for noise, collect in product(noises, collects)]


def of(run: RunView, key: str) -> CaseView:
    return next(case for case in run.cases() if case.key == key)


def sister(run: RunView, key: str) -> str | None:
    found = sister_of(run, of(run, key))
    return None if found is None else found.planned.key


MISSES = {"none": 0.1, "level_1": 2.0}
"""Misses of the last-level cache for a frame."""


def with_perf(run: RunView, count: int) -> RunView:
    """Store what perf counted in so many trials of its own for each case."""
    misses = Quantity(name="llc_misses", unit="1", nature=Nature.TOTAL)
    for case in run.cases():
        key = case.planned.key
        changes = {"case": key, "run": run.run, "heavy": True, "quantities": (misses,)}
        file = SeriesFile.begin(run.folder, series_header("perf").model_copy(update=changes))
        for index in range(1, count + 1):
            own = passing(index=index)
            counted = {"llc_misses": round(MISSES[key] * own.received_frames) + index}
            seen = Sample(trial=index, at_ns=index, of="switch", values=counted)
            file.append(seen, OwnTrial(trial=own))
    return run


def cost(sentences: tuple[Sentence, ...]) -> Sentence:
    (one,) = [one for one in sentences if one.resource == "the cost of a frame"]
    return one


@pytest.fixture(name="both")
def fixture_both(tmp_path: Path) -> RunView:
    """Noise and collecting, each with each; a case that is louder comes first."""
    return stored(tmp_path, *grid(("level_2", "level_1", "none"), ("proc", "none")))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("level_1-proc", "none-proc"),
        ("level_1-none", "none-none"),
        ("level_2-none", "none-none"),
        ("none-proc", "none-none"),
        ("none-none", None),
    ],
)
def test_the_sister_is_quiet_in_the_one_thing_that_differs(
    both: RunView, case: str, expected: str | None
) -> None:
    assert sister(both, case) == expected


def test_a_word_that_is_quiet_in_both_makes_no_sister_quiet(tmp_path: Path) -> None:
    run = stored(tmp_path, *grid(("level_2", "level_1"), ("none",)))
    assert sister(run, "level_1-none") is None


def test_cases_that_differ_in_two_things_are_no_sisters(tmp_path: Path) -> None:
    quiet = {"noise": "none", "collect": "none"}
    run = stored(tmp_path, {"noise": "level_1", "collect": "proc"}, quiet)
    assert sister(run, "level_1-proc") is None


def test_what_is_measured_makes_no_sister(tmp_path: Path) -> None:
    run = stored(tmp_path, {"traffic": "some"}, {"traffic": "none"})
    assert sister(run, "some") is None


def test_one_without_a_result_is_passed_over(tmp_path: Path) -> None:
    points = grid(("level_1", "none"), ("proc", "none"))
    run = stored(tmp_path, *points, without="none-proc")
    assert sister(run, "level_1-proc") == "level_1-none"


def test_a_case_is_held_against_its_sister(both: RunView) -> None:
    _, found = why(both, of(both, "level_1-proc"))
    one = cost(found)
    assert one.verdict is Verdict.FULL
    assert "302 (301 to 302 in 2 trials)" in one.text
    assert "202 (201 to 202 in 2 trials) at 1.000 Mfps in none-proc (+50%)" in one.text


@pytest.mark.parametrize(
    ("trials", "verdict", "words"),
    [
        (1, Verdict.UNKNOWN, "a single trial cannot tell"),
        (2, Verdict.FULL, "in 2 trials) at 1.000 Mfps in none (+1900%)"),
        (3, Verdict.FULL, "in 3 trials) at 1.000 Mfps in none (+1900%)"),
    ],
)
def test_misses_of_the_cache_are_judged_where_both_have_more_than_a_single_trial(
    tmp_path: Path, trials: int, verdict: Verdict, words: str
) -> None:
    run = with_perf(stored(tmp_path, {"noise": "level_1"}, {"noise": "none"}), trials)
    _, found = why(run, of(run, "level_1"))
    (one,) = [one for one in found if one.resource == "the last-level cache"]
    assert one.verdict is verdict
    assert words in one.text


def test_one_that_is_quiet_itself_is_held_against_none(both: RunView) -> None:
    _, found = why(both, of(both, "none-none"))
    assert cost(found).verdict is Verdict.UNKNOWN
    assert "quiet" in cost(found).text


def test_programs_read_the_same(both: RunView, capsys: pytest.CaptureFixture[str]) -> None:
    show_why(both, of(both, "level_1-proc"), as_json=True)
    rows = json.loads(capsys.readouterr().out)["sentences"]
    assert rows[0]["resource"] == "the cost of a frame" and "none-proc" in rows[0]["text"]


def test_of_a_case_without_a_result_it_says_where_its_trials_are(tmp_path: Path) -> None:
    run = stored(tmp_path, {"noise": "none"}, without="none")
    with pytest.raises(UsageError) as refused:
        why(run, of(run, "none"))
    (problem,) = refused.value.problems
    assert problem.fix == f"look at its trials: vsperf show {RUN} none"
