"""The report of a loss curve: a line for each load, and loss over load as its chart."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from record_samples import view_of

from vsperf.analysis.summary import CaseRow
from vsperf.cli.main import run_cli
from vsperf.output.report.overview import trust_of
from vsperf.output.report.write import write_html, write_markdown
from vsperf.records.files.view import RunView, open_run
from vsperf.records.meaning import LIMITED_BY
from vsperf.records.result import Limit


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
    cell = page.results.texts[0][page.results.names.index("limited by")]
    told = [LIMITED_BY[load.limit].removeprefix("the ") for load in case.result.loads]
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
    assert "lower limit only" in said[0]
    assert "lower limit only" not in said[1]
