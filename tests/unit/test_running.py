"""Tests that failed are run again where the machine was away, and nowhere else."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import running

INNER = """
import pathlib
import time

import pytest
COUNT = pathlib.Path(__file__).with_name("count")

def fails_times(n):
    seen = COUNT.read_text() if COUNT.exists() else ""
    COUNT.write_text(seen + ".")
    assert len(seen) >= n, "away"

@pytest.fixture(scope="module")
def shared():
    yield
    assert not COUNT.with_name("left").exists()

def test_it({fixture}):
    fails_times({times})
"""
CONFTEST = '''
import json, pathlib
import pytest
import running, tiers
HERE = pathlib.Path(__file__).parent

class Told:
    """The machine as this file says it was."""
    def evidence(self, begin_s, end_s):
        assert end_s > begin_s
        return json.loads((HERE / "away").read_text())

def pytest_addoption(parser):
    running.add_options(parser)

def pytest_configure(config):
    config.pluginmanager.register(running.Again(Told()))
    selection = running.Selection(config)
    selection.memory = tiers.Memory(HERE / "passed")
    config.pluginmanager.register(selection)
    config.pluginmanager.register(running.Outcomes(selection))
    tiers.REPOSITORY, tiers.KEPT = HERE, HERE / "kept"
'''
TOOL = """
import pathlib

import pytest

pytestmark = pytest.mark.scaffolding("tool")
TOOL = pathlib.Path(__file__).with_name("tool")

def test_first():
    pass

def test_second():
    TOOL.write_text("another")
    {then}
"""

COUNTING = """
import pathlib

SEEN = pathlib.Path(__file__).with_name("seen")

def test_counts(record_property):
    record_property("kills", 1200)
    record_property("trials lost", int(not SEEN.exists()))
    assert SEEN.exists() or SEEN.touch()
"""


def run_inner(
    folder: Path, times: int, away: list[str], fixture: str = "", option: str = "--tier=all"
) -> tuple[int, str]:
    """Run a test that fails so often on a machine that was away or not."""
    (folder / "away").write_text(json.dumps(away))
    return run_module(folder, INNER.format(times=times, fixture=fixture), option, str(folder))


def run_module(folder: Path, module: str, *chosen: str) -> tuple[int, str]:
    """Run all tests of a folder, or those that are chosen."""
    (folder / "test_inner.py").write_text(module)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text(
        "[pytest]\ntestpaths = .\nmarkers =\n    scaffolding: of what is so named\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(running.__file__).parent)}
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-rN"]
    command = [*argv, "-c", str(folder / "pytest.ini"), *chosen]
    ended = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout


def attempts(folder: Path) -> int:
    return len((folder / "count").read_text())


def test_with_evidence_it_is_run_again_and_named(tmp_path: Path) -> None:
    code, said = run_inner(tmp_path, times=2, away=["CPU 1 ran nothing for 300 ms (once)"])
    assert (code, attempts(tmp_path)) == (0, 3)
    assert "2 again: machine away" in said
    evidence = "CPU 1 ran nothing for 300 ms (once)"
    assert f"test_inner.py::test_it: {evidence}; AssertionError: away" in said


def test_it_is_run_again_twice_at_most(tmp_path: Path) -> None:
    code, said = run_inner(tmp_path, times=3, away=["the hypervisor took 40% of the CPUs"])
    assert (code, attempts(tmp_path)) == (1, 3)
    assert "the hypervisor took 40% of the CPUs" in said


@pytest.mark.parametrize(("times", "counts"), [(0, (1, 0)), (1, (1, 0)), (2, (1, 0)), (3, (0, 1))])
def test_however_often_it_is_run_it_is_one_test(
    tmp_path: Path, times: int, counts: tuple[int, int]
) -> None:
    passed, failed = counts
    _, said = run_inner(tmp_path, times, ["away"], option="--remaining")
    assert f"{passed} of 1 tests have passed; of this run {failed} failed" in said
    assert " 0 are left" in said
    kept = (tmp_path / "passed").read_text().splitlines() if passed else []
    assert len(kept) == passed
    assert (tmp_path / "passed").exists() == bool(passed), "what failed is not remembered"


def test_one_that_fails_and_leaves_something_behind_has_failed_once(tmp_path: Path) -> None:
    (tmp_path / "left").touch()
    _, said = run_inner(tmp_path, 1, [], fixture="shared", option="--remaining")
    assert "0 of 1 tests have passed; of this run 1 failed" in said
    assert " 0 are left" in said


def test_without_evidence_a_failure_is_a_failure(tmp_path: Path) -> None:
    code, said = run_inner(tmp_path, times=1, away=[])
    assert (code, attempts(tmp_path)) == (1, 1)
    assert "again" not in said
    assert "was not away" in said


@pytest.mark.parametrize("left", [False, True], ids=["clean", "not clean"])
def test_what_a_module_leaves_behind_is_a_failure_of_its_last_test(
    tmp_path: Path, left: bool
) -> None:
    if left:
        (tmp_path / "left").touch()
    code, _ = run_inner(tmp_path, times=0, away=[], fixture="shared")
    assert code == int(left)
    assert (tmp_path / "passed").exists() is not left


@pytest.mark.parametrize(
    ("then", "passed"),
    [("pass", True), ("raise AssertionError", False), ("raise KeyboardInterrupt", False)],
    ids=["whole", "failed", "cut off"],
)
def test_tests_of_scaffolding_passed_where_all_of_them_did(
    tmp_path: Path, then: str, passed: bool
) -> None:
    (tmp_path / "tool").write_text("one")
    run_module(tmp_path, TOOL.format(then=then))
    kept = tmp_path / "kept" / "scaffolding"
    assert kept.exists() is passed
    if passed:
        as_it_was = hashlib.sha256(b"tool\0one").hexdigest()
        assert kept.read_text().split() == [as_it_was]


def test_what_tests_count_is_told_at_the_end_with_that_of_those_that_failed(tmp_path: Path) -> None:
    """Of those alone that pass, all that must not be is zero."""
    for failed in (True, False):
        code, said = run_module(tmp_path, COUNTING)
        assert code == int(failed)
    told = said.partition("counted at this commit")[2].splitlines()[1:3]
    assert [line.split(maxsplit=1) for line in told] == [["2,400", "kills"], ["1", "trials lost"]]
