"""`vsperf export` on the command line: files, folders, pipes, and what goes wrong."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_shell import Shell, fixture_vsperf

from vsperf.errors import ExitCode
from vsperf.export import catalog

pytestmark = pytest.mark.everyday

__all__ = ["fixture_vsperf"]  # a fixture is found by its name in the module

GOLDEN = Path(__file__).parents[1] / "golden" / "records"
SINGLE = ("json", "junit", "openmetrics", "influx")


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
