"""`vsperf results` at 80 columns: when, how long, what was found and how it ended, nothing cut."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from record_samples import case_record, case_start, header, run_end
from stored_runs import refreshed, store, store_finished

from vsperf.cli.commands.results import _cases, _runs
from vsperf.cli.tables import print_table
from vsperf.cli.terminal import PlainConsole
from vsperf.output.table import Table
from vsperf.records.run import Line, RunResume

LONG = "2026-11-20-phy2phy_tput_mod_vlan_pop-k7f3"
FIRST = header().cases[0].key


def shown(table: Table, width: int) -> list[str]:
    out = PlainConsole(stderr=False, width=width)
    out.file = file = io.StringIO()
    print_table(out, table)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_at_80_columns_a_run_is_told_whole(tmp_path: Path) -> None:
    store_finished(tmp_path, LONG)
    with refreshed(tmp_path) as index:
        found = shown(_runs(index.runs(), index), 80)
    assert found == [
        "run, first result                          started  took   testbed  outcome",
        f"{LONG}  10:00    0.0 s  sim      2 PASS",
        "  64B: ndr 8.000 … 8.040 Mfps (SIMULATED)",
    ]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_of_cases_no_result_is_cut_at_any_width(tmp_path: Path, width: int) -> None:
    store_finished(tmp_path, LONG)
    store_finished(tmp_path, f"{LONG[:-4]}m4xq")
    with refreshed(tmp_path) as index:
        found = shown(_cases(index.cases()), width)
    text = "\n".join(found)
    assert max(map(len, found)) <= width
    assert text.count("ndr 8.000 … 8.040 Mfps") == 4
    assert text.count(f"{LONG} (SIMULATED)") == 2


def test_where_there_is_room_all_stands_in_columns(tmp_path: Path) -> None:
    store_finished(tmp_path)
    with refreshed(tmp_path) as index:
        names, row = shown(_runs(index.runs(), index), 200)
    assert names.split()[:6] == ["run", "started", "took", "testbed", "preset", "cases"]
    assert "64B: ndr 8.000 … 8.040 Mfps (SIMULATED)" in row


def test_the_time_between_an_interruption_and_its_resumption_is_none_of_the_run(
    tmp_path: Path,
) -> None:
    at = "2026-11-20T{}.000+00:00"
    lines: list[Line] = [
        header(started_at=at.format("10:00:00")),
        case_start(FIRST).model_copy(update={"started_at": at.format("10:00:02")}),
        case_record(FIRST).model_copy(update={"finished_at": at.format("10:00:10")}),
    ]
    more: list[Line] = [
        RunResume(resumed_at=at.format("12:00:00"), argv=()),
        run_end().model_copy(update={"finished_at": at.format("12:00:05")}),
    ]
    store(tmp_path, "2026-11-20-x-aaaa", lines)
    with refreshed(tmp_path) as index:
        assert index.runs()[0].took_s == pytest.approx(10, abs=0.01)
        store(tmp_path, "2026-11-20-x-aaaa", [*lines, *more])
        index.refresh()
        assert index.runs()[0].took_s == pytest.approx(15, abs=0.01)
        assert index.runs()[0].as_json()["took_s"] == index.runs()[0].took_s


def test_of_a_run_whose_times_are_none_it_is_not_told_how_long_it_took(tmp_path: Path) -> None:
    head = header(started_at="yesterday")
    store(tmp_path, "2026-11-20-x-aaaa", [head])
    with refreshed(tmp_path) as index:
        assert index.runs()[0].took_s is None
        assert "–" in shown(_runs(index.runs(), index), 80)[1]
