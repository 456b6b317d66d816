"""Undos: how each kind of change to the machine is taken back.

An undo is written down before the change is made, and may be carried out twice, late, or by another
process. So each of them does nothing where there is nothing to take back.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, TypeAdapter

from vsperf.host.claims import release, release_former
from vsperf.host.pages import Pool
from vsperf.host.procfs import end_all, is_running, marked
from vsperf.host.tuntap import remove_tap
from vsperf.record.base import Record

TERMINATE_S = 1.5
COMMAND_S = 10.0
RUN = Path("/run")
DEVICES = Path("/dev")
PCI = Path("/sys/bus/pci")


class Undo(Record):
    """Takes one change back."""

    outlives_boot: ClassVar[bool] = False
    """Whether the change is still there after the machine was started anew."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What carrying it out does, for people."""

    @abstractmethod
    def carry_out(self) -> None:
        """Take the change back; raises OSError where that cannot be done."""


class EndMarked(Undo):
    """Ends each process that carries a mark: known before the process has a number."""

    kind: Literal["end-marked"] = "end-marked"
    mark: str

    @property
    def text(self) -> str:
        return f"end what was started as {self.mark}"

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

    def carry_out(self) -> None:
        end_all(lambda: (self.pid,) if is_running(self.pid, self.started) else (), TERMINATE_S)


class RemoveFile(Undo):
    """Removes a file, link or socket."""

    kind: Literal["remove-file"] = "remove-file"
    outlives_boot: ClassVar[bool] = True
    path: Path

    @property
    def text(self) -> str:
        return f"remove {self.path}"

    def carry_out(self) -> None:
        self.path.unlink(missing_ok=True)


class RemoveTree(Undo):
    """Removes a folder with all that is in it; never follows a link."""

    kind: Literal["remove-tree"] = "remove-tree"
    outlives_boot: ClassVar[bool] = True
    path: Path

    @property
    def text(self) -> str:
        return f"remove {self.path} with all that is in it"

    def carry_out(self) -> None:
        if self.path.is_symlink():
            raise OSError(f"{self.path} is a link now, and is left alone")
        if self.path.exists():
            shutil.rmtree(self.path)


class WriteFile(Undo):
    """Writes the old value back to a file of the kernel, such as a sysctl."""

    kind: Literal["write-file"] = "write-file"
    path: Path
    value: str

    @property
    def text(self) -> str:
        return f"write {self.value!r} to {self.path}"

    def carry_out(self) -> None:
        if self.path.exists():  # the device that it belonged to may be gone
            self.path.write_text(self.value)


class Unmount(Undo):
    """Takes a file system off."""

    kind: Literal["unmount"] = "unmount"
    path: Path

    @property
    def text(self) -> str:
        return f"unmount {self.path}"

    def carry_out(self) -> None:
        if self.path.is_mount():
            _unmount(self.path)


class BindDriver(Undo):
    """Gives a PCI device back to the driver that it had."""

    kind: Literal["bind-driver"] = "bind-driver"
    address: str
    driver: str | None
    """None when it had none."""
    sysfs: Path = PCI

    @property
    def text(self) -> str:
        return f"give {self.address} back to {self.driver or 'no driver'}"

    def carry_out(self) -> None:
        device = self.sysfs / "devices" / self.address
        if not device.exists():
            return
        (device / "driver_override").write_text("\n")
        bound = device / "driver"
        present = bound.resolve().name if bound.exists() else None
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
    pool: Pool | None = None
    """None in journals of the version before, when each run had a ledger of its own."""
    claim: Path | None = None
    """The name of the claim in the ledger."""

    @property
    def text(self) -> str:
        if not self.ledger.exists():
            return f"return no hugepages: {self.ledger} does not say any more that some were added"
        return "return the hugepages that were added, and that no other run counts on"

    def carry_out(self) -> None:
        if self.pool is None:
            release_former(self.ledger)
        else:
            release(self.pool, self.ledger, self.claim)


class SweepDpdk(Undo):
    """Removes what DPDK programs that were killed leave outside of the workspace.

    Theirs are folders with sockets, and files that hold hugepages, all named by their prefix.
    """

    kind: Literal["sweep-dpdk"] = "sweep-dpdk"
    prefix: str

    @property
    def text(self) -> str:
        return f"remove what DPDK programs called {self.prefix}… left"

    def carry_out(self) -> None:
        prefix = glob.escape(self.prefix)
        own = Path(os.environ.get("XDG_RUNTIME_DIR") or RUN)
        for parent in dict.fromkeys((RUN, own, Path(tempfile.gettempdir()))):
            for folder in (parent / "dpdk").glob(f"{prefix}*"):
                shutil.rmtree(folder)
        for mount in DEVICES.glob("hugepages*"):
            for file in mount.glob(f"{prefix}*map_*"):
                file.unlink(missing_ok=True)


class RemoveTap(Undo):
    """Removes a tap: a network device of the kernel whose other end a program held."""

    kind: Literal["remove-tap"] = "remove-tap"
    name: str

    @property
    def text(self) -> str:
        return f"remove the tap {self.name}"

    def carry_out(self) -> None:
        remove_tap(self.name)


def _unmount(path: Path) -> None:
    try:
        result = subprocess.run(  # noqa: S603 - an argument vector of our own
            ["umount", str(path)],  # noqa: S607 - wherever the system has it
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"unmounting {path} takes longer than {COMMAND_S:g} s") from error
    if result.returncode:
        raise OSError(result.stderr.strip() or f"cannot unmount {path}")


AnyUndo = Annotated[
    EndMarked
    | KillProcess
    | RemoveFile
    | RemoveTree
    | WriteFile
    | Unmount
    | BindDriver
    | ReturnHugepages
    | SweepDpdk
    | RemoveTap,
    Field(discriminator="kind"),
]
UNDO: TypeAdapter[AnyUndo] = TypeAdapter(AnyUndo)
