"""A test for many rows looks at each of them, and its failure names every one that is wrong."""

from __future__ import annotations

import pytest
from all_wrong import hold_each


def failure_of(rows: list[int], check: object) -> list[str]:
    assert callable(check)
    with pytest.raises(pytest.fail.Exception) as failed:
        hold_each(rows, check, lambda row: f"row {row}")
    return str(failed.value).splitlines()


def small(row: int) -> None:
    assert row < 3, f"{row} is large"


def test_rows_that_all_hold_pass() -> None:
    hold_each([1, 2], small)


def test_all_that_is_wrong_is_named_with_the_line_that_says_so() -> None:
    head, *told = failure_of([1, 3, 2, 4], small)
    line = small.__code__.co_firstlineno + 1
    assert head == "2 wrong:"
    assert [one for one in told if "is large" in one] == [
        f"row {row}: test_all_wrong.py:{line}: {row} is large" for row in (3, 4)
    ]


def test_no_rows_at_all_are_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no row to look at"):
        hold_each([], small)
