"""The table of a run answers the question: how fast, what limited it, and how much time counted."""

from __future__ import annotations

import io
import json
from fractions import Fraction
from typing import Any

import pytest
from record_samples import case_record, goal_result, header
from rich.text import Text
from search_models import case_of

from vsperf.cli.tables import print_summary
from vsperf.cli.terminal import PlainConsole, between_words
from vsperf.record.flags import Flag
from vsperf.record.limit import Limit
from vsperf.record.result import CleanResult, SearchResult
from vsperf.stats.answers import reasons
from vsperf.stats.summary import CaseRow

CLEAN = CleanResult(
    share="47/50", lower_fps=8_200_000, upper_fps=8_280_000, limit=Limit.DUT, reason="lost"
)


def as_written() -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(case_of("mlr").model_dump_json())
    return spec


def shown(clean: CleanResult | None, width: int = 120, *flags: Flag) -> str:
    """Return what is printed of a case whose NDR is 8.000 … 8.040 Mfps, limited by the host."""
    goal = goal_result().model_copy(update={"clean": clean, "limit": Limit.HOST})
    planned = header().cases[0].model_copy(update={"spec": as_written()})
    record = case_record(planned.key, result=SearchResult(goals=(goal,)), checks=(), flags=flags)
    out = PlainConsole(stderr=False, width=width)
    out.file = io.StringIO()
    print_summary(out, [CaseRow(planned, record, ())], simulated=False)
    return out.file.getvalue()


def row_of(text: str, words: str) -> str:
    return next(line for line in text.splitlines() if words in line)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_answer_from_clean_time_stands_below_the_one_from_all_time(width: int) -> None:
    text = shown(CLEAN, width)
    assert "host" in row_of(text, "8.000 … 8.040 Mfps")
    assert "dut" in row_of(text, "clean 8.200 … 8.280 Mfps")
    assert "94.0%" in text
    assert "clean: only the time in which nothing kept generator or switch from running" in text
    assert max(len(line) for line in text.splitlines() if "Mfps" in line) <= width


def test_an_answer_that_is_the_same_is_not_said_twice() -> None:
    bounds = {"lower_fps": 8_000_000, "upper_fps": 8_040_000}
    same = CLEAN.model_copy(update={**bounds, "limit": Limit.HOST})
    text = shown(same)
    assert text.count("8.000 … 8.040 Mfps") == 1
    assert "94.0%" in text


def test_the_same_interval_that_something_else_limits_is_said() -> None:
    other = CLEAN.model_copy(update={"lower_fps": 8_000_000, "upper_fps": 8_040_000})
    assert "dut" in row_of(shown(other), "clean 8.000 … 8.040 Mfps")


def test_that_no_load_passed_in_clean_time_is_said() -> None:
    none = CLEAN.model_copy(update={"lower_fps": None, "flags": (Flag.AT_MINIMUM,)})
    assert "clean < 8.280 Mfps" in shown(none)


def test_without_an_answer_from_clean_time_a_line_says_why() -> None:
    text = shown(CleanResult(share=str(Fraction(3, 10)), reason="only 30% of the time was clean"))
    assert "! no ndr from clean time: only 30% of the time was clean" in text
    assert "30.0%" in text


def test_where_nobody_knows_of_slots_there_is_no_word_of_clean_time() -> None:
    assert "clean" not in shown(None)


def test_a_doubt_is_one_line_and_says_where_there_is_more() -> None:
    text = shown(None, 120, Flag.SPORADIC_LOSS, Flag.UNSTABLE)
    doubts = [line for line in text.splitlines() if line.startswith("! ")]
    assert [line.split(":")[0] for line in doubts] == ["! unstable", "! sporadic-loss"]
    assert doubts[0] == "! unstable: Equal trials at one load disagreed: some passed, some failed"
    assert "more on a flag: vsperf explain FLAG" in text


def test_no_figure_is_cut_on_80_columns() -> None:
    wide, narrow = shown(CLEAN, 220), shown(CLEAN, 80)
    assert "…" not in narrow.replace(" … ", "")
    for text in ("RFC 2544", "8.000 … 8.040 Mfps", "94.0%"):
        assert text in wide
        assert text in narrow


def test_a_terminal_breaks_lines_between_words_and_no_path() -> None:
    path = "/srv/" + "x" * 100
    broken = between_words(Text(f"{'word ' * 30}at {path} it ends"), 80).plain.splitlines()
    assert "".join(broken).replace("  ", " ").split() == f"{'word ' * 30}at {path} it ends".split()
    assert path in (line.strip() for line in broken)
    assert all(len(line) <= 80 for line in broken if path not in line)
    assert [line.startswith("  ") for line in broken] == [False] + [True] * (len(broken) - 1)


def test_both_answers_have_a_reason() -> None:
    goal = goal_result().model_copy(update={"clean": CLEAN})
    planned = header().cases[0]
    record = case_record(planned.key, result=SearchResult(goals=(goal,)))
    assert reasons(CaseRow(planned, record, ())) == [
        "ndr: loss grew with load",
        "ndr in 94.0% clean time: lost",
    ]
