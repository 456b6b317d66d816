"""Which tests run in the lane of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from lanes import needs_machine

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
