"""Labels are what a user calls a run: checked when given, stored, found again, and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from record_samples import header, planned
from stored_runs import finished, store

from vsperf.errors import UsageError
from vsperf.record.labels import MOST_CHARACTERS, parse_labels
from vsperf.record.run import LINE, RunHeader
from vsperf.store.index import Filter, Index
from vsperf.store.view import open_run

LABELS = {"build": "nightly 412", "revision": "4f2c1ab"}


def test_labels_are_sorted_by_name_and_stripped() -> None:
    assert parse_labels(["revision = 4f2c1ab", "build=nightly 412"]) == LABELS
    assert list(parse_labels(["b=2", "a=1"])) == ["a", "b"]


def test_a_value_may_hold_what_a_name_may_not() -> None:
    assert parse_labels(["url=https://ci.example/?job=3&x=µ"]) == {
        "url": "https://ci.example/?job=3&x=µ"
    }


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["revision"], "'revision' has no value"),
        (["revision="], "'revision' has no value"),
        (["=4f2c1ab"], "'' cannot be the name"),
        (["git revision=1"], "'git revision' cannot be the name"),
        (["1st=1"], "'1st' cannot be the name"),
        (["ä=1"], "'ä' cannot be the name"),
        (["x" * 64 + "=1"], "cannot be the name"),
        (["a=\x1b[31m"], "'a' has a value that cannot be kept"),
        (["a=one\ntwo"], "'a' has a value that cannot be kept"),
        (["a=\udcff"], "'a' has a value that cannot be kept"),
        (["a=" + "x" * (MOST_CHARACTERS + 1)], "'a' has a value that cannot be kept"),
        (["a=1", "a=2"], "'a' is given twice"),
    ],
)
def test_a_bad_label_is_refused_with_what_would_be_a_good_one(given: list[str], what: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_labels(given)
    (problem,) = caught.value.problems
    assert what in problem.what
    assert problem.fix


def test_a_header_keeps_labels_and_refuses_names_that_no_command_line_lets_pass() -> None:
    line = header(labels=LABELS)
    assert LINE.validate_json(LINE.dump_json(line), strict=True) == line
    with pytest.raises(ValueError, match="labels"):
        RunHeader.model_validate({**line.model_dump(), "labels": {"a b": "1"}})


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> Path:
    """Two runs with labels and one without."""
    ids = ["2026-11-20-a-aaaa", "2026-11-20-b-bbbb", "2026-11-20-c-cccc"]
    for run, labels in zip(ids, [LABELS, {**LABELS, "revision": "x"}, {}], strict=True):
        store(tmp_path, run, finished(header(run, labels=labels)))
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["cccc", "bbbb", "aaaa"]),
        ({"build": "nightly 412"}, ["bbbb", "aaaa"]),
        (LABELS, ["aaaa"]),
        ({"build": "nightly"}, []),
        ({"other": "4f2c1ab"}, []),
        ({"build": "' OR 1=1 --"}, []),
    ],
)
def test_runs_and_cases_are_found_by_all_labels_that_are_asked_for(
    results: Path, wanted: dict[str, str], expected: list[str]
) -> None:
    with Index.open(results) as index:
        index.refresh()
        asked = Filter(labels=tuple(wanted.items()))
        runs, cases = index.runs(asked), index.cases(asked)
    assert [entry.run[-4:] for entry in runs] == expected
    assert {entry.run[-4:] for entry in cases} == set(expected)
    assert all(case.labels.items() >= wanted.items() for case in cases)
    told = json.loads(json.dumps([run.as_json() for run in runs]))
    assert [run["labels"] for run in told] == [run.labels for run in runs]


def test_a_name_with_dots_is_a_name_and_no_path(tmp_path: Path) -> None:
    run = "2026-11-20-a-aaaa"
    store(tmp_path, run, finished(header(run, labels={"ci.job": "7"})))
    with Index.open(tmp_path) as index:
        index.refresh()
        assert len(index.runs(Filter(labels=(("ci.job", "7"),)))) == 1


def test_readers_see_the_labels_with_each_case(results: Path) -> None:
    run = open_run(results / "2026-11-20-a-aaaa")
    assert run.labels == LABELS
    assert [case.labels for case in run.cases()] == [LABELS] * len(header().cases)


def test_a_run_without_labels_has_none(tmp_path: Path) -> None:
    folder = store(tmp_path, "r", [header("r", cases=0).model_copy(update={"cases": (planned(),)})])
    assert open_run(folder).labels == {}
