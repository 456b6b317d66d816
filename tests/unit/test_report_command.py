"""`vsperf report` and `vsperf run --report`, as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored_runs import RUN, store_finished

from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode


def test_a_report_is_written_where_it_is_wanted_and_says_how_it_came_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_finished(tmp_path)
    target = tmp_path / "page.html"
    assert run_cli(["report", "k7f3", "--results", str(tmp_path), "-o", str(target)]) == ExitCode.OK
    assert RUN in target.read_text()
    assert f"report: {target} (PASS, SIMULATED; " in capsys.readouterr().err


def test_markdown_goes_to_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store_finished(tmp_path)
    argv = ["report", "k7f3", "--results", str(tmp_path), "--format", "md", "-o", "-"]
    assert run_cli(argv) == ExitCode.OK
    assert capsys.readouterr().out.startswith("## PASS: ")


def test_a_run_whose_report_has_no_format_is_refused_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["run", "--report", "phy2phy_smoke", "--testbed", "sim", "--results", str(tmp_path)]
    assert run_cli(argv) == ExitCode.BAD_INPUT
    assert "does not say what the report is to be" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_run_writes_its_report_beside_its_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["run", "phy2phy_smoke", "--testbed", "sim", "--results", str(tmp_path), "--report"]
    assert run_cli([*argv, "--progress", "quiet"]) == ExitCode.OK
    assert "SIMULATED" in (tmp_path / "latest" / "report.html").read_text()
