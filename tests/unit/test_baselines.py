"""Names for runs: kept whole or not at all, and never believed blindly."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import pytest
from compared_runs import bound, found
from compared_runs import run as stored
from stored_runs import store_finished

from vsperf.cli.commands.compare import command as compare_command
from vsperf.errors import StoreError, UsageError
from vsperf.output.before import QUESTION, before_of
from vsperf.output.report.page import Compared
from vsperf.output.report.write import write_markdown
from vsperf.records.files.baselines import (
    FOLDER,
    baselines,
    read_baseline,
    remove_baseline,
    set_baseline,
)
from vsperf.records.files.folders import run_folders
from vsperf.records.flags import Flag
from vsperf.records.result import SearchResult


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> Path:
    return store_finished(tmp_path)


def test_a_name_stands_for_a_run_until_it_is_set_anew(tmp_path: Path, folder: Path) -> None:
    other = store_finished(tmp_path, "2026-11-21-phy2phy_tput-aaaa")
    set_baseline(tmp_path, "main", other)
    set_baseline(tmp_path, "main", folder)
    assert read_baseline(tmp_path, "main").folder == folder
    assert [(one.name, one.run) for one in baselines(tmp_path)] == [("main", folder.name)]


def test_results_that_are_moved_keep_their_baselines(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    set_baseline(before, "main", store_finished(before))
    before.rename(after)
    assert read_baseline(after, "main").there


def test_a_run_elsewhere_can_be_one(tmp_path: Path, folder: Path) -> None:
    set_baseline(tmp_path / "results", "main", folder)
    assert read_baseline(tmp_path / "results", "main").folder == folder


def test_baselines_are_no_runs(tmp_path: Path, folder: Path) -> None:
    set_baseline(tmp_path, "main", folder)
    assert run_folders(tmp_path) == (folder,)


def test_whoever_is_killed_while_setting_one_leaves_the_old_one(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_baseline(tmp_path, "main", folder)

    def killed(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        set_baseline(tmp_path, "main", store_finished(tmp_path, "2026-11-21-phy2phy_tput-aaaa"))
    assert read_baseline(tmp_path, "main").folder == folder
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["main.json"]


def test_what_a_killed_process_left_is_no_baseline(tmp_path: Path, folder: Path) -> None:
    set_baseline(tmp_path, "main", folder)
    (tmp_path / FOLDER / ".main.json.0123456789abcdef").write_text("{")
    assert [one.name for one in baselines(tmp_path)] == ["main"]


def test_a_removed_one_is_gone_and_its_run_stays(tmp_path: Path, folder: Path) -> None:
    set_baseline(tmp_path, "main", folder)
    remove_baseline(tmp_path, "main")
    assert baselines(tmp_path) == ()
    assert folder.is_dir()
    with pytest.raises(UsageError, match="no baseline 'main'"):
        remove_baseline(tmp_path, "main")


def test_one_that_there_is_not_is_refused_with_those_that_there_are(
    tmp_path: Path, folder: Path
) -> None:
    set_baseline(tmp_path, "main", folder)
    with pytest.raises(UsageError, match="no baseline 'mainn'") as caught:
        read_baseline(tmp_path, "mainn")
    assert caught.value.problems[0].fix == "did you mean main?"


def test_a_run_that_is_gone_is_told(tmp_path: Path, folder: Path) -> None:
    set_baseline(tmp_path, "main", folder)
    (folder / "records.jsonl").unlink()
    assert [one.there for one in baselines(tmp_path)] == [False]
    with pytest.raises(UsageError, match="the run of the baseline main is gone"):
        read_baseline(tmp_path, "main")


@pytest.mark.parametrize("name", ["", "../main", ".main", "a/b", "a\n", "7", "x" * 64])
def test_a_name_is_never_a_path(tmp_path: Path, folder: Path, name: str) -> None:
    for action in (
        lambda: set_baseline(tmp_path, name, folder),
        lambda: remove_baseline(tmp_path, name),
    ):
        with pytest.raises(UsageError, match="cannot be the name of a baseline"):
            action()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"run": 7, "set_at": ""}', b"[" * 9000, b"\xff"]
)
def test_a_damaged_one_is_told_and_can_be_set_anew(
    tmp_path: Path, folder: Path, content: bytes
) -> None:
    set_baseline(tmp_path, "main", folder)
    (tmp_path / FOLDER / "main.json").write_bytes(content)
    with pytest.raises(StoreError, match="cannot be read"):
        read_baseline(tmp_path, "main")
    set_baseline(tmp_path, "main", folder)
    assert read_baseline(tmp_path, "main").there


def test_a_link_is_not_followed(tmp_path: Path, folder: Path) -> None:
    set_baseline(tmp_path, "other", folder)
    (tmp_path / FOLDER / "main.json").symlink_to("other.json")
    with pytest.raises(StoreError, match="cannot be read"):
        read_baseline(tmp_path, "main")


def test_the_shell_completes_the_names_of_baselines(tmp_path: Path, folder: Path) -> None:
    for name in ("main", "release-2.1"):
        set_baseline(tmp_path, name, folder)
    context = click.Context(compare_command)
    context.params["results"] = tmp_path
    (option,) = (one for one in compare_command.params if one.name == "baseline")
    assert [one.value for one in option.shell_complete(context, "")] == ["main", "release-2.1"]
    assert [one.value for one in option.shell_complete(context, "m")] == ["main"]


# Whether a run is slower than before, in the first screen of its report, and by how much.


def run(
    results: Path, name: str, rates: Mapping[int, Sequence[int | SearchResult]], *flags: Flag
) -> Path:
    """Store a run; those of later letters were begun later."""
    hour = ord(name[0]) - ord("a")
    began = f"2026-11-20T{hour:02d}:00:00.000+00:00"
    stored(results, name, rates, flags=flags, started_at=began)
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
        (900_000, "Perhaps: 64B ndr -10.00 %"),
        (1100_000, "No, perhaps it is better: 64B ndr +10.00 %"),
        (500_000, "Yes: 64B ndr -50.00 %"),
    ],
)
def test_of_single_deployments_it_is_a_draw_perhaps(tmp_path: Path, rate: int, said: str) -> None:
    for hour, (name, found_one) in enumerate((("aaaa", 1000_000), ("bbbb", rate))):
        began = f"2026-11-20T{hour:02d}:00:00.000+00:00"
        stored(tmp_path, name, {1: [found_one]}, started_at=began, simulated=False)
    assert (answer(tmp_path, "bbbb") or "").startswith(said)


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


def test_what_a_busy_machine_came_to_is_nothing_to_be_held_against(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [1000_000]})
    run(tmp_path, "bbbb", {1: [bound(1_484_000)]})
    run(tmp_path, "cccc", {1: [11_000]}, Flag.TOO_BUSY)
    run(tmp_path, "dddd", {1: [1000_000]})
    said = answer(tmp_path, "dddd") or ""
    assert said.startswith("No change")
    assert said.endswith("`vsperf compare aaaa dddd`."), "the last one with an answer"


def test_where_there_is_none_to_be_believed_that_is_said(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [11_000]}, Flag.TOO_BUSY)
    run(tmp_path, "bbbb", {1: [1000_000]})
    assert answer(tmp_path, "bbbb") == (
        "It cannot be told: no earlier run of the same has a number to hold it against; "
        "too busy to tell: aaaa."
    )
    run(tmp_path, "cccc", {1: [12_000]}, Flag.TOO_BUSY)
    said = answer(tmp_path, "cccc") or ""
    assert said.startswith("It cannot be told against bbbb")
    assert "the machine was too busy to tell" in said


def test_below_a_lower_bound_it_is_slower_and_above_it_cannot_be_told(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [bound(1_484_000)]})
    run(tmp_path, "bbbb", {1: [1000_000]})
    assert (answer(tmp_path, "bbbb") or "").startswith("Yes: 64B ndr")
    run(tmp_path / "other", "aaaa", {1: [bound(1_484_000)]})
    run(tmp_path / "other", "bbbb", {1: [5000_000]})
    assert (answer(tmp_path / "other", "bbbb") or "").startswith("It cannot be told against aaaa")


def test_an_interval_in_which_a_change_lies_is_not_told(tmp_path: Path) -> None:
    run(tmp_path, "aaaa", {1: [found(3_228_000, 5_578_000)]})
    run(tmp_path, "bbbb", {1: [found(5_251_000, 5_305_000)]})
    said = answer(tmp_path, "bbbb") or ""
    assert said.startswith("It cannot be told against aaaa")
    assert "a change of 3.00 % or more can be neither seen nor ruled out, of 64B ndr +62.6" in said


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
