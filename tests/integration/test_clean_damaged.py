"""`vsperf clean` and journals that cannot be read: nothing is passed over in silence.

A damaged deployment stays, with exit code 6, and none of it runs; all others are taken down.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_shell import Shell, fixture_vsperf
from killed_run import killed

from vsperf.errors import ExitCode
from vsperf.host.journal import NAME
from vsperf.host.owner import Owner
from vsperf.host.procfs import marked_below

pytestmark = pytest.mark.everyday

__all__ = ["fixture_vsperf"]

DEEP = b"[" * 100_000
NEWLINE = b"\n"


def lines_of(folder: Path) -> list[bytes]:
    return (folder / NAME).read_bytes().splitlines(keepends=True)


def in_the_middle(damage: bytes) -> Callable[[Path], None]:
    """Return what puts something into the place of the line that says how to end the program."""

    def damaging(folder: Path) -> None:
        lines = lines_of(folder)
        (number,) = [n for n, line in enumerate(lines) if b"end-marked" in line]
        lines[number] = damage
        (folder / NAME).write_bytes(b"".join(lines))

    return damaging


def a_folder(folder: Path) -> None:
    (folder / NAME).unlink()
    (folder / NAME).mkdir()


def a_pipe(folder: Path) -> None:
    (folder / NAME).unlink()
    os.mkfifo(folder / NAME)


def giant(folder: Path) -> None:
    with (folder / NAME).open("ab") as journal:
        journal.truncate(1 << 30)


DAMAGES = {
    "junk": in_the_middle(b"\x00\xff junk\n"),
    "two lines in one": in_the_middle(b'{"number": 2, "undo": {"ki'),
    "deep": in_the_middle(DEEP + NEWLINE),
    "deep undo": in_the_middle(b'{"number": 2, "undo": ' + DEEP + NEWLINE),
    "a list": in_the_middle(b"[2]\n"),
    "no number": in_the_middle(b'{"undo": {"kind": "end-marked", "mark": "x"}}\n'),
    "number of 6000 digits": in_the_middle(b'{"number": ' + b"9" * 6000 + b"}\n"),
    "a NUL in a path": in_the_middle(
        b'{"number": 2, "undo": {"kind": "return-hugepages", "ledger": "/a\\u0000b"}}\n'
    ),
    "a folder": a_folder,
    "a pipe": a_pipe,
    "giant": giant,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_deployment_stays_and_no_other_does(
    vsperf: Shell, damage: Callable[[Path], None]
) -> None:
    damaged, other = sorted(killed() for _ in range(2))
    damage(damaged)
    assert vsperf("clean", "--dry-run").code == ExitCode.OK
    ended = vsperf("clean")
    assert ended.code == ExitCode.LEFT_BEHIND
    assert f"cannot remove {damaged}" in ended.out
    assert (damaged.exists(), other.exists()) == (True, False)
    assert marked_below(damaged.name) == marked_below(other.name) == ()
    assert vsperf("clean").code == ExitCode.LEFT_BEHIND  # until somebody has looked at it


def test_the_line_that_is_damaged_is_named_and_shown(vsperf: Shell) -> None:
    folder = killed()
    in_the_middle(b"junk \x1b[31m\n")(folder)
    said = vsperf("clean").out
    assert f"line 2 of {folder}/{NAME} is damaged: 'junk \\x1b[31m'" in said


def test_a_program_whose_promise_is_lost_with_the_journal_is_ended(vsperf: Shell) -> None:
    folder = killed()
    (folder / NAME).unlink()
    assert marked_below(folder.name)
    assert vsperf("clean").code == ExitCode.OK
    assert marked_below(folder.name) == ()


def test_a_last_line_that_was_cut_off_is_no_damage_to_a_clean_after_a_clean_was_killed(
    vsperf: Shell,
) -> None:
    folder = killed()
    (folder / NAME).write_bytes((folder / NAME).read_bytes()[:-5])
    text = (
        "import os, signal\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from vsperf.cli.main import run_cli\n"
        "run_cli(['clean'])\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", text], check=False, capture_output=True)
        assert folder.exists()
    assert vsperf("clean").code == ExitCode.OK
    assert not folder.exists()


def test_a_workspace_that_others_could_write_to_is_told_and_left_alone(vsperf: Shell) -> None:
    folder = killed()
    folder.chmod(0o770)
    ended = vsperf("clean")
    assert ended.code == ExitCode.LEFT_BEHIND
    assert f"{folder} can be written to by others (mode 0770)" in ended.out
    folder.chmod(0o700)
    assert Owner.of(folder) is not None
    assert vsperf("clean").code == ExitCode.OK
