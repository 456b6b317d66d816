"""The watch over integration tests sees what a test leaves behind, and only that."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PARTS, Require, not_here
from leave_no_trace import (
    Places,
    adopt_orphans,
    children,
    left_behind,
    networks,
    own_workspaces,
    snapshot,
)
from ovs_traffic import wait_until

from vsperf.host.workspace import workspace

pytestmark = pytest.mark.scaffolding(
    "tests/leave_no_trace.py", "tests/conftest.py", "tests/unit/test_leave_no_trace.py"
)

WAIT = "import sys; sys.stdin.read()"


def await_words(word: str, places: Places) -> None:
    """Wait until a program shows its words: for a moment after its start the kernel has none."""
    wait_until(lambda: any(word in line for line in snapshot(places)))


@pytest.fixture(name="places")
def fixture_places(tmp_path: Path) -> Places:
    folders = {name: tmp_path / name for name in ("run", "huge", "netns", "net")}
    for folder in folders.values():
        folder.mkdir()
    return Places((folders["run"],), (folders["huge"],), folders["netns"], folders["net"])


def test_nothing_left_is_nothing_found(places: Places, tmp_path: Path) -> None:
    before = snapshot(places, tmp_path)
    assert left_behind(before, lambda: snapshot(places, tmp_path)) == []


def test_a_child_that_still_runs_is_found_and_named(places: Places) -> None:
    before = snapshot(places)
    with subprocess.Popen(
        [sys.executable, "-c", WAIT, "straggler"], stdin=subprocess.PIPE
    ) as child:
        await_words("straggler", places)
        left = left_behind(before, lambda: snapshot(places), patience_s=0)
    assert len(left) == 1
    assert left[0].startswith(f"process {child.pid}:")
    assert "straggler" in left[0]


def test_a_child_that_ended_is_no_trace(places: Places) -> None:
    before = snapshot(places)
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert left_behind(before, lambda: snapshot(places), patience_s=0) == []


def test_a_daemon_whose_parent_is_gone_is_still_found(places: Places) -> None:
    adopt_orphans()
    before = snapshot(places)
    read_end, write_end = os.pipe()
    parent = (
        "import subprocess, sys; subprocess.Popen("
        f"[sys.executable, '-c', {WAIT!r}, 'daemon'], start_new_session=True)"
    )
    with os.fdopen(write_end, "w"):
        subprocess.run([sys.executable, "-c", parent], stdin=read_end, check=True)
        await_words("daemon", places)
        left = left_behind(before, lambda: snapshot(places), patience_s=0)
    os.close(read_end)
    assert [line for line in left if "daemon" in line]
    assert left_behind(before, lambda: snapshot(places), patience_s=10) == []


def test_what_a_program_starts_that_was_there_before_is_that_programs_own(places: Places) -> None:
    waits = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WAIT!r}, 'helper'])"
    with subprocess.Popen(
        [sys.executable, "-c", f"input(); {waits}"], stdin=subprocess.PIPE
    ) as browser:
        older = children()
        before, outside = snapshot(places, older=older), snapshot(places)
        assert browser.stdin is not None
        browser.stdin.write(b"\n")
        browser.stdin.flush()
        await_words(f"{WAIT} helper", places)
        assert left_behind(before, lambda: snapshot(places, older=older), patience_s=0) == []
        assert "helper" in "".join(left_behind(outside, lambda: snapshot(places), patience_s=0))


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("run", "run directory or socket"),
        ("huge", "hugepage file"),
        ("netns", "network namespace"),
        ("net", "network link"),
    ],
)
def test_a_marked_name_is_found_and_a_foreign_one_is_not(
    places: Places, tmp_path: Path, folder: str, words: str
) -> None:
    before = snapshot(places)
    (tmp_path / folder / "vsperf-k7f3").touch()
    (tmp_path / folder / "docker0").touch()
    left = left_behind(before, lambda: snapshot(places), patience_s=0)
    assert len(left) == 1
    assert left[0].startswith(words)
    assert "vsperf-k7f3" in left[0]


def test_a_tap_is_found_by_its_name_and_the_owner_by_its_label(
    places: Places, tmp_path: Path
) -> None:
    before = snapshot(places)
    for name, owner in (("vspa0b1c2-1-0", os.getpid()), ("vspa0b1c2-1-1", os.getppid())):
        (tmp_path / "net" / name).mkdir()
        (tmp_path / "net" / name / "ifalias").write_text(f"vsperf-{owner}-a0b1c2\n")
    (tmp_path / "net" / "vsphone").mkdir()
    left = left_behind(before, lambda: snapshot(places), patience_s=0)
    assert left == ["network link vspa0b1c2-1-0"]


def test_a_socket_in_the_folder_of_the_test_is_found_but_a_file_is_not(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "results"
    own.mkdir()
    before = snapshot(places, own)
    (own / "records.jsonl").touch()
    monkeypatch.chdir(own)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("monitor.sock")
    assert left_behind(before, lambda: snapshot(places, own), patience_s=0) == [
        f"socket {own / 'monitor.sock'}"
    ]


@pytest.mark.parametrize(
    ("wanted", "outcome"),
    [
        ("", pytest.skip.Exception),
        ("sun", pytest.skip.Exception),
        ("sun,moon", pytest.fail.Exception),
        ("all", pytest.fail.Exception),
    ],
)
def test_a_missing_part_fails_only_where_it_is_asked_for(
    wanted: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VSPERF_CI_REQUIRE", wanted)
    with pytest.raises(outcome, match="moon: it has set"):
        not_here("moon", "it has set")


def test_a_part_that_is_there_is_not_missing(
    require: Require, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VSPERF_CI_REQUIRE", "all")
    monkeypatch.setitem(PARTS, "sun", lambda: None)
    require("sun")


def test_what_a_living_process_beside_this_one_owns_is_not_looked_at(tmp_path: Path) -> None:
    places = Places((tmp_path,), (), tmp_path, tmp_path)
    before = snapshot(places)
    ours, theirs, nobodys = os.getpid(), os.getppid(), 2**22 + 1
    for owner in (ours, theirs, nobodys):
        (tmp_path / f"vsperf-tgen-{owner}-a0b1c2").mkdir()
    left = "\n".join(left_behind(before, lambda: snapshot(places), patience_s=0))
    assert f"-{ours}-" in left
    assert f"-{nobodys}-" in left
    assert f"-{theirs}-" not in left


def test_networks_are_those_of_our_runs_and_of_none_that_runs_beside_them(places: Places) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    ours, left = f"vsperf-{os.getpid()}-00c0de", f"vsperf-{gone.pid}-00c0de"
    for name in (ours, left, "vsperf-1-00c0de", "somebodys"):
        (places.namespaces / name).touch()
    assert networks(places) == sorted([ours, left])


def test_a_deployment_of_this_process_is_found_and_that_of_another_is_not(tmp_path: Path) -> None:
    root = tmp_path / "run"
    with workspace("a test", root) as place:
        (root / "vsperf-1-a0b1c2").mkdir(mode=0o700)
        assert own_workspaces((root,)) == {str(place.folder)}
    assert own_workspaces((root,)) == frozenset()
