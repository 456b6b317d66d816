"""`vsperf clean`: a killed deployment is shown, taken down, and told step by step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import Shell, fixture_vsperf
from conftest import Require
from killed_run import killed

from vsperf.errors import ExitCode
from vsperf.host.hugepages import read_pools, reserve
from vsperf.host.lock import testbed_lock as hold
from vsperf.host.owner import Owner
from vsperf.host.procfs import marked_below
from vsperf.host.undo import ReleaseChassis, owner_name
from vsperf.host.workspace import workspace

pytestmark = pytest.mark.everyday

MEGABYTE = 1 << 20
LEDGER = "/hugepages-"
__all__ = ["fixture_vsperf"]


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
def test_real_hugepages_come_and_go(runtime: Path, require: Require) -> None:
    require("hugepages")
    pool = next(pool for pool in read_pools() if pool.page_bytes == 2 * MEGABYTE)
    before, wanted = pool.total, pool.free + 8
    with workspace("a test") as place:
        with reserve({pool.node: wanted * pool.page_bytes}, place) as (reservation,):
            assert pool.free >= wanted
            assert pool.total == before + reservation.added
        assert pool.total == before


@pytest.mark.machine
def test_real_hugepages_of_a_killed_run_are_given_back(vsperf: Shell, require: Require) -> None:
    require("hugepages")
    pool = next(pool for pool in read_pools() if pool.page_bytes == 2 * MEGABYTE)
    before = pool.total
    text = (
        "import os, signal\n"
        "from vsperf.host.hugepages import reserve\n"
        "from vsperf.host.workspace import workspace\n"
        "with workspace('a test') as place:\n"
        f"    with reserve({{{pool.node}: {(pool.free + 8) * pool.page_bytes}}}, place):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", text], check=False)
    assert pool.total > before
    assert vsperf("clean").code == ExitCode.OK
    assert pool.total == before
