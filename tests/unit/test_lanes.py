"""Which tests run in the lane of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import lanes
import pytest
from lanes import GIVES_WAY, needs_machine

pytestmark = pytest.mark.scaffolding("tests/lanes.py", "tests/unit/test_lanes.py")

WHOLE = "import pytest\npytestmark = pytest.mark.machine\ndef test_a(): ...\n"
MIXED = """\
import pytest

@pytest.mark.machine
@pytest.mark.parametrize("port", [1, 2])
def test_real(port): ...

def test_of_text(): ...

class TestReal:
    pytestmark = pytest.mark.machine
    def test_a(self): ...

class TestText:
    def test_a(self): ...
"""


@pytest.mark.parametrize(
    ("text", "test", "needs"),
    [
        (WHOLE, "test_a", True),
        (MIXED, "test_real[1-x::y]", True),
        (MIXED, "test_of_text", False),
        (MIXED, "TestReal::test_a[1]", True),
        (MIXED, "TestText::test_a", False),
        ("def test_a(): ...\n", "test_a", False),
    ],
)
def test_the_lane_holds_what_is_marked_and_nothing_else(
    tmp_path: Path, text: str, test: str, needs: bool
) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(text)
    assert needs_machine(file, test) is needs


def said_by(words: str) -> list[str]:
    """Return what a program says that has the lanes at hand."""
    environ = {**os.environ, "PYTHONPATH": str(Path(lanes.__file__).parent)}
    argv = [sys.executable, "-c", f"import os, subprocess, lanes\n{words}"]
    return subprocess.run(
        argv, env=environ, capture_output=True, text=True, check=True
    ).stdout.split()


def test_the_other_lane_gives_way_to_sessions_too() -> None:
    said = said_by(
        "before = os.nice(0); lanes.give_way('gw1')\n"
        f"print(os.getsid(0) == os.getpid(), os.nice(0) == min(19, before + {GIVES_WAY}))"
    )
    assert said == ["True", "True"]


def test_ctrl_c_reaches_what_the_other_lane_has_started() -> None:
    said = said_by(
        "lanes.give_way('gw1'); one = subprocess.Popen(['sleep', '60'])\n"
        "lanes.pass_on_interrupt(); print(one.wait())"
    )
    assert said == ["-2"]
