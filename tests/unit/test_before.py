"""Whether a run is slower than before, in the first screen of its report, and by how much."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared_runs import run as stored

from vsperf.output.before import QUESTION, before_of
from vsperf.output.report.page import Compared
from vsperf.output.report.write import write_markdown
from vsperf.records.files.baselines import set_baseline


def run(results: Path, name: str, rates: dict[int, list[int]]) -> Path:
    """Store a run; those of later letters were begun later."""
    hour = ord(name[0]) - ord("a")
    stored(results, name, rates, started_at=f"2026-11-20T{hour:02d}:00:00.000+00:00")
    return next(results.glob(f"*-{name}"))


def answer(results: Path, *runs: str) -> str | None:
    folders = [next(results.glob(f"*-{name}")) for name in runs]
    found = before_of(results, folders)
    return None if found is None else found.answer.replace("2026-11-20-phy2phy_tput-", "")


def test_a_run_is_held_against_the_last_one_of_the_same_case(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    assert answer(tmp_path, "aaaa") is None, "nothing was before"
    run(tmp_path, "bbbb", {1: [900_000]})
    said = answer(tmp_path, "bbbb")
    assert said is not None
    assert said.startswith("Yes: 64B ndr -10.00 % [-10.90 … -9.10 %], against")
    assert "nobody knows how far runs lie apart: `--repeat 4`" in said
    assert said.endswith("`vsperf compare aaaa bbbb`.")


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (1000_000, "No change that is more than chance: 64B ndr +0.00 % [-1.00 … +1.00 %]"),
        (1200_000, "No, it is better: 64B ndr +20.00 %"),
    ],
)
def test_what_is_no_worse_is_said_to_be_none(tmp_path: Path, rate: int, said: str) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    run(tmp_path, "bbbb", {1: [rate]})
    assert (answer(tmp_path, "bbbb") or "").startswith(said)


def test_a_baseline_counts_before_the_last_run(tmp_path: Path) -> None:
    first = run(tmp_path, "aaaa", {1: [1000_000]})
    run(tmp_path, "bbbb", {1: [500_000]})
    run(tmp_path, "cccc", {1: [1000_000]})
    set_baseline(tmp_path, "main", first)
    said = answer(tmp_path, "cccc") or ""
    assert said.startswith("No change")
    assert "against the baseline main" in said
    assert said.endswith("`vsperf compare --baseline main cccc`.")


def test_of_several_numbers_those_that_are_worse_are_counted(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000], 2: [1000_000], 3: [1000_000]})
    run(tmp_path, "bbbb", {1: [900_000], 2: [950_000], 3: [1000_000]})
    said = answer(tmp_path, "bbbb") or ""
    assert said.startswith("Yes: 2 of 3 numbers; the most, 64B ndr -10.00 %")


def test_of_a_report_of_several_runs_the_last_is_held_against_the_first(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    run(tmp_path, "bbbb", {1: [900_000]})
    assert (answer(tmp_path, "bbbb", "aaaa") or "").endswith("`vsperf compare aaaa bbbb`.")


def test_a_report_asks_the_question_and_answers_it(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    folder = run(tmp_path, "bbbb", {1: [900_000]})
    page = tmp_path / "page.md"
    with page.open("w") as out:
        found = before_of(tmp_path, [folder])
        write_markdown([folder], out, lambda *_: None, Compared(before=found))
    assert f"- {QUESTION} Yes: 64B ndr" in page.read_text()


def test_beside_a_folder_of_somebody_elses_nothing_is_looked_for(tmp_path: Path) -> None:
    run(tmp_path / "theirs", "aaaa", {1: [1000_000]})
    folder = run(tmp_path / "theirs", "bbbb", {1: [900_000]})
    assert before_of(tmp_path / "mine", [folder]) is None
    assert not (tmp_path / "theirs" / "index.sqlite").exists()
