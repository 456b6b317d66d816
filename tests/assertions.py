"""Has pytest say the values of an assert that fails in a contract, and in what tests share.

Else it does so in files of tests and nowhere else: of a contract it says `AssertionError`, and no
more. A package of its own takes it by `-p assertions`. By it, too, it knows the marks of contracts,
and is told why a part of vsperf raised an error, and how that is mended.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest

from vsperf.errors import VsperfError

Value = TypeVar("Value")

HERE = Path(__file__).parent
FOLDERS = (HERE, *(HERE / name for name in ("contract", "unit", "integration")))
NAMES = {one.stem for folder in FOLDERS for one in folder.glob("*.py")}

pytest.register_assert_rewrite(*(NAMES - sys.modules.keys()))


def known(value: Value | None) -> Value:
    """Return a value that has to be there."""
    assert value is not None
    return value


def pytest_configure(config: pytest.Config) -> None:
    """Name the marks of this project where another one's settings hold."""
    project = HERE.parent / "pyproject.toml"
    if config.inipath != project:
        options = tomllib.loads(project.read_text())["tool"]["pytest"]["ini_options"]
        for mark in options["markers"]:
            config.addinivalue_line("markers", mark)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what pytest does not show of an error: why, and what to do."""
    report = yield
    error = None if call.excinfo is None else call.excinfo.value
    for problem in error.problems if isinstance(error, VsperfError) else ():
        said = {"error": problem.what, "why": problem.why, "fix": problem.fix}
        text = "\n".join(f"{word}: {one}" for word, one in said.items() if one)
        report.sections.append(("what vsperf says", text))
    return report
