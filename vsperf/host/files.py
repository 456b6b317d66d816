"""Files in which the kernel describes the machine: where they are, and how they are read.

A root other than / lets a test describe a machine that is not there. What cannot be read is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vsperf.quantities.units import CpuSet


@dataclass(frozen=True, slots=True)
class Roots:
    """Where the trees of files begin."""

    root: Path = Path("/")

    @property
    def proc(self) -> Path:
        """Processes, and the kernel's own numbers."""
        return self.root / "proc"

    @property
    def sys(self) -> Path:
        return self.root / "sys"

    @property
    def cpus(self) -> Path:
        """One folder per CPU, and what holds for all of them."""
        return self.sys / "devices" / "system" / "cpu"

    @property
    def nodes(self) -> Path:
        """One folder per memory node."""
        return self.sys / "devices" / "system" / "node"

    @property
    def resctrl(self) -> Path:
        """Groups of the last-level cache."""
        return self.sys / "fs" / "resctrl"

    @property
    def pci(self) -> Path:
        return self.sys / "bus" / "pci"

    @property
    def dev(self) -> Path:
        return self.root / "dev"


def text(path: Path) -> str | None:
    """Return what a file holds, without the white space around it; None when that is nothing."""
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None


def integer(path: Path) -> int | None:
    """Return the number that a file holds, decimal or 0x…."""
    try:
        return int(text(path) or "", 0)
    except ValueError:
        return None


def field(path: Path, name: str, separator: str = ":") -> str | None:
    """Return the first value of `name` in a file of `name<separator>value` lines."""
    for line in (text(path) or "").splitlines():
        key, found, value = line.partition(separator)
        if found and key.strip() == name:
            return value.strip() or None
    return None


def kilobytes(path: Path, name: str) -> int | None:
    """Return the bytes of a field that is given in kB, as in meminfo."""
    amount = field(path, name)
    return int(amount.split()[0]) * 1024 if amount else None


def cpu_list(path: Path) -> frozenset[int] | None:
    """Return the CPUs that a file lists as 0,2-3; None where there is no such file."""
    try:
        listed = path.read_text().strip()
        return frozenset(CpuSet.parse(listed).cpus) if listed else frozenset()
    except (OSError, ValueError):
        return None


def numbered(folder: Path, prefix: str) -> tuple[tuple[int, Path], ...]:
    """Return the entries that are called `prefix` and a number, by number."""
    found = [
        (int(path.name.removeprefix(prefix)), path)
        for path in folder.glob(f"{prefix}[0-9]*")
        if path.name.removeprefix(prefix).isdigit()
    ]
    return tuple(sorted(found))


def link_name(path: Path) -> str | None:
    """Return the last name of what a link points to; None where there is no link."""
    try:
        return path.readlink().name
    except OSError:
        return None
