"""The program that runs tests again and again: a run that was cut off is none."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from conftest import REPOSITORY
from test_repository import load_tool

pytestmark = pytest.mark.scaffolding("tools/repeat-tests", "tests/unit/test_repeat_tests.py")
JUNIT = """<testsuites><testsuite>
  <testcase classname="unit.test_x" name="test_passes"/>
  <testcase classname="unit.test_x" name="test_fails"><failure/></testcase>
</testsuite></testsuites>"""
CUT_OFF = "!!!!!!!!!!!!!! KeyboardInterrupt !!!!!!!!!!!!!!\n"


@pytest.fixture(name="tool", scope="module")
def fixture_tool() -> ModuleType:
    assert (REPOSITORY / "tools" / "repeat-tests").exists()
    return load_tool("repeat-tests")


@pytest.mark.parametrize(
    ("code", "said", "ended"),
    [
        (0, "", True),
        (1, "", True),
        (2, "make: *** [Makefile:35: test] Error 1\n", True),
        (2, CUT_OFF, False),
        (2, f"{CUT_OFF}make: *** [Makefile:35: test] Error 2\n", False),
        (3, "", False),
    ],
)
def test_a_run_has_ended_unless_it_was_cut_off(
    tool: ModuleType, tmp_path: Path, code: int, said: str, ended: bool
) -> None:
    report, log = tmp_path / "run.xml", tmp_path / "run.log"
    report.write_text(JUNIT)
    log.write_text(said)
    run = tool.read_run("whole", 1.0, code, report, log)
    assert run.ended is ended
    assert run.failed == ("unit.test_x::test_fails",)
    assert run.tests == 2


def test_a_run_without_a_report_has_not_ended(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("make: *** No rule\n")
    run = tool.read_run("whole", 1.0, 2, tmp_path / "run.xml", tmp_path / "run.log")
    assert not run.ended
