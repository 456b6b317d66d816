"""How a number was computed: counts and shares that are of the same frames."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from export_samples import SPEC
from record_samples import case_record, goal_result, planned, view_of
from search_models import trial, way

from vsperf.analysis.summary import CaseRow
from vsperf.cli.main import run_cli
from vsperf.output.case_tables import rate_columns
from vsperf.output.report.numbers import numbers_of
from vsperf.output.report.verdict import trust_of
from vsperf.output.report.write import write_html, write_markdown
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import RunView, open_run
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.trial import Purpose
from vsperf.records.words import meaning


def test_a_count_of_both_directions_stands_beside_its_own_share() -> None:
    record = case_record("mine")
    assert record.result is not None
    load = record.result.goals[0].lower_fps
    assert load is not None
    made = [trial(load, 10**9, (way(1000, 10), way(1000, name="phy1 to phy0")))]

    how = "\n".join(numbers_of(CaseRow.of(view_of(planned(), record, made)), made)[0].how)

    assert "lost 10 of 2,000, 0.5%; 1% in the worse direction" in how


def test_that_there_is_no_bound_is_not_said_by_the_word_for_no_frame_lost() -> None:
    goal = goal_result(None).model_copy(update={"upper_fps": 9_001})
    row = CaseRow(view_of(planned(), case_record("mine", result=SearchResult(goals=(goal,)))))
    made = [trial(9_001, 10**9, (way(9_001),))]
    lower, upper = (text for text in numbers_of(row, made)[0].how if " bound" in text[:12])
    assert lower == "Lower bound: no answer."
    assert "lost none" in upper


@pytest.mark.parametrize("limit", Limit)
def test_no_limit_promises_an_answer_or_a_passed_trial_that_there_is_not(limit: Limit) -> None:
    """A figure has none from clean time, one that was not measured no trials, and a goal may allow
    loss."""
    found = Figure(name="burst", unit=Unit.FRAMES, value=None, limit=limit, reason="made up")
    record = case_record("mine", result=SearchResult(figures=(found,)))
    (number,) = numbers_of(CaseRow(view_of(planned(), record)), [])
    how = number.how[-1]
    for promise in ("The answer from clean time", "without loss", "The trials contradict"):
        assert promise not in how


def test_of_a_figure_is_told_at_what_it_was_measured_in_words_that_fit_each() -> None:
    at = "bursts at 5.000 Mfps, the cap of the generator"
    found = Figure(name="burst", unit=Unit.FRAMES, value=100, at=at, reason="made up")
    record = case_record("mine", result=SearchResult(figures=(found,)))
    (number,) = numbers_of(CaseRow(view_of(planned(), record)), [])
    assert number.how[-1] == f"Measured at: {at}."


def test_of_a_figure_is_told_what_it_is_where_the_glossary_knows() -> None:
    found = Figure(name="connection_rate", unit=Unit.PER_SECOND, value=100, reason="made up")
    record = case_record("mine", result=SearchResult(figures=(found,)))
    (number,) = numbers_of(CaseRow(view_of(planned(), record)), [])
    assert number.how == (f"Connection rate: {meaning('connection rate')}",)
    assert meaning("connection rate")


def test_of_a_bound_that_is_not_used_nothing_is_computed() -> None:
    def facts(*flags: Flag) -> set[str]:
        goal = goal_result().model_copy(update={"flags": flags})
        record = case_record("mine", result=SearchResult(goals=(goal,)))
        (number,) = numbers_of(CaseRow(view_of(planned(spec=SPEC), record)), [])
        assert (number.value == "invalid") == bool(flags)
        return {fact.name for fact in number.facts}

    assert {"of the line rate", "Gbit/s of frames (L2)"} <= facts()
    assert facts(Flag.RX_EXCEEDS_TX) == {"limit"}


@pytest.mark.parametrize(
    ("lower", "upper", "lies"), [(0.8, 0.9, "80% … 90%"), (0, 0.9, "≤ 90%"), (0.8, None, "≥ 80%")]
)
def test_a_comparison_lies_between_two_values_as_far_as_it_has_two(
    lower: float, upper: float | None, lies: str
) -> None:
    found = Figure(name="ratio_b", unit=Unit.FACTOR, value=0.85, lower=lower, upper=upper)
    record = case_record("mine", result=SearchResult(figures=(found,)))
    (number,) = numbers_of(CaseRow(view_of(planned(), record)), [])
    assert {fact.name: fact.value for fact in number.facts} == {"where it lies": lies}


@pytest.mark.parametrize(
    ("lower_fps", "share"), [(14_880_952, "100.0%"), (14_876_488, "99.9%"), (1, "> 0%")]
)
def test_no_rate_is_all_of_the_line_rate_that_leaves_some_of_it(lower_fps: int, share: str) -> None:
    """Of 64 bytes 10 Gbit/s are 14,880,952.38 frames a second, so 14,880,952 whole ones."""
    record = case_record("mine", result=SearchResult(goals=(goal_result(lower_fps),)))
    row = CaseRow(view_of(planned(spec=SPEC), record))
    (number,) = numbers_of(row, [])
    assert {fact.name: fact.value for fact in number.facts}["of the line rate"] == share
    assert rate_columns([row])[0].of(row) == share


def test_trials_on_a_deployment_that_died_say_nothing_for_or_against_an_answer() -> None:
    """Each deployment begins with a look at the path."""
    record = case_record("mine")
    assert record.result is not None
    load = record.result.goals[0].lower_fps
    assert load is not None
    dying = trial(load, 10**9, (way(1000, 10),))
    look, held = (trial(load, 10**9, (way(1000),)) for _ in range(2))
    made = (dying, look.model_copy(update={"purpose": Purpose.PATH_CHECK}), held)

    row = CaseRow.of(view_of(planned(), record, made))
    (number,) = numbers_of(row, made)

    assert row.lossless == {"ndr": 1000}
    assert number.meaning == "highest load without loss, per direction"
    assert {fact.name: fact.value for fact in number.facts}["trials at the lower bound"] == (
        "the one lost none"
    )


# The report of a loss curve: a line for each load, and loss over load as its chart.


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("loss")
    asked = ["phy2phy_loss", "--testbed", "sim", "--set", "traffic.frame_size=64B"]
    assert run_cli(["run", *asked, "--progress", "quiet", "--results", str(results)]) == 0
    return results / "latest"


@pytest.fixture(name="run")
def fixture_run(folder: Path) -> RunView:
    return open_run(folder)


def test_each_load_has_its_own_limit_as_in_the_terminal(folder: Path, run: RunView) -> None:
    page = write_html([folder], io.StringIO(), lambda *_: None)
    (case,) = run.cases()
    assert case.result is not None
    cell = page.results.texts[0][page.results.names.index("limit")]
    told = [load.limit.value for load in case.result.loads]
    assert cell.split("\n") == told
    assert len({*told}) > 1


def test_its_chart_is_loss_over_load(folder: Path) -> None:
    page = write_html([folder], io.StringIO(), lambda *_: None)
    assert page.pictures[0].name == "loss"


def test_in_markdown_every_load_is_a_row(folder: Path, run: RunView) -> None:
    out = io.StringIO()
    write_markdown([folder], out, lambda *_: None)
    (case,) = run.cases()
    assert case.result is not None
    table = out.getvalue().partition("### Results")[2].partition("rates per direction")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) == len(case.result.loads)
    assert all(row.split("|")[2].count("fps") == 1 for row in rows)
    assert len({row.count("|") for row in rows}) == 1


def test_what_lies_below_all_loads_is_not_called_a_lower_limit(run: RunView) -> None:
    (case,) = run.cases()
    assert case.record is not None and case.record.result is not None
    (first, *others) = case.record.result.figures
    record = case.record.model_copy(update={"limit": Limit.GENERATOR, "flags": ()})
    none = first.model_copy(update={"value": None, "lower": None, "upper": 5.0, "reason": "all"})
    result = case.record.result.model_copy(update={"figures": (none, *others)})
    below = record.model_copy(update={"result": result})
    rows = [CaseRow(view_of(case.planned, one)) for one in (record, below)]
    said = [trust_of([row], (), simulated=False) for row in rows]
    assert "lower bound only" in said[0]
    assert "lower bound only" not in said[1]
