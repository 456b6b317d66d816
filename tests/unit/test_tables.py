"""One table, wherever it is shown: on a terminal, in a page, in Markdown."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

import pytest
from conftest import REPOSITORY
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from vsperf.cli import tables
from vsperf.cli.tables import beside, print_table
from vsperf.cli.terminal import PlainConsole, between_words
from vsperf.output.table import Cell, Column, Table, columns, html_table, markdown_table

RUNS = Table(
    "runs",
    (
        Column("run"),
        Column("testbed", rank=1),
        Column("preset", rank=2),
        Column("first result"),
        Column("outcome", breaks=True),
    ),
    (
        (
            *(Cell("2026-11-26-phy2phy_tput-v6yp", "name"), "local", "standard"),
            *("64B: ndr 1.885 … 1.904 Mfps", "6 PASS, 1 INVALID"),
        ),
    ),
)


def terminal(width: int) -> tuple[PlainConsole, io.StringIO]:
    out = PlainConsole(stderr=False, width=width)
    out.file = file = io.StringIO()
    return out, file


def lines(width: int) -> list[str]:
    out, file = terminal(width)
    print_table(out, RUNS)
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
    assert [name for name in RUNS.names if name in lines(width)[0]] == names


def test_words_are_broken_between_and_numbers_never() -> None:
    _, first, second, *_ = lines(80)
    assert "64B: ndr 1.885 … 1.904 Mfps" in first
    assert first.endswith("6 PASS, 1")
    assert second.strip() == "INVALID"


def test_a_line_parts_no_figure_from_its_unit_and_bounds_only_where_it_has_to() -> None:
    said = Text("it was between 5.792 … 6.095 Mfps for up to 1.812 ms, or ≥ 3 % of it")
    for width in range(10, 80):
        broken = between_words(said, width, "").plain.splitlines()
        words = " ".join(broken)
        assert words == said.plain
        for whole in ("6.095 Mfps", "1.812 ms", "≥ 3 %"):
            assert any(whole in line for line in broken), width
        if width >= len("5.792 … 6.095 Mfps"):
            assert any("5.792 … 6.095 Mfps" in line for line in broken), width


def test_a_column_whose_cells_may_be_broken_keeps_figures_whole_and_so_does_its_heading() -> None:
    heads = columns("case", "A", "measured at, and why", right=(1,))
    why = "at 12.25 Mfps; " * 3
    out, file = terminal(44)
    print_table(out, Table("figures", heads, (("phy2phy_tput-64B", "5.8 Mfps", why),)))
    printed = file.getvalue()
    assert printed.count("12.25 Mfps") == 3
    assert "…" not in printed
    assert {"measured", "why"} <= set(printed.replace(",", " ").split())


def test_sentences_that_would_have_a_word_in_each_line_go_below_the_numbers() -> None:
    why = Column[None]("why", breaks=True, least=30)
    heads = (*columns("case", "rate", right=(1,)), why)
    table = Table("figures", heads, (("phy2phy_tput-64B", "5.8 Mfps", "everywhere " * 9),))
    for width, beside_it in ((60, True), (50, False)):
        out, file = terminal(width)
        print_table(out, table)
        head, *_ = file.getvalue().splitlines()
        assert ("why" in head) is beside_it
        assert file.getvalue().count("everywhere") == 9


@given(st.integers(40, 200), st.integers(1, 12))
def test_what_does_not_fit_beside_each_other_stands_below_and_is_whole(
    width: int, count: int
) -> None:
    numbers = [f"{place}.0 Mfps" for place in range(count)]
    heads = columns("trial", *(f"column {place}" for place in range(count)), breaks=False)
    out, file = terminal(width)
    print_table(out, Table("work", heads, (("#1", *numbers),)))
    rows = [line for line in file.getvalue().splitlines() if line.startswith("#1")]
    words = [word.strip() for row in rows for word in row.removeprefix("#1").split("  ")]
    assert [word for word in words if word] == numbers
    assert max(map(len, rows)) <= width


def test_what_may_stand_below_the_first_column_does_so_where_there_is_little_room() -> None:
    heads: tuple[Column[None], ...] = (
        Column("run"),
        Column("took"),
        Column("found", below=True),
        Column("end", below=True),
    )
    long = "64B: 1.885 … 1.904 Mfps; 1.777 … 1.904 Mfps over 3"
    table = Table("runs", heads, ((Cell("v6yp", "name"), "2 s\n1 s", f"{long}\n128B", "6 PASS"),))
    out, file = terminal(40)
    print_table(out, table)
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "run, found, end                took",
        "v6yp                           2 s",
        "  64B: 1.885 … 1.904 Mfps;     1 s",
        "    1.777 … 1.904 Mfps over 3",
        "  128B",
        "  6 PASS",
    ]
    out, file = terminal(200)
    print_table(out, table)
    assert long in file.getvalue().splitlines()[1]


@given(st.integers(12, 200), st.integers(0, 8), st.booleans())
def test_no_number_is_cut_or_parted_from_its_unit_at_any_width(
    width: int, count: int, blocks: bool
) -> None:
    numbers = [f"{place}.789 … {place}.790 Mfps" for place in range(count)]
    names = (f"column {place}" for place in range(count))
    heads = columns("case", "number", *names, "why it is so", right=range(2, 2 + count))
    out, file = terminal(width)
    row = ("phy2phy_tput-64B", "NDR", *numbers, "loss grew with load, and so on")
    print_table(out, Table("changes", heads, (row,), keys=2), blocks=blocks)
    printed = file.getvalue()
    assert all(number in printed for number in numbers)
    assert not {*row[0].split(), *row[-1].split()} - {*printed.split()}


def test_a_cell_of_any_length_takes_no_more_steps_than_there_are_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = 0

    def counted(*values: Any, **how: Any) -> Any:
        nonlocal steps
        steps += 1
        return max(*values, **how)

    monkeypatch.setattr(tables, "max", counted, raising=False)
    heads = columns("case", "why it is so")
    table = Table("figures", heads, (("phy2phy_tput-64B", "so it is " * 10_000),))
    (part,) = beside(table, 80)
    assert sum(column.width or 0 for column in part.columns) == 78
    assert steps < 1_000


def test_in_each_of_several_tables_rows_are_named_by_all_columns_that_do_so() -> None:
    heads = columns("case", "repeated", "median", "mean", right=(2, 3))
    number = "5.849 … 5.908 Mfps"
    rows = (("64B", "NDR", number, number), ("", "PDR", number, number))
    out, file = terminal(40)
    print_table(out, Table("repeats", heads, rows, keys=2))
    assert [line.split() for line in file.getvalue().splitlines()] == [
        *(["case", "repeated", "median"], ["64B", "NDR", *number.split()]),
        *(["PDR", *number.split()], []),
        *(["case", "repeated", "mean"], ["64B", "NDR", *number.split()]),
        ["PDR", *number.split()],
    ]


def test_where_not_even_one_number_fits_beside_the_name_each_row_is_a_block() -> None:
    heads = columns("case", "load", breaks=False)
    table = Table("loads", heads, (("phy2phy_tput-64B", "5.8 Mfps\n5.9 Mfps"),))
    assert beside(table, 20) == []
    out, file = terminal(20)
    print_table(out, table)
    assert file.getvalue().splitlines() == [
        *("case", "phy2phy_tput-64B", "  load  5.8 Mfps", "    5.9 Mfps")
    ]


def test_a_table_of_which_one_column_is_left_is_printed() -> None:
    table = Table("names", (Column("name"), Column("more", rank=1)), (("p2p", "x" * 80),))
    out, file = terminal(40)
    print_table(out, table)
    assert file.getvalue().split() == ["name", "p2p"]


def test_all_tables_on_a_terminal_are_laid_out_in_one_place() -> None:
    house = REPOSITORY / "vsperf"
    found = {path for path in house.rglob("*.py") if "rich.table" in path.read_text()}
    assert found == {house / "cli" / "tables.py"}, "the library cuts what does not fit"


SETTINGS = Table(
    "environment",
    columns("what differs", "A", "B", "where", "", others="left"),
    (
        (
            "vswitch.behaviour.lost_at_capacity",
            "1%",
            "–",
            "phy2phy_tput-64B, phy2phy_tput-512B",
            "",
        ),
        ("testbed.title", "a switch, a generator and a cable", "the same", "", ""),
    ),
)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 220])
def test_where_words_are_to_be_copied_none_is_broken(width: int) -> None:
    out, file = terminal(width)
    print_table(out, SETTINGS, blocks=True)
    words = Counter(word for row in SETTINGS.texts for cell in row for word in cell.split())
    assert not words - Counter(file.getvalue().split())
    if width > 60:
        assert max(map(len, file.getvalue().splitlines())) <= width


def test_words_that_do_not_fit_beside_each_other_stand_in_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, file = terminal(40)
    monkeypatch.setattr(type(out), "is_terminal", property(lambda self: True))
    print_table(out, SETTINGS, blocks=True)
    assert file.getvalue().splitlines() == [
        "what differs",
        "vswitch.behaviour.lost_at_capacity",
        "  A      1%",
        "  B      –",
        "  where  phy2phy_tput-64B,",
        "    phy2phy_tput-512B",
        "testbed.title",
        "  A      a switch, a generator and a",
        "    cable",
        "  B      the same",
    ]


TABLE = Table(
    "changes",
    (Column("case", meaning='of a "run"'), Column("load", align="right"), Column("", align="left")),
    ((Cell("64B", link="case-1"), "1 fps\n2 fps", Cell("<b>|worse", "worse")),),
    "changes",
)


def test_a_page_shows_what_cells_mean_and_runs_nothing_of_them() -> None:
    page = html_table(TABLE)
    assert page.startswith('<table class="changes">')
    assert '<th scope="col" title="of a &#34;run&#34;">case</th>' in page
    assert '<th scope="row" data-name="case"><a href="#case-1">64B</a></th>' in page
    assert '<td data-name="load">1 fps\n2 fps</td>' in page
    assert '<td class="words bad">&lt;b&gt;|worse</td>' in page
    assert "<td></td></tr></thead>" in page, "a heading of nothing is none"


def test_a_page_of_others_needs_none_of_our_styles() -> None:
    page = html_table(TABLE, inline=True)
    assert 'style="text-align: right">1 fps' in page
    assert "words" not in page


def test_in_markdown_a_row_is_a_line() -> None:
    assert markdown_table(TABLE).splitlines() == [
        "| case | load |  |",
        "| :--- | ---: | :--- |",
        "| 64B | 1 fps | &lt;b&gt;\\|worse |",
        "|  | 2 fps |  |",
    ]


def test_columns_that_say_nothing_can_be_left_out() -> None:
    table = Table("", columns("trial", "load", "busy"), (("#1", "–", "–"), ("#2", "1 fps", "–")))
    assert table.without("–", ("busy",)).names == ("trial", "load")
    assert table.without("–", table.names).texts == (("#1", "–"), ("#2", "1 fps"))


def test_a_value_that_is_missing_is_none_and_people_read_a_dash() -> None:
    column = Column[float | None]("loss", float, lambda found: found)
    assert [column.value(one) for one in (None, float("inf"), 1)] == [None, None, 1.0]
    assert Table.made("losses", [column], [None, 0.5]).rows == (("–",), ("0.5",))
