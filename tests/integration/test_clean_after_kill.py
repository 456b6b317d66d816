"""kill -9 and signals at any moment of a deployment: what is left is found, and taken back.

The deployment is a child Python that changes what the real ones change: programs, drivers of NICs,
hugepages. The kernel's values are a tree of files, so that no right is needed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from vsperf.errors import NotReadyError
from vsperf.host.dead import dead_deployments, refuse_beside_dead
from vsperf.host.files import Roots
from vsperf.host.journal import NAME
from vsperf.host.procfs import marked_below

MEGABYTE = 1 << 20
SIGNALS = 24
SOON_S = 15.0
"""Five seconds, on a machine that is not busy with something else."""
POLITE = "print('ready', flush=True); import time; time.sleep(100)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('ready', flush=True); time.sleep(100)"
)
SIGNALLED = """
import os
from pathlib import Path
import vsperf.host.hugepages, vsperf.host.process, vsperf.host.undo
from vsperf.stop import SignalWatch

# What is written to the kernel it takes as a whole or not at all; a file is emptied first, and a
# signal may come then.
def write_at_once(path, text, write=Path.write_text):
    write(path.with_name("." + path.name), text)
    os.replace(path.with_name("." + path.name), path)

Path.write_text = write_at_once
SignalWatch.install()
print("begins", flush=True)
"""
DEPLOYMENT = """
import os, signal, sys, time
from contextlib import ExitStack
from pathlib import Path
from vsperf.host.hugepages import HostMemory, reserve
from vsperf.host.process import managed
from vsperf.host.files import Roots
from vsperf.host.undo import BindDriver
from vsperf.host.workspace import workspace

world, deadly, hold = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
synced, sync = 0, os.fsync

def kill_at_a_line(descriptor):
    global synced
    synced += 1
    sync(descriptor)
    if synced == deadly:
        os.kill(os.getpid(), signal.SIGKILL)

os.fsync = kill_at_a_line
memory, roots = HostMemory(world / "sys", world / "proc"), Roots(world)
with ExitStack() as stack:
    place = stack.enter_context(workspace("a deployment", world / "run", roots))
    stack.enter_context(reserve({0: 20 << 20}, place, memory))
    nic = BindDriver(address="0000:00:08.0", driver="ixgbe", sysfs=roots.pci)
    stack.enter_context(place.undoing(nic))
    (roots.pci / "devices/0000:00:08.0/driver_override").write_text("vfio-pci")
    (place.folder / "socket").touch()
    for name in ("switch", "generator"):
        log = place.folder / f"{name}.log"
        argv = [sys.executable, "-c", os.environ["PROGRAM"]]
        ready = lambda log=log: b"ready" in log.read_bytes()
        stack.enter_context(managed(argv, name=name, workspace=place, ready=ready))
    if hold == "keep":
        place.keep()
    if hold == "wait":
        print("up", flush=True)
        time.sleep(60)
print(synced)
"""


@dataclass(frozen=True)
class World:
    """The machine as far as the deployment changes it."""

    folder: Path

    @property
    def number(self) -> Path:
        return self.folder / "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"

    @property
    def override(self) -> Path:
        return self.folder / "sys/bus/pci/devices/0000:00:08.0/driver_override"

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self.folder / "run",)

    def start(self, deadly: int = 0, hold: str = "") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", DEPLOYMENT, str(self.folder), str(deadly), hold],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PROGRAM": POLITE},
        )

    def traces(self) -> list[str]:
        """Return what differs from the machine before the deployment, programs included."""
        found = [f"process {pid}" for pid in marked_below("vsperf-") if self._is_ours(pid)]
        found += [str(path) for path in self.folder.glob("run/*")]
        if (driver := self.override.read_text().strip()) != "":
            found.append(f"driver {driver}")
        if (pages := int(self.number.read_text())) != 3:
            found.append(f"{pages} hugepages")
        return found

    def clean(self) -> list[str]:
        machine = Roots(self.folder)
        return [text for dead in dead_deployments(self.roots) for text in dead.take_down(machine)]

    def _is_ours(self, pid: int) -> bool:
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False
        return f"WORLD={self.folder}".encode() in environ.split(b"\0")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("WORLD", str(tmp_path))
    made = World(tmp_path)
    made.number.parent.mkdir(parents=True)
    made.number.write_text("3\n")
    (made.number.parent / "free_hugepages").symlink_to("nr_hugepages")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemFree: 8000000 kB\nHugepagesize: 2048 kB\n")
    made.override.parent.mkdir(parents=True)
    made.override.write_text("\n")
    drivers = tmp_path / "sys/bus/pci/drivers/ixgbe"
    drivers.mkdir(parents=True)
    (made.override.parent / "driver").symlink_to(drivers)
    return made


@pytest.mark.everyday
def test_an_undisturbed_deployment_leaves_nothing(world: World) -> None:
    out, err = world.start().communicate(timeout=30)
    assert (err, world.traces()) == ("", [])
    assert int(out) > 10


def test_whatever_line_of_the_journal_is_the_last_one_nothing_is_left(world: World) -> None:
    lines = int(world.start().communicate(timeout=30)[0])
    for line in range(1, lines + 1):
        for torn in (False, True):
            process = world.start(deadly=line)
            process.communicate(timeout=30)
            assert process.returncode == -signal.SIGKILL
            (dead,) = dead_deployments(world.roots)
            if torn:
                journal = dead.folder / NAME
                journal.write_bytes(journal.read_bytes()[:-7])
            assert (line, world.clean(), world.traces()) == (line, [], [])


@pytest.mark.everyday
def test_a_kill_while_programs_run_is_made_good(world: World) -> None:
    with world.start(hold="wait") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.kill()
    (dead,) = dead_deployments(world.roots)
    assert len(dead.processes) == 2
    assert len(world.traces()) == 6  # programs, folder, driver, pages, their ledger
    assert (world.clean(), world.traces()) == ([], [])


@pytest.mark.everyday
def test_a_deployment_whose_owner_lives_is_left_alone(world: World) -> None:
    with world.start(hold="wait") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        assert dead_deployments(world.roots) == ()
        refuse_beside_dead(world.roots)
        process.terminate()
    assert world.clean() == []


@pytest.mark.everyday
def test_a_run_beside_programs_of_a_dead_one_is_refused(world: World) -> None:
    with world.start(hold="wait") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.kill()
    with pytest.raises(NotReadyError, match="programs of a run that was killed") as caught:
        refuse_beside_dead(world.roots)
    assert caught.value.problems[0].fix == "vsperf clean"
    assert world.clean() == []
    refuse_beside_dead(world.roots)


@pytest.mark.everyday
def test_a_kept_deployment_stays_up_and_holds_the_machine_until_it_is_cleaned(world: World) -> None:
    assert world.start(hold="keep").communicate(timeout=30)[1] == ""
    (dead,) = dead_deployments(world.roots)
    assert len(dead.processes) == 2
    assert dead.text.startswith("deployment of a deployment, kept up")
    with pytest.raises(NotReadyError, match="a deployment that was kept is still up"):
        refuse_beside_dead(world.roots)
    assert (world.clean(), world.traces()) == ([], [])


@pytest.mark.everyday
def test_a_clean_that_is_killed_can_be_done_again(world: World) -> None:
    with world.start(hold="wait") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    text = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from vsperf.host.dead import dead_deployments
        sync = os.fsync
        def kill(descriptor):
            os.kill(os.getpid(), signal.SIGKILL)
        os.fsync = kill
        from vsperf.host.files import Roots
        world = Path({str(world.folder)!r})
        dead_deployments((world / "run",))[0].take_down(Roots(world))
        """)
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", text], check=False)
        assert ended.returncode == -signal.SIGKILL
    assert (world.clean(), world.traces()) == ([], [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment_ends_clean_and_soon(world: World, number: signal.Signals) -> None:
    chance = random.Random(number)
    for _ in range(SIGNALS // 2):
        process = subprocess.Popen(
            [sys.executable, "-c", SIGNALLED + DEPLOYMENT, str(world.folder), "0", ""],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PROGRAM": STUBBORN if chance.random() < 0.25 else POLITE},
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(chance.uniform(0, 0.4))
        began = time.monotonic()
        process.send_signal(number)
        time.sleep(chance.uniform(0, 0.1))
        process.send_signal(number)
        process.communicate(timeout=30)
        assert time.monotonic() - began < SOON_S
        assert world.traces() == []
