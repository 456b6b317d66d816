"""JSON of others: which numbers are none."""

from __future__ import annotations

import json

import pytest

from vsperf.trust.plain_json import loads, refuse_wild_numbers


@pytest.mark.parametrize(
    "number",
    [
        "1" * 21,
        "9" * 4299,
        "9" * 5000,
        str(1 << 64),
        str(-(1 << 63) - 1),
        "NaN",
        "-Infinity",
        "1e309",
    ],
)
def test_what_nothing_can_have_counted_is_no_number(number: str) -> None:
    for document in (number, f'[{{"a": {number}}}]'):
        with pytest.raises(ValueError, match=r"64 bits|finite|no number"):
            refuse_wild_numbers(document.encode())


def test_other_numbers_and_all_words_are_as_they_were() -> None:
    document = [
        *((1 << 64) - 1, -(1 << 63), 1e308, 5e-324, 1e100, 0.1, -0.0),
        *("NaN", "1" * 30, "e999", {"Infinity": None}, "\ud800"),
    ]
    text = json.dumps(document)
    refuse_wild_numbers(text.encode())
    assert loads(text) == document
