"""`vsperf plot`: files by their names, numbers instead, and what cannot be drawn."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from compared_runs import bound, run

from vsperf.cli.commands.plot import paths_of
from vsperf.cli.main import run_cli
from vsperf.cli.selection import library
from vsperf.errors import ExitCode
from vsperf.output.figures.plot import all_plots
from vsperf.records.flags import Flag

GOLDEN = Path(__file__).parents[1] / "golden" / "records"
TPUT = GOLDEN / "2026-11-20-phy2phy_tput-gxq9"
HALF = GOLDEN / "2026-11-20-phy2phy_tput-m4xq"
SOAK = GOLDEN / "2026-11-22-phy2phy_soak-n10t"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_list_names_every_plot_and_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["plot", "--list"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert all(f"  {plot.name} " in shown for plot in all_plots())
    assert "plugfest_2017" in shown
    assert max(map(len, shown.splitlines())) <= 120


@pytest.mark.parametrize(
    ("name", "begin"), [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")]
)
def test_a_file_has_the_format_that_its_name_asks_for(
    name: str, begin: bytes, elsewhere: Path
) -> None:
    assert run_cli(["plot", "throughput", str(TPUT), "-o", name]) == ExitCode.OK
    assert (elsewhere / name).read_bytes().startswith(begin)


def test_plots_of_single_cases_are_called_by_the_case(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["plot", "topology", str(TPUT)]) == ExitCode.OK
    made = sorted(path.name for path in elsewhere.iterdir())
    assert sorted(capsys.readouterr().out.split()) == made
    assert "topology-phy2phy_tput-64B.svg" in made
    assert len(made) == 2


def test_those_of_one_name_are_numbered_however_many_a_record_has() -> None:
    many = [SimpleNamespace(title="Search, a case")] * 3_000
    names = [path.name for path in paths_of(many, Path("search.svg"))]
    first = ("search-a_case.svg", "search-a_case.2.svg", "search-a_case.3.svg")
    assert tuple(names[:3]) == first
    assert len(set(names)) == len(many)


def test_one_case_is_one_file(elsewhere: Path) -> None:
    arguments = ["plot", "search", str(TPUT), "--case", "*-64B"]
    assert run_cli(arguments) == ExitCode.OK
    assert [path.name for path in elsewhere.iterdir()] == ["search.svg"]


def test_numbers_are_printed_in_base_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["plot", "throughput", str(TPUT), "--data"]) == ExitCode.OK
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    measured = [row for row in rows if row["source"] == "series"]
    assert {row["x"] for row in measured} == {"64.0", "1518.0"}
    assert {row["y_unit"] for row in rows} == {"fps"}
    assert {row["simulated"] for row in measured} == {"true"}
    ceilings = [float(row["y"]) for row in rows if row["source"] == "ceiling"]
    assert max(ceilings) == pytest.approx(14_880_952.38)


def test_numbers_are_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["plot", "seconds", str(SOAK), "--data", "--json"]) == ExitCode.OK
    rows = json.loads(capsys.readouterr().out)
    assert {row["plot"] for row in rows} == {"seconds"}
    assert {row["x_unit"] for row in rows} == {"ns"}


def test_published_numbers_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plot", "throughput", str(TPUT), "--data", "--beside", "plugfest_2017"]
    assert run_cli(arguments) == ExitCode.OK
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    published = [row for row in rows if row["source"] == "published"]
    assert ("64.0", "11696726.0") in {(row["x"], row["y"]) for row in published}
    assert all("OPNFV 2017" in row["series"] for row in published)
    assert not any("OPNFV" in row["series"] for row in rows if row["source"] != "published")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["throughputs", str(TPUT)], "did you mean 'throughput'?"),
        (["throughput"], "a plot needs a name and a run"),
        (["throughput", "nowhere"], "there is no run in results"),
        (["throughput", str(TPUT), "-o", "a.gif"], "end the name with one of .svg, .png, .pdf"),
        (["throughput", str(TPUT), "--case", "*-9B"], "there are: phy2phy_tput-64B"),
        (["throughput", str(TPUT), "--beside", "gossip"], "known tables: dpvs_1_9_2"),
        (["workers", str(TPUT)], "there is nothing to draw for workers"),
        (["workers", str(TPUT)], "it takes two numbers of threads or more"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    arguments: list[str], said: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["plot", *arguments]) == ExitCode.BAD_INPUT
    assert said in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["throughput", "intervals"])
def test_which_case_has_no_number_is_said_and_that_it_is_to_be_measured_again(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two frame sizes were asked for, and one is INVALID."""
    assert run_cli(["plot", name, str(HALF)]) == ExitCode.BAD_INPUT
    said = " ".join(capsys.readouterr().err.split())
    assert "no number to be drawn of phy2phy_tput-128B of m4xq (INVALID)" in said
    assert "measure again on a quiet machine, or for longer" in said


def test_that_no_ratio_can_be_told_of_a_busy_machine_is_said_with_its_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "aaaa", {1: [1_000_000]}, flags=[Flag.TOO_BUSY])
    run(tmp_path, "bbbb", {1: [bound(2_000_000)]})
    asked = ["plot", "ratios", "aaaa", "bbbb", "--results", str(tmp_path)]
    assert run_cli(asked) == ExitCode.BAD_INPUT
    said = " ".join(capsys.readouterr().err.split())
    assert "phy2phy_tput-64B of aaaa (too busy to tell); phy2phy_tput-64B of bbbb (lower" in said
    assert "plot intervals" not in said


def test_each_figure_says_what_makes_it_drawable_and_names_testcases_that_there_are() -> None:
    known = library().testcases()
    for plot in all_plots():
        assert plot.needs, plot.name
        named = re.findall(r"(?:`|vsperf run )((?:phy2phy|pvp)_\w+)", plot.needs)
        assert set(named) <= set(known), plot.name
