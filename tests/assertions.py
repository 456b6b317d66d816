"""Has pytest say the values of an assert that fails in a contract, and in what tests share.

Else it does so in files of tests and nowhere else: of a contract it says `AssertionError`, and no
more. A package of its own takes it by `-p assertions`, and knows the marks of contracts by it, too.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDERS = (HERE, *(HERE / name for name in ("contract", "unit", "integration")))
NAMES = {one.stem for folder in FOLDERS for one in folder.glob("*.py")}

pytest.register_assert_rewrite(*(NAMES - sys.modules.keys()))


def pytest_configure(config: pytest.Config) -> None:
    """Name the marks of this project where another one's settings hold."""
    project = HERE.parent / "pyproject.toml"
    if config.inipath != project:
        options = tomllib.loads(project.read_text())["tool"]["pytest"]["ini_options"]
        for mark in options["markers"]:
            config.addinivalue_line("markers", mark)
