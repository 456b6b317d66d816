"""Run folders are named, made and listed so that each is found again by a few letters."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from record_samples import header
from stored_runs import TESTCASES, interrupted_run, write_run

from vsperf.errors import UsageError
from vsperf.records.files.baselines import baselines, set_baseline
from vsperf.records.files.folders import RECORDS, make_folder, point_latest, resolve, run_folders
from vsperf.records.files.leftovers import Leftover, leftovers
from vsperf.records.files.writer import RunWriter
from vsperf.records.run import RunResume
from vsperf.trust import trusted


def test_a_run_id_is_date_testcase_and_four_letters_that_cannot_be_misread(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, ["phy2phy_tput", "phy2phy_tput"])
    form = r"\d{4}-\d\d-\d\d-phy2phy_tput-[34679acdefghjkmnpqrtuvwxy]{4}"
    assert re.fullmatch(form, folder.name)


def test_a_run_of_different_testcases_is_called_several(tmp_path: Path) -> None:
    assert "-several-" in make_folder(tmp_path, ["phy2phy_tput", "pvp_tput"]).name


def test_many_runs_started_at_once_all_get_folders_of_their_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        folders = list(pool.map(lambda _: make_folder(tmp_path, TESTCASES), range(300)))
    assert len(set(folders)) == 300


def test_latest_points_to_the_run_last_begun_or_resumed(tmp_path: Path) -> None:
    first = interrupted_run(tmp_path)
    second = write_run(tmp_path)
    assert (tmp_path / "latest").resolve() == second
    with RunWriter.resume(first) as writer:
        assert (tmp_path / "latest").resolve() == second, "it may still be refused"
        writer.append(RunResume(resumed_at="2026-11-21T10:00:00.000+00:00", argv=()))
    assert (tmp_path / "latest").resolve() == first


def test_a_run_has_its_folder_in_the_place_that_was_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may rename the folder of results can put another one, or a link, into its place."""
    results, theirs = tmp_path / "results", tmp_path / "theirs"
    theirs.mkdir()
    reached = trusted.reached

    @contextmanager
    def swapped(path: Path, *, make: bool = False) -> Iterator[int]:
        with reached(path, make=make) as place:
            results.rename(tmp_path / "looked at")
            results.symlink_to(theirs)
            yield place

    monkeypatch.setattr(trusted, "reached", swapped)
    folder = make_folder(results, TESTCASES)
    assert [one.name for one in (tmp_path / "looked at").iterdir()] == [folder.name]
    results.unlink()
    (tmp_path / "looked at").rename(results)
    point_latest(folder)
    assert (tmp_path / "looked at" / "latest").readlink() == Path(folder.name)
    assert list(theirs.iterdir()) == []


def test_a_file_called_latest_that_somebody_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text("mine")
    write_run(tmp_path)
    assert (tmp_path / "latest").read_text() == "mine"


def test_a_mistyped_latest_is_told_from_no_run(tmp_path: Path) -> None:
    write_run(tmp_path)
    with pytest.raises(UsageError) as refused:
        resolve(tmp_path, "latesst")
    assert refused.value.problems[0].fix == "did you mean latest?"


def test_runs_are_found_by_path_name_beginning_ending_and_latest(tmp_path: Path) -> None:
    names = ("2026-11-20-phy2phy_tput-k7f3", "2026-11-20-pvp_tput-aaaa", "2026-11-21-pvp_tput-k7f4")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / RECORDS).write_text(header(name).model_dump_json() + "\n")
    point_latest(tmp_path / names[1])
    meant = {
        names[0]: 0,
        "2026-11-20-ph": 0,
        "k7f3": 0,
        "2026-11-21": 2,
        "latest": 1,
        str(tmp_path / names[2]): 2,
        str(tmp_path / names[2] / RECORDS): 2,
    }
    for text, number in meant.items():
        assert resolve(tmp_path, text) == tmp_path / names[number], text


def test_without_a_link_latest_is_the_run_written_last(tmp_path: Path) -> None:
    old, new = write_run(tmp_path), write_run(tmp_path)
    os.utime(old / RECORDS, (1, 1))
    (tmp_path / "latest").unlink()
    assert resolve(tmp_path, "latest") == new


def test_a_beginning_that_fits_several_runs_lists_them(tmp_path: Path) -> None:
    folders = {write_run(tmp_path).name, write_run(tmp_path).name}
    with pytest.raises(UsageError, match="fits 2 runs") as caught:
        resolve(tmp_path, "20")
    assert all(name in str(caught.value) for name in folders)


def test_a_mistyped_run_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    with pytest.raises(UsageError) as caught:
        resolve(tmp_path, folder.name.replace("phy2phy", "phy2fy"))
    assert folder.name in (caught.value.problems[0].fix or "")


def test_a_run_folder_in_the_current_directory_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run(tmp_path / "elsewhere")
    write_run(tmp_path / "results")
    monkeypatch.chdir(folder.parent)
    assert resolve(tmp_path / "results", folder.name) == folder


NO_RUNS = ["", "latest!", "x", "*", ".", "../x", "/nowhere/at/all", "~/x", "~nobody-at-all/x"]
NO_NAMES = ["\0", "\0/", "\udcff/", "x" * 5000, "x" * 5000 + "/"]


@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize("text", [*NO_RUNS, *NO_NAMES])
def test_a_run_that_does_not_exist_is_a_plain_error(
    tmp_path: Path, text: str, filled: bool
) -> None:
    if filled:
        write_run(tmp_path)
    with pytest.raises(UsageError):
        resolve(tmp_path, text)


def test_other_folders_beside_the_runs_are_not_taken_for_runs(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / ".hidden").mkdir()
    assert run_folders(tmp_path) == (folder,)


def test_a_folder_whose_name_is_no_text_is_no_run(tmp_path: Path) -> None:
    for name in (b"\xff\xfe", b"fine"):
        folder = tmp_path / os.fsdecode(name)
        folder.mkdir()
        (folder / RECORDS).touch()
    assert [folder.name for folder in run_folders(tmp_path)] == ["fine"]


def test_one_run_that_cannot_be_looked_at_keeps_no_other_from_being_cleaned(tmp_path: Path) -> None:
    planted, stillborn = (tmp_path / f"2026-11-20-pvp_tput-{end}" for end in ("aaaa", "bbbb"))
    for folder in (planted, stillborn):
        folder.mkdir()
        (folder / RECORDS).write_text("")
    (tmp_path / "second name").hardlink_to(planted / RECORDS)
    for folder in (planted, stillborn):
        os.utime(folder, (0, 0))
    assert [one.path for one in leftovers(tmp_path)] == [stillborn]


def test_a_run_with_a_longer_header_than_is_looked_at_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers of thousands of cases have megabytes."""
    run = write_run(tmp_path)
    whole = (run / RECORDS).read_bytes()
    torn = tmp_path / "2026-11-20-pvp_tput-aaaa"
    torn.mkdir()
    (torn / RECORDS).write_bytes(whole[:100])
    for folder in (run, torn):
        os.utime(folder, (0, 0))
    monkeypatch.setattr(trusted, "MOST_BYTES", whole.index(b"\n") - 1)
    assert [one.path for one in leftovers(tmp_path)] == [torn]
    with pytest.raises(OSError, match="something was measured"):
        Leftover(run, "run").remove()
    assert (run / RECORDS).read_bytes() == whole


def test_what_a_killed_command_left_of_a_baseline_can_be_removed(tmp_path: Path) -> None:
    set_baseline(tmp_path, "main", write_run(tmp_path))
    left, new = (tmp_path / "baselines" / f".main.json.{end * 16}" for end in "ab")
    for path in (left, new):
        path.write_text("{")
    os.utime(left, (0, 0))
    (found,) = leftovers(tmp_path)
    assert (found.path, found.what) == (left, "half-made baseline")
    found.remove()
    assert new.exists(), "somebody may just be setting it"
    assert not left.exists()
    assert [one.name for one in baselines(tmp_path)] == ["main"]
