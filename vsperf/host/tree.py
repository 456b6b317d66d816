"""Where programs come from: this machine, or a tree of files on it, such as another release.

Programs of a tree are run inside of it (`enter_tree.py`), so that they find their own libraries,
plugins and files, and nothing of the machine's. What is asked of a program's file is asked here,
with the tree's links followed as the program itself would see them.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from vsperf.config.rooted import RootedSpec
from vsperf.errors import NotReadyError
from vsperf.host.facts import SYSTEM_PACKAGES
from vsperf.host.software import package_versions
from vsperf.trust import own_python, trusted

ENTER = Path(__file__).with_name("enter_tree.py")
END = "--"
RELEASE = Path("/etc/os-release")
OWN_PROGRAM = Path("/proc/self/exe")
UNUSED = frozenset(
    ("boot", "dev", "home", "media", "mnt", "proc", "root", "run", "srv", "sys", "tmp", "var")
)
"""Folders of a tree that no program is loaded from; others than root may have something there."""
MOST_LINKS = 40
HOW_TO = "docs/how-to/compare-two-versions-of-ovs.md shows how to make a tree"
MAGIC = b"\x7fELF"
INTERPRETER = 3
"""Kind of the program header that names the dynamic linker."""
LONGEST = 4096
"""Bytes of a path."""
MOST_HEADERS = 256
PROCESSORS = {3: "i386", 20: "ppc", 21: "ppc64", 22: "s390", 40: "arm", 62: "x86_64"} | {
    183: "aarch64",
    243: "riscv",
    258: "loongarch",
}


@dataclass(frozen=True, slots=True)
class Elf:
    """The head of a program in the format that Linux runs."""

    bits: int
    little: bool
    family: int
    """Number of the processor's family."""
    interpreter: str | None = None
    """Path of the dynamic linker; None where the program needs none."""

    @property
    def processor(self) -> str:
        """The processor's family for people, such as `aarch64`."""
        order = "" if self.little else ", big-endian"
        return f"{PROCESSORS.get(self.family, f'processor {self.family}')}, {self.bits} bits{order}"

    def runs_where(self, other: Elf) -> bool:
        """Whether it is for the same processor as another program."""
        mine, theirs = ((one.bits, one.little, one.family) for one in (self, other))
        return mine == theirs


def read_elf(path: Path) -> Elf | None:
    """Return the head of a program; None for what is none, such as a script."""
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or not head.startswith(MAGIC):
            return None
        wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
        (family,) = struct.unpack_from(f"{order}H", head, 18)
        linker = None
        with suppress(
            OSError, OverflowError, ValueError, struct.error
        ):  # damaged: it leads nowhere
            linker = _linker(file, head, order, wide=wide)
    return Elf(64 if wide else 32, order == "<", family, linker)


def _linker(file: BinaryIO, head: bytes, order: str, *, wide: bool) -> str | None:
    """Return the dynamic linker that the program headers name."""
    word, at = ("Q", 32) if wide else ("I", 28)
    (start,) = struct.unpack_from(f"{order}{word}", head, at)
    size, count = struct.unpack_from(f"{order}HH", head, 54 if wide else 42)
    file.seek(start)
    table = file.read(size * min(count, MOST_HEADERS))
    for at in range(0, len(table) - size + 1, size or 1):
        if struct.unpack_from(f"{order}I", table, at)[0] == INTERPRETER:
            place, length = _segment(table, at, order, wide=wide)
            file.seek(place)
            return file.read(min(length, LONGEST)).rstrip(b"\0").decode(errors="replace")
    return None


def _segment(table: bytes, at: int, order: str, *, wide: bool) -> tuple[int, int]:
    """Return where what a program header describes begins in the file, and how long it is."""
    form, places = (f"{order}Q", (8, 32)) if wide else (f"{order}I", (4, 16))
    place, length = (struct.unpack_from(form, table, at + offset)[0] for offset in places)
    return place, length


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree of files that programs are run in; without a root, the machine itself."""

    root: Path | None = None
    foreign: bool = False
    """Whether others may own it, or write to it."""
    setting: str = "vswitch"
    """The section of a testcase that names it, for people."""

    @classmethod
    def of(cls, spec: RootedSpec, setting: str = "vswitch") -> Tree:
        """Return the tree that a driver's settings name."""
        return cls(None if spec.root is None else Path(spec.root), spec.foreign_root, setting)

    def command(
        self, argv: Sequence[str], *, folders: Sequence[str] = (), devices: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the command that runs a program of the tree, named by its path in it. Pure.

        `folders` are those of the machine that it shares, `devices` what it needs of /dev beside
        the usual; those that the machine has not are left out.
        """
        if self.root is None:
            return tuple(argv)
        shared = (f"--folder={folder}" for folder in folders)
        needed = (f"--device={device}" for device in devices)
        return own_python.script(ENTER, str(self.root), *shared, *needed, END, *argv)

    @property
    def within(self) -> str:
        """Words that say in which tree; none for the machine itself."""
        return "" if self.root is None else f" of the tree {self.root}"

    def program_of(self, command: Sequence[str]) -> str:
        """Return the name of the program that such a command runs."""
        place = 0 if self.root is None else command.index(END) + 1
        return Path(command[place]).name

    def path(self, name: Path) -> Path:
        """Return where on the machine a file of the tree is. Reads names only.

        Links are followed within the tree, also those that begin with a slash.
        """
        if self.root is None:
            return name
        here, links = self.root, 0
        ahead = list(reversed(name.parts[1:]))
        while ahead:
            part = ahead.pop()
            if part == "..":
                here = here if here == self.root else here.parent
            elif (here / part).is_symlink() and (links := links + 1) <= MOST_LINKS:
                target = (here / part).readlink()
                here = self.root if target.is_absolute() else here
                ahead += reversed([one for one in target.parts if one != "/"])
            else:
                here /= part
        return here

    def first_of(self, root: Path, names: Iterable[str]) -> Path:
        """Return the first of these files below a folder of the tree, or the first name at all."""
        candidates = [root / name for name in names]
        return next((path for path in candidates if self.path(path).exists()), candidates[0])

    def digest(self, program: Path) -> str:
        """Return the SHA-256 of a program, which tells builds of one version apart."""
        return hashlib.sha256(self.path(program).read_bytes()).hexdigest()

    def to_install(self, package: str) -> str:
        """Return the command by which a package gets into the tree."""
        within = "" if self.root is None else f"chroot {self.root} "
        return f"{within}apt-get install {package}"

    def runs(self, program: Path) -> bool:
        """Whether there is such a program, and it may be run."""
        file = self.path(program)
        return file.is_file() and os.access(file, os.X_OK)

    def require(self, fix: str = HOW_TO) -> None:
        """Raise `NotReadyError` for what stands against running programs of the tree."""
        if self.root is None:
            return
        named = f"{self.setting}.root names {self.root}"
        if not self.root.is_dir():
            raise NotReadyError(f"there is no tree {self.root}", why=named, fix=fix)
        if os.geteuid() != 0:
            raise NotReadyError(
                f"only root can run programs in the tree {self.root}",
                why="they run in mounts of their own, with the tree in the place of /",
                fix="run vsperf with sudo",
            )
        if not self.foreign and (reason := self._why_not()) is not None:
            raise NotReadyError(
                f"others than root decide what the tree {self.root} holds",
                why=f"{reason}; root would run it",
                fix="let the tree be root's alone (chown, chmod go-w), or, where nobody else uses "
                f"this machine, --set {self.setting}.foreign_root=true",
            )

    def require_program(self, program: Path) -> None:
        """Raise `NotReadyError` where a program of the tree cannot run here, whatever it does."""
        if self.root is None:
            return
        elf, own = read_elf(self.path(program)), read_elf(OWN_PROGRAM)
        if elf is None or own is None:
            return
        if not elf.runs_where(own):
            raise NotReadyError(
                f"{program} of the tree {self.root} is for another processor",
                why=f"it is a program for {elf.processor}, and this machine runs {own.processor}",
                fix=f"name a tree for {own.processor}: --set {self.setting}.root=FOLDER",
            )
        self._require_linker(program, elf)

    def _require_linker(self, program: Path, elf: Elf) -> None:
        if elf.interpreter is None or self.path(Path(elf.interpreter)).is_file():
            return
        raise NotReadyError(
            f"{program} of the tree {self.root} cannot be loaded",
            why=f"the tree has no {elf.interpreter}, the dynamic linker that it asks for",
            fix="name a whole tree, with the C library and all that its programs need",
        )

    def facts(self) -> dict[str, Any]:
        """Return what the tree is, for the record; nothing for the machine, which has its own."""
        if self.root is None:
            return {}
        return {
            "root": str(self.root),
            "system": self._system(),
            "packages": package_versions(SYSTEM_PACKAGES, self.root),
        }

    def _system(self) -> str | None:
        try:
            lines = self.path(RELEASE).read_text(errors="replace").splitlines()
        except OSError:
            return None
        names = (line.partition("=")[2] for line in lines if line.startswith("PRETTY_NAME="))
        return next((name.strip("\"'") for name in names), None)

    def _why_not(self) -> str | None:
        """Return why others decide what is run; with sudo, its caller may own the tree."""
        assert self.root is not None
        users = trusted.callers(os.environ)
        try:
            return trusted.why_not(self.root, users) or trusted.why_not_below(
                self.root, users, UNUSED
            )
        except OSError as error:
            return f"{error.filename or self.root}: {error.strerror}"


HERE = Tree()
"""The machine itself."""
