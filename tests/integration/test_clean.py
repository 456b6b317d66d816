"""`vsperf clean`: what is left is shown, taken down and told, damaged or not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_shell import Shell, fixture_vsperf

from vsperf.errors import ExitCode
from vsperf.host.hugepages import read_pools, reserve
from vsperf.host.journal import NAME
from vsperf.host.lock import testbed_lock as hold
from vsperf.host.owner import Owner
from vsperf.host.procfs import marked_below
from vsperf.host.undo import ReleaseChassis, owner_name
from vsperf.host.workspace import workspace

pytestmark = pytest.mark.everyday
__all__ = ["fixture_vsperf"]


# `vsperf clean`: a killed deployment is shown, taken down, and told step by step.

MEGABYTE = 1 << 20
LEDGER = "/hugepages-"
KILLED = """
import os, signal, sys
from vsperf.host.lock import testbed_lock
from vsperf.host.process import managed
from vsperf.host.workspace import workspace
with testbed_lock("local", "20260101-first"), workspace("run 20260101-first") as place:
    with managed(["sleep", "100"], name="switch", workspace=place):
        print(place.folder, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def killed() -> Path:
    """Return the folder of a deployment whose owner was killed."""
    ended = subprocess.run(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    return Path(ended.stdout.strip())


@pytest.fixture
def runtime(vsperf: Shell) -> Path:
    """Return where the deployments of this test are."""
    return Path(os.environ["VSPERF_RUNTIME"])


def test_a_killed_deployment_is_shown_and_taken_down(vsperf: Shell, runtime: Path) -> None:
    folder = killed()
    owner = Owner.of(folder)
    assert owner is not None
    dry = vsperf("clean", "--dry-run")
    assert dry.code == ExitCode.OK
    assert dry.out.startswith(
        f"would remove {folder} (deployment of run 20260101-first, left by process {owner.pid}, "
        "which has ended; 1 of its programs run)\n  end process "
    )
    assert f"  end what was started as {folder.name}/switch\n" in dry.out
    assert f"would remove {runtime}/local.lock (lock of a run that was killed)\n" in dry.out
    assert marked_below(folder.name)

    real = vsperf("clean")
    assert real.code == ExitCode.OK
    assert real.out.startswith(f"removed {folder} (")
    assert marked_below(folder.name) == ()
    assert not runtime.exists()
    assert folder.name not in vsperf("clean").out


def test_programs_read_it_as_json(vsperf: Shell) -> None:
    folder = killed()
    # Pages that somebody's killed run added beside us may be given back, too.
    deployment, lock = (one for one in vsperf("clean", "--json").data if LEDGER not in one["path"])
    assert (deployment["path"], deployment["removed"]) == (str(folder), True)
    assert deployment["steps"][1] == f"end what was started as {folder.name}/switch"
    assert (lock["what"], lock["removed"]) == ("lock of a run that was killed", True)


def test_what_cannot_be_undone_is_told_and_stays(vsperf: Shell) -> None:
    folder = killed()
    with (folder / "journal.jsonl").open("a") as journal:
        journal.write('{"number": 99, "undo": {"kind": "remove-tap", "name": "lo"}}\n')
    first = vsperf("clean")
    assert first.code == ExitCode.LEFT_BEHIND
    assert "cannot remove the tap lo" in first.out
    assert marked_below(folder.name) == ()
    (folder / "journal.jsonl").unlink()
    assert vsperf("clean").code == ExitCode.OK


def test_a_chassis_that_is_gone_for_good_is_forgotten_by_name_and_nothing_else_is(
    vsperf: Shell, runtime: Path
) -> None:
    folder = killed()
    name = owner_name(folder.name)
    gone = ReleaseChassis(dialect="xena", chassis="127.0.0.1:1", owner=name, ports=("0/0",))
    with (folder / "journal.jsonl").open("a") as journal:
        journal.write(f'{{"number": 99, "undo": {gone.model_dump_json()}}}\n')
    first = vsperf("clean")
    assert first.code == ExitCode.LEFT_BEHIND
    assert f"vsperf clean --forget {folder.name}" in first.out
    wrong = vsperf("clean", "--forget", "vsperf-1-a0b1c2")
    assert wrong.code == ExitCode.BAD_INPUT
    assert folder.name in wrong.err
    last = vsperf("clean", "--forget", folder.name)
    assert last.code == ExitCode.OK
    assert f"  ports 0/0 of 127.0.0.1:1 stay reserved under the name {name}" in last.out
    assert not runtime.exists()


def test_a_run_that_is_going_on_is_left_alone(vsperf: Shell) -> None:
    with hold("local", "a run"), workspace("a run") as place:
        assert place.name not in vsperf("clean").out
        assert place.folder.exists()


@pytest.mark.machine
@pytest.mark.needs("hugepages")
def test_real_hugepages_come_and_go(runtime: Path) -> None:
    pool = next(pool for pool in read_pools() if pool.page_bytes == 2 * MEGABYTE)
    before, wanted = pool.total, pool.free + 8
    with workspace("a test") as place:
        with reserve({pool.node: wanted * pool.page_bytes}, place) as (reservation,):
            assert pool.free >= wanted
            assert pool.total == before + reservation.added
        assert pool.total == before


@pytest.mark.machine
@pytest.mark.needs("hugepages")
def test_real_hugepages_of_a_killed_run_are_given_back(vsperf: Shell) -> None:
    pool = next(pool for pool in read_pools() if pool.page_bytes == 2 * MEGABYTE)
    before = pool.total
    text = (
        "import os, signal\n"
        "from vsperf.host.hugepages import reserve\n"
        "from vsperf.host.workspace import workspace\n"
        "with workspace('a test') as place:\n"
        f"    with reserve({{{pool.node}: {(pool.free + 8) * pool.page_bytes}}}, place) as made:\n"
        "        print(made[0].added, flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, check=False
    )
    # From now on whoever cleans beside this test may give them back.
    assert int(ended.stdout) > 0
    assert vsperf("clean").code == ExitCode.OK
    assert pool.total == before


# `vsperf clean` and journals that cannot be read: nothing is passed over in silence.

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
