"""Runs that were interrupted, finished, written by another process or by a newer vsperf."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from cli_shell import SMOKE, Shell, fixture_vsperf

from vsperf.errors import ExitCode
from vsperf.record.base import SCHEMA_VERSION
from vsperf.record.flags import Flag
from vsperf.store.folders import RECORDS, run_folders

__all__ = ["fixture_vsperf"]  # a fixture is found by its name in the module


def test_ctrl_c_keeps_what_was_measured_and_resume_finishes_it(vsperf: Shell) -> None:
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        slow = ("--set", "generator.realtime=1", "--progress", "json", "--repeat", "2")
        process = vsperf.start(*SMOKE, *slow)
        assert process.stderr is not None
        for line in process.stderr:
            if "TrialFinished" in line:
                break
        process.send_signal(number)
        out, err = process.communicate()
        assert process.returncode == code
        assert "Traceback" not in err
        assert "ABORTED" in out
        assert "go on with: vsperf run --resume" in out
        run = vsperf("show", "latest", "--json").data
        assert run["state"] == "interrupted"
        assert "ABORTED" in vsperf("results", "--outcome", "aborted").out
        assert f"vsperf run --resume {run['run']}" in vsperf("show", "latest").out
        finished = vsperf("run", "--resume", "latest", "--json")
        assert finished.code == ExitCode.OK
        assert finished.data["run"] == run["run"]
        assert [case["outcome"] for case in finished.data["cases"]] == ["PASS", "PASS"]


@pytest.mark.everyday
def test_a_run_that_is_being_written_is_not_resumed_by_a_second_process(vsperf: Shell) -> None:
    process = vsperf.start(
        *SMOKE, "--set", "generator.realtime=1", "--repeat", "9", "--progress", "json"
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "TrialFinished" in line:
            break
    ended = vsperf("run", "--resume", "latest")
    assert ended.code == ExitCode.NOT_READY
    assert "is being written" in ended.err
    process.kill()
    process.communicate()


def busy_but_the_last(records: Path) -> None:
    """Have a run killed in its last case, and its machine too busy in all before."""
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    (*_, last) = (number for number, line in enumerate(lines) if line["type"] == "case-start")
    for line in lines[:last]:
        if line["type"] == "case":
            line["flags"] = [Flag.TOO_BUSY]
    records.write_text("".join(f"{json.dumps(line)}\n" for line in lines[: last + 1]))


@pytest.mark.everyday
def test_a_resumed_run_is_judged_by_the_machine_of_all_its_cases(vsperf: Shell) -> None:
    assert vsperf(*SMOKE, "--repeat", "3").code == ExitCode.OK
    (folder,) = run_folders(vsperf.folder / "results")
    busy_but_the_last(folder / RECORDS)
    assert vsperf("run", "--resume", "latest").code == ExitCode.INVALID_RESULT
    assert "machine: too busy to tell: in 2 of 3 cases" in vsperf("show", "latest").out


@pytest.mark.everyday
def test_a_finished_run_has_nothing_to_resume(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    ended = vsperf("run", "--resume", "latest")
    assert ended.code == ExitCode.BAD_INPUT
    assert "finished" in ended.err


@pytest.mark.everyday
def test_records_of_a_newer_vsperf_are_refused_with_a_hint(vsperf: Shell) -> None:
    vsperf(*SMOKE)
    (folder,) = run_folders(vsperf.folder / "results")
    records = folder / RECORDS
    text = records.read_text()
    records.write_text(text.replace(f'"schema_version":{SCHEMA_VERSION}', '"schema_version":99', 1))
    ended = vsperf("show", "latest")
    assert ended.code == ExitCode.BAD_INPUT
    assert "newer" in ended.err and "99" in ended.err
