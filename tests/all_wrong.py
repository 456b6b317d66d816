"""One test for many files or rows: it looks at all of them, and tells all that are wrong.

What an `assert` says of a long list is shortened by pytest, and a loop of asserts ends at the first
that does not hold; a test for each row costs more than the row.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
CHASSIS = REPOSITORY / "tools" / "chassis" / "vsperf_chassis"
"""A package outside of vsperf that comes with it."""
Row = TypeVar("Row")


def modules() -> list[Path]:
    """Return all modules of our packages."""
    return sorted(
        path for package in (REPOSITORY / "vsperf", CHASSIS) for path in package.rglob("*.py")
    )


def relative(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def none_wrong(found: Iterable[str], mend: str = "") -> None:
    """Fail with all that was found, and with what mends it."""
    if lines := list(found):
        head = f"{len(lines)} wrong" + (f"; {mend}" if mend else "")
        pytest.fail("\n".join([f"{head}:", *lines]), pytrace=False)


def hold_each(
    rows: Iterable[Row], check: Callable[[Row], None], name: Callable[[Row], str] = str
) -> None:
    """Hold each row against a check that asserts; fail with the names of all that do not hold."""
    known = list(rows)
    assert known, "there is no row to look at"
    none_wrong(f"{name(row)}: {why}" for row in known if (why := _why_not(check, row)))


def _why_not(check: Callable[[Row], None], row: Row) -> str | None:
    """Return the line of a check that a row does not hold, and what it says."""
    try:
        check(row)
    except (Exception, pytest.fail.Exception) as error:
        source = check.__code__.co_filename
        frames = traceback.extract_tb(error.__traceback__)
        lines = [one.lineno for one in frames if one.filename == source]
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        return f"{Path(source).name}:{lines[-1]}: {kind}{error}"
    return None
