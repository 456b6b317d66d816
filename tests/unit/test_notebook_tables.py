"""What a notebook works with: tables with units in their names, objects that show themselves."""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from record_samples import case_record, case_start, header, planned, run_end, trial
from stored_runs import RUN, store, store_finished

import vsperf.notebook as r
from vsperf.errors import StoreError, UsageError
from vsperf.records.run import Outcome, TrialLine

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
GOLDEN = Path(__file__).parents[1] / "golden" / "records"
HOSTILE = "<script>alert(1)</script>"


class Tags(HTMLParser):
    """The elements of a piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> r.Results:
    store_finished(tmp_path)
    return r.open(tmp_path)


def test_cases_are_rows_with_units_in_the_names(results: r.Results) -> None:
    cases = results.cases()
    assert len(cases) == 2
    assert cases["ndr_lower_fps"].tolist() == [8_000_000, 8_000_000]
    assert cases["frame_size_bytes"].tolist() == [64, 128]
    assert cases["simulated"].all()
    assert str(cases["finished_at"].dtype) == "datetime64[us, UTC]"


def test_trials_are_rows_of_whole_numbers(results: r.Results) -> None:
    trials = results.trials(RUN)
    assert len(trials) == 6
    assert trials["lost_frames"].dtype == "Int64"
    assert trials["lost_frames"].tolist() == [7, 0, 7, 7, 0, 7]


def test_what_was_not_measured_is_missing_and_not_zero(results: r.Results) -> None:
    assert results.trials()["latency_p99_ns"].isna().all()
    assert results.trials()["duplicate_frames"].isna().all()


def test_a_run_that_never_began_has_cases_and_no_trials(tmp_path: Path) -> None:
    head = header()
    store(tmp_path, head.run, [head])
    book = r.open(tmp_path)
    assert book.cases()["outcome"].isna().all()
    assert book.trials().empty
    assert "ndr" not in " ".join(book.cases().columns)
    assert "not run" in book.run()._repr_html_()


def test_no_run_at_all_is_an_empty_table(tmp_path: Path) -> None:
    assert r.open(tmp_path).cases().empty
    assert r.open(tmp_path).runs() == ()


def test_long_trials_have_seconds() -> None:
    seconds = r.open(GOLDEN).run("n10t").seconds()
    assert len(seconds) > 10
    assert set(seconds["direction"]) == {"phy0 to phy1", "phy1 to phy0"}
    assert (seconds["received_frames"] > 0).all()
    assert not seconds["simulated"].any()


def test_records_of_all_kinds_make_tables() -> None:
    book = r.open(GOLDEN)
    assert len(book.cases()) == sum(len(run.view.header.cases) for run in book.runs())
    assert len(book.trials()) == sum(len(c.trials) for run in book.runs() for c in run.view.cases())


def test_runs_cases_and_folders_show_themselves(results: r.Results) -> None:
    run = results.run()
    for shown in (results, run, run.case("phy2phy_tput-64B")):
        assert "SIMULATED" in shown._repr_html_()
        assert "table" in Tags(shown._repr_html_()).found
    assert "phy2phy_tput-64B" in repr(run.case("phy2phy_tput-64B"))
    assert "SIMULATED" in repr(run)


def test_hostile_text_is_shown_and_not_run(tmp_path: Path) -> None:
    case = planned(1, label=HOSTILE)
    head = header(RUN, cases=1, testbed=HOSTILE, labels={"note": HOSTILE})
    head = head.model_copy(update={"cases": (case,)})
    failed = case_record(case.key, outcome=Outcome.ERROR, result=None, reason=HOSTILE)
    store(tmp_path, RUN, [head, case_start(case.key), failed, run_end(4)])
    book = r.open(tmp_path)
    compared = book.compare("latest", "latest")
    for shown in (book, book.run(), book.run().case(HOSTILE), compared):
        assert "script" not in Tags(shown._repr_html_()).found
        assert "alert(1)" in shown._repr_html_()


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_moment_before_or_behind_all_years_is_missing(moment: str, tmp_path: Path) -> None:
    head = header(RUN, cases=1)
    key = head.cases[0].key
    store(tmp_path, RUN, [head, case_start(key), case_record(key, finished_at=moment), run_end()])
    assert r.open(tmp_path).cases()["finished_at"].isna().all()


def test_a_count_that_no_table_of_pandas_can_hold_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    head = header(RUN, cases=1)
    key = head.cases[0].key
    ways = trial().directions[0].model_copy(update={"received_frames": (1 << 64) - 1})
    line = TrialLine(case=key, trial=trial(directions=(ways, ways)))
    store(tmp_path, RUN, [head, case_start(key), line, case_record(key), run_end()])
    with pytest.raises(StoreError, match="no room for"):
        r.open(tmp_path).trials()


def test_what_there_is_not_is_refused(results: r.Results, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        r.open(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="has no case"):
        results.run().case("pvp")
    with pytest.raises(UsageError, match="nothing to compare"):
        results.compare("latest")


def test_changes_and_trends_are_those_of_the_commands(results: r.Results, tmp_path: Path) -> None:
    store_finished(tmp_path, "2026-11-21-phy2phy_tput-aaaa", "2026-11-21T10:00:00Z")
    assert "0 of 2 numbers changed" in repr(results.compare("k7f3", "aaaa"))
    followed = results.trend("phy2phy_tput", "ndr")
    assert [len(one.found.points) for one in followed] == [2, 2]
    assert "SIMULATED" in followed[0]._repr_html_()


def test_what_the_notebooks_of_the_project_import_is_there() -> None:
    """They are executed by a test that is none of every day."""
    found = dict.fromkeys(one for path in NOTEBOOKS.glob("*.ipynb") for one in _imported(path))
    assert ("vsperf.trust", "own_python") in found
    for module, name in found:
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")


def _imported(path: Path) -> Iterator[tuple[str, str]]:
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"]) if cell["cell_type"] == "code" else ""
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from ((node.module, one.name) for one in node.names)
