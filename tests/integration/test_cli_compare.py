"""Comparisons and exports on the command line."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_shell import SMOKE, Shell, fixture_vsperf

from vsperf.errors import ExitCode
from vsperf.output.export import catalog
from vsperf.records.files.folders import run_folders

pytestmark = pytest.mark.everyday
__all__ = ["fixture_vsperf"]


# Comparisons on the command line: exit codes, files, baselines, and criteria on them.

SLOWER = ("--set", "vswitch.cost.cycles_per_packet=400")
HELD = """
name: held
extends: phy2phy_smoke
expect:
  - {metric: ndr, baseline: main, drop: 3%}
"""


@pytest.fixture(name="two")
def fixture_two(vsperf: Shell) -> Shell:
    """A folder with a run, called main, and a slower one."""
    assert vsperf(*SMOKE, "--label", "revision=old").code == ExitCode.OK
    assert vsperf("baseline", "set", "main", "latest").code == ExitCode.OK
    assert vsperf(*SMOKE, *SLOWER, "--label", "revision=new").code == ExitCode.OK
    return vsperf


def test_it_says_what_differs_and_what_changed(two: Shell) -> None:
    ended = two("compare", "revision=old", "revision=new")
    assert ended.code == ExitCode.OK
    assert "SIMULATED" in ended.out
    differs, changed = ended.out.split("A → B", 1)
    assert "vswitch.cost.cycles_per_packet" in differs
    assert "worse" in changed


def test_a_gate_fails_where_something_got_worse_by_more(two: Shell) -> None:
    against = ("compare", "--baseline", "main", "latest", "--fail-above")
    ended = two(*against, "3%")
    assert ended.code == ExitCode.CRITERION_MISSED
    assert "worse by more than 3%: phy2phy_smoke" in ended.out
    assert two(*against, "90%").code == ExitCode.OK
    assert two("compare", "main", "latest").code == ExitCode.BAD_INPUT  # no run has that name


def test_a_gate_that_cannot_tell_says_so(two: Shell) -> None:
    two(
        *SMOKE,
        "--set",
        "vswitch.behaviour.kind=always-lossy",
        "--set",
        "vswitch.behaviour.lost=90%",
    )
    ended = two("compare", "--baseline", "main", "latest", "--fail-above", "3%")
    assert ended.code == ExitCode.INVALID_RESULT
    assert "no number to judge: phy2phy_smoke" in ended.out


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_it_is_written_to_a_file_as_asked_or_as_its_name_ends(
    two: Shell, form: str, asked: bool
) -> None:
    file = two.folder / (f"change-{form}" if asked else f"change.{form}")
    words = ("--format", form) if asked else ()
    ended = two("compare", "--baseline", "main", "latest", *words, "-o", str(file))
    assert (ended.code, ended.out) == (ExitCode.OK, "")
    text = file.read_text(encoding="utf-8")
    assert "cycles" in text
    assert ("SIMULATED" in text) or json.loads(text)["simulated"]


@pytest.mark.parametrize("words", [("-o", "change.xlsx"), ("--format", "table", "-o", "change.md")])
def test_what_cannot_be_written_to_a_file_is_refused(two: Shell, words: tuple[str, ...]) -> None:
    ended = two("compare", "--baseline", "main", "latest", *words)
    assert ended.code == ExitCode.BAD_INPUT
    assert "--format html, md or json" in ended.err
    assert not (two.folder / "change.md").exists()


def test_one_side_alone_is_refused(two: Shell) -> None:
    ended = two("compare", "latest")
    assert ended.code == ExitCode.BAD_INPUT
    assert "nothing to compare with" in ended.err


def test_a_long_table_says_what_it_leaves_out(vsperf: Shell) -> None:
    vsperf(*SMOKE, "--set", "traffic.frame_size=[64,128]")
    ended = vsperf("compare", "latest", "latest", "--limit", "1")
    assert "and 1 more, none with a greater change" in ended.out


def test_baselines_are_listed_and_removed(two: Shell) -> None:
    assert [one["name"] for one in two("baseline", "list", "--json").data] == ["main"]
    assert "main" in two("baseline", "list").out
    assert two("baseline", "remove", "main").code == ExitCode.OK
    assert two("baseline", "list", "--json").data == []
    assert two("baseline", "remove", "main").code == ExitCode.BAD_INPUT


class TestCriteria:
    """A testcase that is held against the baseline main."""

    @pytest.fixture(name="held")
    def fixture_held(self, vsperf: Shell) -> Path:
        return self.write(vsperf, HELD)

    def write(self, vsperf: Shell, text: str) -> Path:
        file = vsperf.folder / "held.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    def run(self, vsperf: Shell, file: Path, *more: str) -> tuple[int, str]:
        ended = vsperf("run", str(file), "--testbed", "sim", *more)
        return ended.code, ended.out + ended.err

    def make_baseline(self, vsperf: Shell, file: Path) -> None:
        """Measure the same testcase without its criterion, and call that main."""
        free = self.write(vsperf, HELD.split("expect:", maxsplit=1)[0])
        assert self.run(vsperf, free)[0] == ExitCode.OK
        vsperf("baseline", "set", "main", "latest")
        self.write(vsperf, HELD)

    def test_the_same_switch_meets_it_and_a_slower_one_does_not(
        self, vsperf: Shell, held: Path
    ) -> None:
        self.make_baseline(vsperf, held)
        assert self.run(vsperf, held)[0] == ExitCode.OK
        code, said = self.run(vsperf, held, *SLOWER)
        assert code == ExitCode.CRITERION_MISSED
        assert "main − 3%" in said

    def test_the_record_says_what_it_was_held_to(self, vsperf: Shell, held: Path) -> None:
        self.make_baseline(vsperf, held)
        base = vsperf("results", "latest", "--json").data[0]["result"]["goals"][0]
        self.run(vsperf, held)
        plan = vsperf("plan", str(held), "--testbed", "sim", "--json").data[0]["spec"]["expect"][0]
        assert plan["held_to"] == f"{int(base['lower_fps'] * 0.97)}fps"

    def test_a_baseline_that_there_is_not_is_an_error_with_its_place(
        self, vsperf: Shell, held: Path
    ) -> None:
        for command in ("plan", "run"):
            ended = vsperf(command, str(held), "--testbed", "sim")
            assert ended.code == ExitCode.BAD_INPUT
            assert "there is no baseline 'main'" in ended.err
            assert "held.yaml:5" in ended.err

    def test_a_baseline_of_other_frames_is_refused_before_anything_starts(
        self, vsperf: Shell, held: Path
    ) -> None:
        self.make_baseline(vsperf, held)
        ended = vsperf("plan", str(held), "--testbed", "sim", "--set", "traffic.flows=77")
        assert ended.code == ExitCode.BAD_INPUT
        assert "other frames: traffic.flows was 1, and is 77" in ended.err

    def test_a_baseline_without_such_a_case_is_refused(self, vsperf: Shell, held: Path) -> None:
        vsperf(*SMOKE)
        vsperf("baseline", "set", "main", "latest")
        ended = vsperf("plan", str(held), "--testbed", "sim")
        assert ended.code == ExitCode.BAD_INPUT
        assert "the baseline main has no case held" in ended.err

    @pytest.mark.parametrize(
        ("criterion", "said"),
        [
            ("{metric: ndr, baseline: main}", "either `drop` or `rise`"),
            ("{metric: ndr, baseline: main, drop: 3%, rise: 3%}", "either `drop` or `rise`"),
            ("{metric: ndr, baseline: main, rise: 3%}", "takes `drop`, not `rise`"),
            ("{metric: p99, baseline: main, drop: 3%}", "takes `rise`, not `drop`"),
            ("{metric: ndr, min: 1Mfps, drop: 3%}", "`drop` refers to a `baseline`"),
            ("{metric: ndr, min: 1Mfps, baseline: main, drop: 3%}", "exactly one of"),
            ("{metric: ndr, baseline: ../x, drop: 3%}", "baseline"),
        ],
    )
    def test_a_criterion_that_contradicts_itself_is_refused(
        self, vsperf: Shell, criterion: str, said: str
    ) -> None:
        file = self.write(
            vsperf, HELD.replace("{metric: ndr, baseline: main, drop: 3%}", criterion)
        )
        ended = vsperf("plan", str(file), "--testbed", "sim")
        assert ended.code == ExitCode.BAD_INPUT
        assert said in ended.err


# `vsperf export` on the command line: files, folders, pipes, and what goes wrong.

GOLDEN = Path(__file__).parents[1] / "golden" / "records"
SINGLE = ("json", "junit", "openmetrics", "prometheus", "influx")


@pytest.fixture(name="stored")
def fixture_stored(vsperf: Shell) -> Shell:
    """A shell in a folder with runs of all kinds."""
    shutil.copytree(GOLDEN, vsperf.folder / "results", dirs_exist_ok=True)
    return vsperf


def test_tables_go_into_a_folder(stored: Shell) -> None:
    for form in ("csv", "parquet"):
        ended = stored("export", form, "gxq9", "-o", "tables")
        assert ended.code == ExitCode.OK
        assert ended.out == ""
        assert f"wrote tables/cases.{form}" in ended.err
        assert "gxq9 is SIMULATED" in ended.err
    made = {path.name for path in (stored.folder / "tables").iterdir()}
    assert made == {f"{name}.{form}" for name in ("cases", "trials") for form in ("csv", "parquet")}


def test_one_table_is_printed_or_goes_into_a_file(stored: Shell) -> None:
    stored("export", "csv", "gxq9", "-o", "tables")
    program = [sys.executable, "-m", "vsperf", "export", "csv", "gxq9", "--table", "trials"]
    printed = subprocess.run(program, cwd=stored.folder, capture_output=True, check=True).stdout
    assert printed == (stored.folder / "tables" / "trials.csv").read_bytes()
    assert stored("export", "csv", "gxq9", "--table", "trials", "-o", "one.csv").code == 0
    assert (stored.folder / "one.csv").read_bytes() == printed


@pytest.mark.parametrize("form", SINGLE)
def test_a_format_of_one_file_takes_a_file_or_a_folder(stored: Shell, form: str) -> None:
    (stored.folder / "there").mkdir()
    assert stored("export", form, "gxq9", "-o", "file").code == ExitCode.OK
    assert stored("export", form, "gxq9", "-o", "there").code == ExitCode.OK
    (inside,) = (stored.folder / "there").iterdir()
    assert inside.read_bytes() == (stored.folder / "file").read_bytes()
    assert inside.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_several_runs_are_in_one_table(stored: Shell) -> None:
    names = ("gxq9", "m4xq", "w9dt", "acj4", "n10t")
    assert stored("export", "csv", *names, "-o", "tables").code == ExitCode.OK
    content = (stored.folder / "tables" / "cases.csv").read_text()
    runs = [row["run"][-4:] for row in csv.DictReader(io.StringIO(content))]
    assert list(dict.fromkeys(runs)) == list(names)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["no format was named", "--list"]),
        (("csv",), ["there is nothing to export"]),
        (("cvs", "gxq9"), ["there is no format 'cvs'", "did you mean csv"]),
        (("csv", "gxq9"), ["has no place", "-o DIR", "--table cases"]),
        (("csv", "gxq9", "-o", "out.csv"), ["does not fit into out.csv", "--table"]),
        (("csv", "gxq9", "--table", "runs"), ["no table 'runs'", "cases, trials"]),
        (("csv", "--like", "trex", "gxq9"), ["csv-like-trex", "csv --like vsperf"]),
        (("csv", "zzzz", "-o", "out"), ["there is no run 'zzzz'"]),
        (("junit", "gxq9", "-o", "file/junit.xml"), ["cannot be written", "-o"]),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(
    stored: Shell, arguments: tuple[str, ...], words: list[str]
) -> None:
    (stored.folder / "file").write_text("mine")
    ended = stored("export", *arguments)
    assert ended.code in (ExitCode.BAD_INPUT, ExitCode.COMPONENT_FAILED)
    for word in words:
        assert word in " ".join(ended.err.split())
    assert (stored.folder / "file").read_text() == "mine"
    assert not (stored.folder / "out").exists()


def test_a_damaged_run_leaves_what_was_there_before(stored: Shell) -> None:
    records = next((stored.folder / "results").glob("*gxq9")) / "records.jsonl"
    content = records.read_bytes()
    records.write_bytes(content.replace(b'"settled":true', b'"settled":"yes"', 1))
    (stored.folder / "tables").mkdir()
    before = stored.folder / "tables" / "cases.csv"
    before.write_text("before")
    ended = stored("export", "csv", "gxq9", "-o", "tables")
    assert ended.code == ExitCode.BAD_INPUT
    assert "records.jsonl:" in ended.err
    assert [path.name for path in before.parent.iterdir()] == ["cases.csv"]
    assert before.read_text() == "before"


def test_the_list_names_every_format_and_a_broken_one_with_its_reason(
    vsperf: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = vsperf("export", "--list").out
    for form in ("csv", "csv --like vsperf", "parquet", *SINGLE):
        assert f"  {form} " in listed
    broken = SimpleNamespace(load=lambda: 1 // 0, value="broken:Broken")
    known = {"broken": broken, **catalog.format_names()}
    monkeypatch.setattr(catalog, "format_names", lambda: known)
    ended = vsperf("export", "broken", "latest")
    assert ended.code == ExitCode.BAD_INPUT
    assert "ZeroDivisionError" in ended.err


# Labels on the command line: given to a run, shown, looked for, and refused where they are bad.


def test_a_run_keeps_its_labels_and_is_found_by_them(vsperf: Shell) -> None:
    assert vsperf(*SMOKE, "--label", "revision=4f2c1ab", "--label", "job=7").code == ExitCode.OK
    assert vsperf(*SMOKE).code == ExitCode.OK
    labelled = vsperf("results", "--label", "revision=4f2c1ab", "--json").data
    assert [run["labels"] for run in labelled] == [{"job": "7", "revision": "4f2c1ab"}]
    run = labelled[0]["run"]
    assert vsperf("show", run, "--json").data["labels"] == {"job": "7", "revision": "4f2c1ab"}
    assert "labels: job=7, revision=4f2c1ab" in vsperf("show", run).out
    assert "job=7, revision=4f2c1ab" in vsperf("results").out
    assert "nothing stored" in vsperf("results", "--label", "revision=other").out


@pytest.mark.parametrize("label", ["revision", "a b=1", "a=", "a=\n"])
def test_a_bad_label_is_refused_before_anything_is_begun(vsperf: Shell, label: str) -> None:
    ended = vsperf(*SMOKE, "--label", label)
    assert ended.code == ExitCode.BAD_INPUT
    assert "--label revision=4f2c1ab" in ended.err or "leave --label" in ended.err
    assert run_folders(vsperf.folder / "results") == ()
    assert vsperf("results", "--label", label).code == ExitCode.BAD_INPUT


def test_a_run_that_goes_on_keeps_the_labels_that_it_has(vsperf: Shell) -> None:
    vsperf(*SMOKE, "--label", "job=7")
    ended = vsperf("run", "--resume", "latest", "--label", "job=8")
    assert ended.code == ExitCode.BAD_INPUT
    assert "no other selection, label or criterion" in ended.err
