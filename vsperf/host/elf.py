"""What a program says of itself in its first bytes: for which processor it is, and who loads it."""

from __future__ import annotations

import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

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
