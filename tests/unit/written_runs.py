"""Runs as the writer leaves them: finished, and interrupted."""

from __future__ import annotations

from pathlib import Path

from record_samples import (
    case_lines,
    case_start,
    header,
    making,
    run_lines,
    trial_line,
)

from vsperf.records.files.writer import RunWriter

TESTCASES = ("phy2phy_tput",)


def write_run(results: Path, trials: int = 3, cases: int = 2) -> Path:
    """Write a finished run and return its folder."""
    with RunWriter.create(results, TESTCASES, making(cases=cases)) as writer:
        for line in run_lines(header(writer.run, cases=cases), trials):
            writer.append(line)
    return writer.folder


def interrupted_run(results: Path) -> Path:
    """Write a run whose second case was interrupted after a trial."""
    with RunWriter.create(results, TESTCASES, making()) as writer:
        first, second = (case.key for case in header().cases)
        for line in (*case_lines(first), case_start(second), trial_line(second)):
            writer.append(line)
    return writer.folder
