"""Undos: how each kind of change to the machine is taken back.

What holds for all of them is in `undo_base.py`.
"""

from __future__ import annotations

import glob
import os
import re
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeInt, TypeAdapter

from vsperf.host.claims import Pool, release
from vsperf.host.netns import remove_namespace
from vsperf.host.places import HOST_END, short_name
from vsperf.host.procfs import end_all, is_running, left_in_session, marked
from vsperf.host.schemata import is_wider, put_back
from vsperf.host.tuntap import remove_tap
from vsperf.host.undo_base import Reach, Undo
from vsperf.host.veth import remove_veth
from vsperf.trust import own_python, trusted
from vsperf.waits import run

RUN = Path("/run")
DEVICES = Path("/dev")


def sweep_dpdk(prefix: str) -> None:
    """Remove all of it whose name begins so."""
    for parent in _dpdk_folders():
        absent = suppress(FileNotFoundError, trusted.DistrustedError)
        with absent, trusted.opened(parent) as dpdk:
            for name in dpdk.names():
                if name.startswith(prefix):
                    dpdk.remove(name)
    for mount in DEVICES.glob("hugepages*"):
        for file in mount.glob(f"{glob.escape(prefix)}*map_*"):
            file.unlink(missing_ok=True)


def _dpdk_folders() -> tuple[Path, ...]:
    """Return where DPDK programs of this user have their sockets; root's are in /run only."""
    if os.geteuid() == 0:
        return (RUN / "dpdk",)
    own = os.environ.get("XDG_RUNTIME_DIR")
    parents = [Path(own)] if own else []
    return tuple(parent / "dpdk" for parent in (*parents, Path(tempfile.gettempdir())))


TERMINATE_S = 1.5
SHARED_MEMORY = DEVICES / "shm"
PCI = Path("/sys/bus/pci")
VFIO = "vfio-pci"
"""The driver that hands devices to programs."""
PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
DRIVER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
CHASSIS_WORD = re.compile(r"(//)?[A-Za-z0-9][A-Za-z0-9./:-]*")
"""Names of chassis and of their ports: no option of a program begins so."""
RELEASE = "vsperf.drivers.generators.release"
"""The program that speaks to a chassis."""
RELEASE_S = 60.0
OWNER_LENGTH = 8
BRIDGE_DEVICES = ("vsperf-br", "ovs-netdev")
"""Taps that every OVS with a bridge of ours makes."""


class EndMarked(Undo):
    """Ends each process that carries a mark: known before the process has a number."""

    kind: Literal["end-marked"] = "end-marked"
    mark: str

    @property
    def text(self) -> str:
        return f"end what was started as {self.mark}"

    def is_within(self, reach: Reach) -> bool:
        return self.mark.startswith(f"{reach.workspace.name}/")

    def carry_out(self) -> None:
        end_all(lambda: marked(self.mark), TERMINATE_S)


class KillProcess(Undo):
    """Ends one process, unless its number belongs to another by now."""

    kind: Literal["kill-process"] = "kill-process"
    pid: int
    started: int
    """Clock ticks since boot."""

    @property
    def text(self) -> str:
        return f"end process {self.pid}"

    def is_within(self, reach: Reach) -> bool:
        started_after = reach.since is None or self.started >= reach.since
        return self.pid > 1 and self.pid != os.getpid() and started_after

    def carry_out(self) -> None:
        end_all(self._running, TERMINATE_S)

    def _running(self) -> tuple[int, ...]:
        """Return the process, or what it left when it was killed."""
        if is_running(self.pid, self.started):
            return (self.pid,)
        return left_in_session(self.pid, self.started)


class ContinueProcess(Undo):
    """Lets a process go on that was held still, unless its number belongs to another by now.

    Nothing of it ends by that; but what speaks with it would wait for ever.
    """

    kind: Literal["continue-process"] = "continue-process"
    pid: int
    started: int
    """Clock ticks since boot."""

    @property
    def text(self) -> str:
        return f"let process {self.pid} go on"

    def is_within(self, reach: Reach) -> bool:
        return KillProcess(pid=self.pid, started=self.started).is_within(reach)

    def carry_out(self) -> None:
        if is_running(self.pid, self.started):
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)


class BindDriver(Undo):
    """Gives a PCI device back to the driver that it had, unless somebody gave it to another since.

    A program of his may run on it, and would lose it.
    """

    kind: Literal["bind-driver"] = "bind-driver"
    address: str
    driver: str | None
    """None when it had none."""
    sysfs: Path = PCI

    @property
    def text(self) -> str:
        return f"give {self.address} back to {self.driver or 'no driver'}"

    def is_within(self, reach: Reach) -> bool:
        named = self.driver is None or DRIVER_NAME.fullmatch(self.driver)
        is_device = PCI_ADDRESS.fullmatch(self.address)
        return bool(named and is_device) and self.sysfs == reach.roots.pci

    def carry_out(self) -> None:
        device = self.sysfs / "devices" / self.address
        if not device.exists():
            return
        bound = device / "driver"
        present = bound.resolve().name if bound.exists() else None
        if present not in (None, VFIO, self.driver):
            return
        (device / "driver_override").write_text("\n")
        if present == self.driver:
            return
        if present is not None:
            (bound / "unbind").write_text(self.address)
        if self.driver is not None:
            (self.sysfs / "drivers" / self.driver / "bind").write_text(self.address)


class ReturnHugepages(Undo):
    """Gives up a claim on hugepages, and returns those that were added and no run needs now."""

    kind: Literal["return-hugepages"] = "return-hugepages"
    ledger: Path
    """Where it is written how many were added, and who counts on them."""
    pool: Pool
    claim: Path
    """The name of the claim in the ledger."""
    grown: tuple[NonNegativeInt, NonNegativeInt] | None = None
    """Pages of the pool before this run added some, and after; None when there were enough."""

    @property
    def text(self) -> str:
        if self.grown is None and not self.ledger.exists():
            return f"return no hugepages: {self.ledger} does not say any more that some were added"
        return "return the hugepages that were added, and that no other run counts on"

    def is_within(self, reach: Reach) -> bool:
        known = reach.has_pool(self.pool) and reach.has_ledger(self.ledger, self.pool)
        return known and self.claim.parent == reach.workspace

    def carry_out(self) -> None:
        release(self.pool, self.ledger, self.claim, self.grown)


class SweepDpdk(Undo):
    """Removes what DPDK programs that were killed leave outside of the workspace.

    Theirs are folders with sockets, and files that hold hugepages, all named by their prefix.
    """

    kind: Literal["sweep-dpdk"] = "sweep-dpdk"
    prefix: str

    @property
    def text(self) -> str:
        return f"remove what DPDK programs called {self.prefix}… left"

    def is_within(self, reach: Reach) -> bool:
        return self.prefix == reach.workspace.name

    def carry_out(self) -> None:
        sweep_dpdk(self.prefix)


class SweepSharedMemory(Undo):
    """Removes memory that a program which was killed shared under a name of the deployment's."""

    kind: Literal["sweep-shared-memory"] = "sweep-shared-memory"
    prefix: str

    @property
    def text(self) -> str:
        return f"remove shared memory called {self.prefix}-…"

    def is_within(self, reach: Reach) -> bool:
        return self.prefix == reach.workspace.name

    def carry_out(self) -> None:
        for file in SHARED_MEMORY.glob(f"{glob.escape(self.prefix)}-*"):
            file.unlink(missing_ok=True)


class RemoveTap(Undo):
    """Removes a tap: a network device of the kernel whose other end a program held."""

    kind: Literal["remove-tap"] = "remove-tap"
    name: str

    @property
    def text(self) -> str:
        return f"remove the tap {self.name}"

    def is_within(self, reach: Reach) -> bool:
        own = re.fullmatch(rf"{short_name(reach.workspace.name)}-\d+-\d+", self.name)
        return own is not None or self.name in BRIDGE_DEVICES

    def carry_out(self) -> None:
        remove_tap(self.name)


class RemoveVeth(Undo):
    """Removes a pair of devices that are joined; where it was moved, it goes with that network.

    Or the device that the host was given as a place, whose other end a daemon holds.
    """

    kind: Literal["remove-veth"] = "remove-veth"
    name: str
    """Of the end that is in the host's network."""

    @property
    def text(self) -> str:
        return f"remove the device {self.name}, with the other one of a pair"

    def is_within(self, reach: Reach) -> bool:
        own = rf"{short_name(reach.workspace.name)}-(\d+|{HOST_END})-\d+"
        return re.fullmatch(own, self.name) is not None

    def carry_out(self) -> None:
        remove_veth(self.name)


class RemoveNetwork(Undo):
    """Removes a network namespace with all devices that are in it."""

    kind: Literal["remove-network"] = "remove-network"
    name: str

    @property
    def text(self) -> str:
        return f"remove the network namespace {self.name}"

    def is_within(self, reach: Reach) -> bool:
        own = re.escape(reach.workspace.name)
        return re.fullmatch(rf"{own}(-[A-Za-z][A-Za-z0-9_]*)?", self.name) is not None

    def carry_out(self) -> None:
        remove_namespace(self.name)


class ReleaseChassis(Undo):
    """Lets go of the ports of a chassis that a deployment has reserved, and of no others.

    A chassis keeps a reservation for its owner, also when that one was killed, or its machine was
    started anew. Who can speak to it is a generator's driver, so a program of ours calls
    `release(chassis, owner, ports, password_file)` of that.
    """

    outlives_boot: ClassVar[bool] = True

    kind: Literal["release-chassis"] = "release-chassis"
    dialect: str
    """The kind of the generator."""
    chassis: str
    owner: str
    """Under which name the ports were reserved; it follows from that of the deployment."""
    ports: tuple[str, ...]
    password_file: str | None = None

    @property
    def text(self) -> str:
        return f"release the ports {self._listed} of {self.chassis} that {self.owner} has"

    @property
    def if_forgotten(self) -> str | None:
        if not self.ports:
            return None
        return f"ports {self._listed} of {self.chassis} stay reserved under the name {self.owner}"

    @property
    def _listed(self) -> str:
        return ", ".join(self.ports)

    def is_within(self, reach: Reach) -> bool:
        words = (self.dialect, self.chassis, *self.ports)
        named = all(CHASSIS_WORD.fullmatch(word) for word in words)
        return named and self.owner == owner_name(reach.workspace.name)

    def carry_out(self) -> None:
        if not self.ports:  # all were released in good order
            return
        secret = () if self.password_file is None else (f"--password-file={self.password_file}",)
        argv = own_python.module(RELEASE, *secret, self.dialect, self.chassis, self.owner)
        try:
            done = run([*argv, *self.ports], RELEASE_S)
        except subprocess.TimeoutExpired as error:
            raise OSError(f"{self.chassis} does not answer within {RELEASE_S:g} s") from error
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            raise OSError(said[-1] if said else f"{self.chassis} does not let go of them")


def owner_name(workspace: str) -> str:
    """Return under which name a deployment reserves ports; a chassis may take eight characters."""
    return short_name(workspace)[:OWNER_LENGTH]


class RemoveCacheGroup(Undo):
    """Removes a group of the last-level cache; its CPUs fall back to the group of all others."""

    kind: Literal["remove-cache-group"] = "remove-cache-group"
    folder: Path

    @property
    def text(self) -> str:
        return f"remove the cache group {self.folder.name}"

    def is_within(self, reach: Reach) -> bool:
        own = self.folder.name.startswith(f"{reach.workspace.name}-")
        return own and self.folder.parent == reach.roots.resctrl

    def carry_out(self) -> None:
        with suppress(FileNotFoundError):
            self.folder.rmdir()


class ReturnCacheWays(Undo):
    """Gives the group of all others the ways of the cache back that other groups had."""

    kind: Literal["return-cache-ways"] = "return-cache-ways"
    folder: Path
    before: str
    """Its line of `schemata` then, such as `L3:0=7ff`."""
    now: str
    """Its line since; where it says something else, that is somebody else's by now."""

    @property
    def text(self) -> str:
        return f"give all ways of the last-level cache back to all: {self.before}"

    def is_within(self, reach: Reach) -> bool:
        return self.folder == reach.roots.resctrl and is_wider(self.before, self.now)

    def carry_out(self) -> None:
        put_back(self.folder, self.before, self.now)


AnyUndo = Annotated[
    EndMarked
    | KillProcess
    | ContinueProcess
    | BindDriver
    | ReturnHugepages
    | SweepDpdk
    | SweepSharedMemory
    | RemoveTap
    | RemoveVeth
    | RemoveNetwork
    | ReleaseChassis
    | RemoveCacheGroup
    | ReturnCacheWays,
    Field(discriminator="kind"),
]
UNDO: TypeAdapter[AnyUndo] = TypeAdapter(AnyUndo)
