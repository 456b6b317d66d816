"""What is said of stored runs can be acted on: commands work, and rows can be told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_samples import header
from stored_runs import store

from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode
from vsperf.records.files.folders import RECORDS, lock

SHORT = ["--testbed", "sim", "--progress", "quiet", "--set", "traffic.frame_size=64B"]


def test_the_command_that_goes_on_with_a_run_looks_where_the_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--results", str(tmp_path)]
    assert run_cli(["run", "phy2phy_smoke", *SHORT, *where]) == ExitCode.OK
    folder = (tmp_path / "latest").resolve()
    lines = (folder / RECORDS).read_text().splitlines(keepends=True)
    (folder / RECORDS).write_text("".join(lines[:4]))  # killed in its case
    run = folder.name
    capsys.readouterr()
    assert run_cli(["show", run, *where]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert f"  vsperf run --resume {run} --results {tmp_path}" in lines, "a line of its own"
    monkeypatch.setenv("VSPERF_RESULTS", str(tmp_path))
    assert run_cli(["show", run]) == ExitCode.OK
    assert f"  vsperf run --resume {run}" in capsys.readouterr().out.splitlines()


def test_a_run_in_which_nothing_ended_has_no_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = header("2026-11-22-phy2phy_tput-cccc")
    store(tmp_path, begun.run, [begun])
    assert run_cli(["results", "--results", str(tmp_path)]) == ExitCode.OK
    (row,) = (line for line in capsys.readouterr().out.splitlines() if begun.run in line)
    assert "0.0 s" not in row


def test_repeats_of_a_case_have_their_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--results", str(tmp_path)]
    assert run_cli(["run", "phy2phy_smoke", *SHORT, "--repeat", "2", *where]) == ExitCode.OK
    capsys.readouterr()
    assert run_cli(["results", "latest", *where]) == ExitCode.OK
    listed = capsys.readouterr().out
    assert "phy2phy_smoke-64B #1 " in listed
    assert "phy2phy_smoke-64B #2 " in listed


def test_an_export_of_a_run_that_goes_on_says_so_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = header("2026-11-22-phy2phy_tput-cccc")
    folder = store(tmp_path, begun.run, [begun])
    still = f"{begun.run} is still running: this holds what was stored by now"
    where = ["--results", str(tmp_path), "-o", str(tmp_path / "made")]
    with (folder / RECORDS).open("rb") as written:
        assert lock(written.fileno(), exclusive=True, wait_s=0)
        for form in ("json", "prometheus", "influx"):
            assert run_cli(["export", form, begun.run, *where]) == ExitCode.OK
            assert capsys.readouterr().err.splitlines().count(still) == 1
    assert run_cli(["export", "json", begun.run, *where]) == ExitCode.OK
    assert still not in capsys.readouterr().err
