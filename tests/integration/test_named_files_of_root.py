"""Root writes files that it names, in a folder of somebody else's: nothing of root's is touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacker import Town, as_nobody, town
from cli_shell import SMOKE, Shell, fixture_vsperf

from vsperf import own_python
from vsperf.errors import ExitCode
from vsperf.store.folders import RECORDS, run_folders

pytestmark = pytest.mark.everyday

__all__ = ["fixture_vsperf"]

WRITERS = {
    "plot": ("plot", "search", "latest", "--results={results}"),
    "compare": (
        "compare",
        "latest",
        "latest",
        "--format=md",
        "-oout.md",
        "--results={results}",
    ),
    "report": ("report", "latest", "-oout.html", "--results={results}"),
    "export": ("export", "json", "latest", "-oout.json", "--results={results}"),
}
NAMES = {"plot": "search.svg", "compare": "out.md", "report": "out.html", "export": "out.json"}


@pytest.fixture(name="here")
def fixture_here(
    vsperf: Shell, require: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Town]:
    """Give a town to a root who stands in a folder of nobody's, with results of its own."""
    require("root")
    monkeypatch.delenv("SUDO_UID", raising=False)
    with town() as made:
        assert vsperf(*SMOKE, "--results", str(made.run / "results")).code == ExitCode.OK
        as_nobody((made.tmp / "theirs").mkdir)
        monkeypatch.chdir(made.tmp / "theirs")
        yield made


def words(here: Town, writer: str) -> list[str]:
    return [word.format(results=here.run / "results") for word in WRITERS[writer]]


@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_written_through_a_link_of_another_user(
    vsperf: Shell, here: Town, writer: str
) -> None:
    name = NAMES[writer]
    as_nobody(lambda: Path(name).symlink_to(here.precious))
    ended = vsperf(*words(here, writer))
    assert ended.code == ExitCode.OK, ended.err
    assert here.precious.read_text() == "root\n"
    assert not Path(name).is_symlink()
    assert Path(name).stat().st_uid == 0


@pytest.mark.parametrize("writer", WRITERS)
def test_nobody_waits_for_the_reader_of_another_users_pipe(
    vsperf: Shell, here: Town, writer: str
) -> None:
    as_nobody(lambda: os.mkfifo(NAMES[writer]))
    ended = vsperf(*words(here, writer))
    assert ended.code == ExitCode.COMPONENT_FAILED
    assert "is there, and is no regular file" in ended.err


@pytest.mark.parametrize("writer", ["compare", "report", "export"])
def test_no_folder_is_reached_through_a_link_of_another_user(
    vsperf: Shell, here: Town, writer: str
) -> None:
    as_nobody(lambda: Path("figures").symlink_to(here.precious.parent))
    into = [word.replace("-oout", "-ofigures/out") for word in words(here, writer)]
    ended = vsperf(*into)
    assert ended.code == ExitCode.COMPONENT_FAILED
    assert "is a link of nobody" in ended.err
    assert [*here.precious.parent.iterdir()] == [here.precious]


def test_no_capture_is_written_behind_a_link_of_another_user(
    vsperf: Shell, here: Town, require: Callable[[str], None]
) -> None:
    require("tgen")
    as_nobody(lambda: Path("figures").symlink_to(here.precious.parent))
    by_hand = ("--vdev", "net_ring0", "--no-hugepages", "--frames", "1")
    ended = vsperf("tgen", "capture", *by_hand, "figures/seen.pcap")
    assert ended.code == ExitCode.COMPONENT_FAILED
    assert "is a link of nobody" in ended.err
    assert [*here.precious.parent.iterdir()] == [here.precious]


def test_a_run_is_not_stored_behind_a_link_of_another_user(vsperf: Shell, here: Town) -> None:
    as_nobody(lambda: Path("results").symlink_to(here.precious.parent))
    ended = vsperf(*SMOKE)
    assert ended.code == ExitCode.COMPONENT_FAILED
    assert "is a link of nobody" in ended.err
    assert [*here.precious.parent.iterdir()] == [here.precious]


def test_a_pipe_in_the_place_of_matplotlibs_settings_is_not_waited_for(
    vsperf: Shell, here: Town
) -> None:
    as_nobody(lambda: os.mkfifo("matplotlibrc"))
    argv = own_python.module("vsperf", *words(here, "plot"))
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as plot:
        assert plot.wait(60) == ExitCode.OK
    assert Path("search.svg").is_file()


def test_clean_removes_nothing_behind_a_link_of_another_user(vsperf: Shell, here: Town) -> None:
    own = here.run / "results"
    (planned := own / ".latest-x").symlink_to("nowhere")
    as_nobody(lambda: Path("results").symlink_to(own))
    ended = vsperf("clean")
    assert planned.is_symlink()
    assert "results is not looked into: results in results is a link of nobody" in ended.err
    assert vsperf("clean", "--results", str(own)).code == ExitCode.OK
    assert not planned.is_symlink()


@pytest.mark.parametrize("name", [".latest-x", ".index.sqlite-x", "2026-01-01-smoke-k7f3"])
def test_clean_removes_no_measurement_whatever_its_folder_is_called(
    vsperf: Shell, here: Town, name: str
) -> None:
    results = here.run / "results"
    (run,) = run_folders(results)
    shutil.copytree(run, copy := results / name)
    long_ago = time.time() - 3600
    os.utime(copy, (long_ago, long_ago))
    vsperf("clean", "--results", str(results))
    assert (copy / RECORDS).read_bytes() == (run / RECORDS).read_bytes()
