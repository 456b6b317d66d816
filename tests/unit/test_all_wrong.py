"""A test for many rows looks at each of them, and its failure names every one that is wrong."""

from __future__ import annotations

import re

import pytest
from all_wrong import hold_each, none_wrong


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


def test_a_row_that_raises_is_wrong_like_any_other() -> None:
    def check(row: int) -> None:
        assert 6 % row == 0

    head, first, *_ = failure_of([1, 0, 4], check)
    assert head == "2 wrong:"
    assert re.match(r"row 0: test_all_wrong\.py:\d+: ZeroDivisionError: ", first)


def test_a_row_that_fails_without_an_assert_is_wrong_like_any_other() -> None:
    def check(row: int) -> None:
        with pytest.raises(ZeroDivisionError):
            assert 1 / row

    head, *told = failure_of([1, 0, 2], check)
    assert head == "2 wrong:"
    assert [one.partition(":")[0] for one in told] == ["row 1", "row 2"]


def test_a_long_list_is_told_in_full() -> None:
    with pytest.raises(pytest.fail.Exception) as failed:
        hold_each(range(1000, 1500), small)
    assert all(f"{row} is large" in str(failed.value) for row in range(1000, 1500))


def test_no_rows_at_all_are_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no row to look at"):
        hold_each([], small)


def test_what_mends_it_stands_at_the_top() -> None:
    none_wrong([])
    with pytest.raises(pytest.fail.Exception, match=r"^1 wrong; run `make docs`:\na\.md$"):
        none_wrong(["a.md"], "run `make docs`")
