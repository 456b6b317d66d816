"""Tables of stored runs: what does not fit is left out by its rank, and no number is broken."""

from __future__ import annotations

import io

import pytest
from rich.text import Text

from vsperf.cli.tables import Column, fitted
from vsperf.cli.terminal import PlainConsole

COLUMNS = (
    Column("run", [Text("2026-11-26-phy2phy_tput-v6yp")]),
    Column("testbed", ["local"], rank=1),
    Column("preset", ["standard"], rank=2),
    Column("first result", ["64B: ndr 1.885 … 1.904 Mfps"]),
    Column("outcome", ["6 PASS, 1 INVALID"], breaks=True),
)


def shown(width: int) -> list[str]:
    out = PlainConsole(stderr=False, width=width)
    out.file = file = io.StringIO()
    out.print(fitted(COLUMNS, width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("width", "names"),
    [
        (200, ["run", "testbed", "preset", "first result", "outcome"]),
        (80, ["run", "testbed", "first result", "outcome"]),
        (74, ["run", "first result", "outcome"]),
    ],
)
def test_columns_of_the_highest_rank_go_first(width: int, names: list[str]) -> None:
    assert [column.name for column in COLUMNS if column.name in shown(width)[0]] == names


def test_words_are_broken_between_and_numbers_never() -> None:
    _, first, second, *_ = shown(80)
    assert "64B: ndr 1.885 … 1.904 Mfps" in first
    assert first.endswith("6 PASS, 1")
    assert second.strip() == "INVALID"
