"""Words of others are shown, and never steer the terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from vsperf.cli.main import run_cli
from vsperf.cli.output import say
from vsperf.cli.terminal import PlainConsole
from vsperf.errors import ExitCode
from vsperf.printable import printable

RENAMED = "\x1b]0;mine\x07 \x9b31m \u202e \r hidden \x7f"
SHOWN = r"\x1b]0;mine\x07 \x9b31m \u202e \r hidden \x7f"


def test_what_would_steer_is_written_out() -> None:
    assert printable(RENAMED) == SHOWN


def test_ordinary_words_lines_and_tabs_stay_what_they_are() -> None:
    text = "µs … 交换机 → é\n\tp99 ≥ 1 ✓"
    assert printable(text) == text


@given(text=st.text())
def test_nothing_is_left_that_a_terminal_obeys_whatever_the_text(text: str) -> None:
    safe = printable(text)
    assert all(one.isprintable() or one in "\n\t" for one in safe)
    assert printable(safe) == safe


@pytest.mark.parametrize("terminal", [False, True])
def test_a_console_writes_out_what_would_steer_wherever_it_stands(terminal: bool) -> None:
    table = Table("column")
    table.add_row(RENAMED)
    table.add_row(Text(RENAMED, style="bold"))
    out = PlainConsole(stderr=False, width=200)
    out.file, out._force_terminal = io.StringIO(), terminal
    for one in (RENAMED, Text(RENAMED), table):
        out.print(one, soft_wrap=True)
    said = out.file.getvalue()
    assert "]0;mine" in said
    assert not {"\x1b]", "\x07", "\x9b", "\u202e", "\r", "\x7f"} & {
        said[at : at + length] for at in range(len(said)) for length in (1, 2)
    }


@pytest.mark.parametrize(
    "words",
    [
        ["tgen", "calibrate", RENAMED, "1"],
        ["run", f"--{RENAMED}"],
        ["run", "--repeat", RENAMED],
        ["run", "--budget", RENAMED],
        [RENAMED],
    ],
)
def test_a_command_line_that_is_refused_is_quoted_without_what_would_steer(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(words) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert "mine" in said
    assert printable(said) == said


def test_words_in_brackets_and_between_colons_are_no_markup() -> None:
    out = PlainConsole(stderr=False, width=200)
    out.file = io.StringIO()
    table = Table("[bold]column", box=None)
    table.add_row("[/nothing] :smile:")
    out.print(table)
    assert "[/nothing] :smile:" in out.file.getvalue()


def test_a_line_for_people_is_written_out_too(capsys: pytest.CaptureFixture[str]) -> None:
    say(RENAMED)
    assert SHOWN in capsys.readouterr().out
