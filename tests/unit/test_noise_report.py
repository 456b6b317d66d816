"""What a report says of the cost of noise: against the quiet case, with how sure that is."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from noisy_runs import RUN, levels
from report_pages import Reader, quietly

from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode
from vsperf.report.write import write_html, write_markdown
from vsperf.results.quiet import against_quiet, costs_of

RATES: dict[str, int | None] = {"none": 1_000_000, "level_0": 1_000_000, "level_1": 700_000}


def page(*folders: Path) -> Reader:
    out, reader = io.StringIO(), Reader()
    write_html(folders, out, quietly, costs=costs_of(folders))
    reader.feed(out.getvalue())
    assert reader.open == []
    return reader


def told(case: str, words: str) -> str:
    """Return what a page says of a case, from its headline to the link back."""
    return words.partition("Case by case")[2].partition(f"{case} PASS")[2].partition("Back to")[0]


def test_a_table_holds_each_level_against_the_quiet_case(tmp_path: Path) -> None:
    reader = page(levels(tmp_path, RATES))
    assert "noise" in reader.ids
    words = reader.words.partition("What the noise cost, against the quiet case")[2]
    assert "64B ndr level_1 1.000 … 1.010 Mfps 700.0 … 707.0 kfps -30.00 % [" in words
    assert "by ranks over repeats, p 0.008 5:5" in words
    assert "about 0.1 show a change by chance alone" in words


def test_a_case_beside_noise_says_what_that_cost_and_how_sure_it_is(tmp_path: Path) -> None:
    words = page(levels(tmp_path, RATES)).words
    loud = told("phy2phy_tput-64B-level_1", words)
    assert "ndr, 700.0 … 707.0 kfps beside level_1 and 1.000 … 1.010 Mfps without noise: " in loud
    assert "without noise: -30.00 % [" in loud
    assert "by ranks over repeats, p 0.008 (5:5 repeats)" in loud
    assert "without noise: ~" in told("phy2phy_tput-64B-level_0", words)
    assert "without noise" not in told("phy2phy_tput-64B-none", words)


def test_the_page_says_the_same_as_the_end_of_a_run(tmp_path: Path) -> None:
    folder = levels(tmp_path, RATES)
    (costs,) = costs_of([folder])
    rows = [f"{one.case} {one.number} beside {one.level}: {one.change}" for one in costs.rows]
    lines = against_quiet(folder)
    assert len(rows) == len(lines)
    assert all(line.startswith(row) for row, line in zip(rows, lines, strict=True))


def test_of_a_single_run_of_each_level_the_page_says_that_nobody_knows_the_scatter(
    tmp_path: Path,
) -> None:
    words = page(levels(tmp_path, RATES, repeats=1)).words
    assert "by the intervals of the searches alone 1:1" in words
    assert "nothing was repeated, so nobody knows how far runs lie apart here" in words


def test_a_level_without_a_number_is_said_with_the_reason(tmp_path: Path) -> None:
    words = page(levels(tmp_path, {"none": 1_000_000, "level_1": None}, repeats=1)).words
    assert "beside level_1: no number (invalid: too loud)" in words.replace("INVALID", "invalid")


def test_runs_together_are_told_apart(tmp_path: Path) -> None:
    other = levels(tmp_path / "other", RATES)
    other = other.rename(other.with_name("2026-11-21-phy2phy_tput-bbbb"))
    words = page(levels(tmp_path, RATES), other).words
    assert f"{RUN} case number beside" in words
    assert f"{other.name} case number beside" in words


def test_without_levels_nothing_is_said_of_noise(tmp_path: Path) -> None:
    quiet = levels(tmp_path, {"none": 1_000_000})
    assert costs_of([quiet]) == ()
    assert "What the noise cost" not in page(quiet).words


def test_the_command_says_it_in_html_and_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = levels(tmp_path, RATES)
    for form in ("html", "md"):
        code = run_cli(["report", str(folder), "--format", form, "-o", "-"])
        assert code == ExitCode.OK
        found = capsys.readouterr().out
        assert "What the noise cost, against the quiet case" in found
        assert "by ranks over repeats, p 0.008" in found


def test_markdown_has_whole_tables(tmp_path: Path) -> None:
    out, folder = io.StringIO(), levels(tmp_path, RATES)
    write_markdown([folder], out, quietly, costs_of([folder]))
    lines = out.getvalue().splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("| case | number | beside"))
    assert lines[head + 1] == "|" + " :--- |" * 8
    assert [line.count("|") for line in lines[head + 2 : head + 4]] == [9, 9]


@pytest.mark.parametrize("noise", [7, ["level_1"], {"kind": 3}, {}])
def test_a_damaged_run_has_a_report_all_the_same(tmp_path: Path, noise: object) -> None:
    folder = levels(tmp_path, RATES)
    records = folder / "records.jsonl"
    sound = records.read_text()
    damaged = sound.replace('{"kind":"memory"}', json.dumps(noise, separators=(",", ":")))
    assert damaged != sound
    records.write_text(damaged)
    assert "Case by case" in page(folder).words
