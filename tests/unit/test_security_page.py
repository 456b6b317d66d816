"""docs/security.md: each threat names its tests, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

from all_wrong import none_wrong

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "security.md"
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


def threats() -> list[list[str]]:
    """Return the rows of the table of threats, as cells."""
    table = PAGE.read_text().partition("| Threat |")[2].partition("\n\n")[0]
    return [line.strip("|").split("|") for line in table.splitlines()[2:]]


def test_every_threat_has_something_against_it_and_a_test() -> None:
    assert len(threats()) > 20
    none_wrong(row[0] for row in threats() if len(row) != 3 or not NAMED.search(row[2]))


def test_every_test_that_is_named_is_there() -> None:
    known = {
        (path.name, name)
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^(?: {4})?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    named = {found for row in threats() for found in NAMED.findall(row[2])}
    none_wrong(f"{file}::{name}" for file, name in sorted(named - known))
