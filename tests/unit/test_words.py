"""Every word that a table or a tutorial uses is explained, in one place and once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from all_wrong import none_wrong
from click.testing import CliRunner
from headings import headings

from vsperf.cli.commands.explain import find
from vsperf.cli.main import cli, run_cli
from vsperf.errors import ExitCode, UsageError
from vsperf.output.case_tables import effort_columns, latency_columns, limit_column, rate_columns
from vsperf.output.trial_tables import ALWAYS, WHERE_COUNTED
from vsperf.records.words import SUBJECTS, meaning

REPOSITORY = Path(__file__).resolve().parents[2]
BOLD_IN_A_LIST = re.compile(r"^- (?=\*\*)(.*?)(?:$|[:,.] )", re.MULTILINE)
BOLD = re.compile(r"\*\*(.+?)\*\*")


def explained(word: str) -> bool:
    return CliRunner().invoke(cli, ["explain", word]).exit_code == 0


def test_every_column_of_the_tables_is_explained() -> None:
    columns = [*rate_columns(()), limit_column(), *latency_columns(), *effort_columns(())]
    names = [column.name for column in columns] + [
        "% line",
        "outcome",
        "clean",
        "trial",
        *ALWAYS,
        *WHERE_COUNTED,
    ]
    assert len(names) > 20
    none_wrong(f"{name}: nobody says what it is" for name in names if meaning(name) is None)


def test_every_word_that_a_tutorial_points_out_is_explained() -> None:
    for page in ("tutorial.md", "tutorial-simulated.md"):
        lines = BOLD_IN_A_LIST.findall((REPOSITORY / "docs" / page).read_text())
        words = [word for line in lines for word in BOLD.findall(line) if word.strip("!")]
        assert words
        none_wrong(f"{page}: {word} is not explained" for word in words if not explained(word))


def test_a_word_is_explained_however_it_is_written() -> None:
    assert all(map(explained, ("NDR", "ndr", "p99.9", "clean", "cycles/frame", "Path-Check")))


def test_a_word_with_two_meanings_is_told_with_both() -> None:
    said = CliRunner().invoke(cli, ["explain", "generator"]).output
    assert "Limits" in said
    assert "Parts" in said


def test_no_word_of_the_field_is_explained_twice() -> None:
    counted = Counter(word.lower() for words in SUBJECTS.values() for word in words)
    none_wrong(f"{word}: {count} times" for word, count in counted.items() if count > 1)
    assert len(counted) > 60


def test_each_heading_of_a_table_is_explained() -> None:
    known = headings()
    assert {"limit", "so it is", "took", "measured at, and why"} <= set(known), "none was found"

    def is_explained(heading: str) -> bool:
        try:
            return bool(find(heading))
        except UsageError:
            return False

    none_wrong(
        f"{place} has the heading {heading!r}, which `vsperf explain` does not know"
        for heading, place in known.items()
        if not is_explained(heading)
    )


def test_several_words_need_no_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["explain", "so", "it", "is"]) == ExitCode.OK
    assert "not to be told apart" in capsys.readouterr().out
