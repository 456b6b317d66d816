"""What is said around the tables of a run, where a record of others holds more than one reads."""

from __future__ import annotations

from pathlib import Path

from export_samples import one_case

from vsperf.cli.notes import MOST_WARNINGS, notes
from vsperf.stats.summary import CaseRow


def test_of_many_warnings_the_first_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    run = one_case(tmp_path, warnings=tuple(f"warning {n}" for n in range(50_000)))
    rows = [CaseRow(case.planned, case.record, latency=()) for case in run.cases()]
    shown = [line.plain for line in notes(rows, simulated=False) if line.plain.startswith("! ")]
    assert shown[0] == "! warning 0"
    assert len(shown) == MOST_WARNINGS + 1
    assert shown[-1].startswith(f"! and {50_000 - MOST_WARNINGS:,} more")
