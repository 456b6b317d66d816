"""Folders of results as runs leave them, laid down all at once, and what an index says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_samples import (
    TIME,
    case_lines,
    case_record,
    case_start,
    header,
    making,
    planned,
    run_end,
    run_lines,
    trial_line,
)

from vsperf.records.files.folders import RECORDS
from vsperf.records.files.index import Index
from vsperf.records.files.writer import RunWriter
from vsperf.records.run import LINE, Line, Outcome, RunHeader

ALL_TABLES = ("runs", "cases")
RUN = "2026-11-20-phy2phy_tput-k7f3"
FIRST = header().cases[0].key


def store(results: Path, run: str, lines: list[Line], tail: bytes = b"") -> Path:
    """Lay down the folder of a run as it would look on disk, all at once."""
    folder, hidden = results / run, results / f".{run}"
    content = b"".join(LINE.dump_json(line) + b"\n" for line in lines) + tail
    if folder.exists():
        (folder / RECORDS).write_bytes(content)
    else:
        hidden.mkdir(parents=True)
        (hidden / RECORDS).write_bytes(content)
        hidden.rename(folder)
    return folder


def finished(head: RunHeader) -> list[Line]:
    return [head, *run_lines(head)]


def store_finished(results: Path, run: str = RUN, started_at: str = TIME) -> Path:
    return store(results, run, finished(header(run, started_at=started_at)))


def refreshed(results: Path) -> Index:
    index = Index.open(results)
    assert index.refresh() == ()
    return index


def everything(results: Path) -> list[object]:
    """All that an index says, read by a fresh one."""
    with Index.open(results) as index:
        return [index.refresh(), index.runs(), index.cases()]


def rows(index: Index) -> list[list[tuple[object, ...]]]:
    return [index._database.execute(f"SELECT * FROM {table}").fetchall() for table in ALL_TABLES]


def rebuilt(results: Path) -> list[list[tuple[object, ...]]]:
    with Index(results, None) as index:
        index.refresh()
        return rows(index)


@pytest.fixture(name="mixed")
def fixture_mixed(tmp_path: Path) -> Path:
    """Three runs that differ in everything a filter can ask for."""
    store_finished(tmp_path, "2026-11-20-phy2phy_tput-aaaa", "2026-11-20T10:00:00.000+00:00")
    run = "2026-11-21-pvp_tput-bbbb"
    pvp = planned(3, key="pvp", label="pvp_tput-1518B", spec={"name": "pvp_tput", "tags": ["vm"]})
    head = header(run, started_at="2026-11-21T10:00:00.000+00:00").model_copy(
        update={"cases": (pvp,), "testbed": "lab", "preset": "tst009", "simulated": False}
    )
    failed = case_record("pvp", outcome=Outcome.FAIL)
    store(tmp_path, run, [head, case_start("pvp"), failed, run_end(1)])
    interrupted = header("2026-11-22-phy2phy_tput-cccc").model_copy(
        update={"started_at": "2026-11-22T00:00:00.000+00:00"}
    )
    store(tmp_path, interrupted.run, [interrupted, case_start(FIRST)])
    return tmp_path


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
