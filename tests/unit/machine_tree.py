"""Machines made of files: the parts of /proc and /sys that describe one, written by a test."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vsperf.host.files import Roots
from vsperf.host.pci import ADDRESS

SERVER_FLAGS = "fpu tsc constant_tsc nonstop_tsc"
ALL_RIGHTS = "000001ffffffffff"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def script(path: Path, text: str = "") -> Path:
    """Make a program of the shell that does as it is told here."""
    write(path, f"#!/bin/sh\n{text}\n").chmod(0o755)
    return path


def link(path: Path, target: Path) -> None:
    """Make a relative link, as sysfs does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


class MachineTree:
    """A machine under construction; `roots` is what the code under test is given."""

    def __init__(self, folder: Path) -> None:
        self.roots = Roots(folder)
        self.devices = folder / "sys" / "devices" / "pci0000:00"

    def proc(self, name: str, text: str) -> Path:
        return write(self.roots.proc / name, text)

    def sys(self, name: str, text: str) -> Path:
        return write(self.roots.sys / name, text)

    def cpus(self, count: int, flags: str = SERVER_FLAGS) -> None:
        listed = f"0-{count - 1}"
        self.sys("devices/system/cpu/present", listed)
        self.sys("devices/system/cpu/isolated", "")
        self.proc("cpuinfo", f"processor\t: 0\nmodel name\t: A CPU\nflags\t\t: {flags}\n")

    def user(self, number: int, capabilities: str = ALL_RIGHTS) -> None:
        ids = "\t".join([str(number)] * 4)
        self.proc("self/status", f"Name:\tvsperf\nUid:\t{ids}\nCapEff:\t{capabilities}\n")

    def hugepages(self, node: int, size_kb: int, total: int, free: int) -> None:
        folder = f"devices/system/node/node{node}/hugepages/hugepages-{size_kb}kB"
        self.sys(f"{folder}/nr_hugepages", f"{total}\n")
        self.sys(f"{folder}/free_hugepages", f"{free}\n")

    def memory(self, free_mb: int) -> None:
        kilobytes = free_mb * 1024
        self.proc(
            "meminfo",
            f"MemTotal: {kilobytes} kB\nMemFree: {kilobytes} kB\nMemAvailable: {kilobytes} kB\n",
        )

    def driver(self, name: str) -> Path:
        folder = self.roots.pci / "drivers" / name
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("bind", "unbind"):
            write(folder / file, "")
        return folder

    def device(
        self,
        address: str,
        driver: str | None = None,
        code: int = 0x020000,
        group: int | None = None,
    ) -> Path:
        """Add a device of a PCI class, bound to a driver."""
        folder = self.devices / address
        for name, value in {
            "class": f"0x{code:06x}",
            "vendor": "0x8086",
            "device": "0x1572",
            "numa_node": "0",
            "driver_override": "(null)",
        }.items():
            write(folder / name, f"{value}\n")
        link(self.roots.pci / "devices" / address, folder)
        write(self.roots.pci / "drivers_probe", "")
        if driver is not None:
            link(folder / "driver", self.driver(driver))
        if group is not None:
            members = self.roots.sys / "kernel" / "iommu_groups" / str(group)
            link(folder / "iommu_group", members)
            link(members / "devices" / address, folder)
        return folder

    def interface(self, name: str, address: str, below: str = "") -> Path:
        """Add a network interface of a device; that of virtio lies one level `below`."""
        folder = self.devices / address / below / "net" / name
        write(folder / "carrier", "1\n")
        link(self.roots.sys / "class" / "net" / name, folder)
        return folder


class Kernel(threading.Thread):
    """Does what the kernel does when drivers are bound and unbound through these files.

    Each file is a pipe for as long, so that no write gets lost before it is acted upon.
    """

    def __init__(self, tree: MachineTree, ignored: str | None = None) -> None:
        super().__init__(daemon=True)
        self.pci = tree.roots.pci
        self.ignored = ignored
        """A driver that refuses every device."""
        self.ended = threading.Event()
        files = [self.pci / "drivers_probe", *(self.pci / "drivers").glob("*/*bind")]
        self.pipes = {file: _pipe(file) for file in files}

    def run(self) -> None:
        while not self.ended.is_set():
            self._unbind()
            for file in (file for file in self.pipes if file.name != "unbind"):
                for address in self._taken(file):
                    self._unbind()  # was written earlier, and maybe after it was looked for
                    self._bind(file, address)
            time.sleep(0.001)

    def close(self) -> None:
        self.ended.set()
        self.join()
        for file, descriptor in self.pipes.items():
            os.close(descriptor)
            file.unlink()
            file.write_text("")

    def _taken(self, file: Path) -> list[str]:
        try:
            return ADDRESS.findall(os.read(self.pipes[file], 4096).decode())
        except BlockingIOError:
            return []

    def _unbind(self) -> None:
        for file in self.pipes:
            for address in self._taken(file) if file.name == "unbind" else ():
                (self.pci / "devices" / address / "driver").unlink()

    def _bind(self, file: Path, address: str) -> None:
        device = (self.pci / "devices" / address).resolve()
        override = (device / "driver_override").read_text().strip()
        any_driver = override in ("", "(null)")
        if file.name == "drivers_probe" and any_driver:
            return  # a driver would have to know the device by itself, and none does
        driver = override if file.name == "drivers_probe" else file.parent.name
        if driver != self.ignored and (any_driver or override == driver):
            link(device / "driver", self.pci / "drivers" / driver)


def _pipe(file: Path) -> int:
    file.unlink()
    os.mkfifo(file)
    return os.open(file, os.O_RDWR | os.O_NONBLOCK)


@contextmanager
def kernel(tree: MachineTree, ignored: str | None = None) -> Iterator[None]:
    thread = Kernel(tree, ignored)
    thread.start()
    try:
        yield
    finally:
        thread.close()
