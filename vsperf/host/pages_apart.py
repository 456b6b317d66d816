"""A program that becomes another program, whose hugepages are in files that nobody else sees.

    python3 -I -S pages_apart.py FOLDER -- PROGRAM ARGUMENT…

Some programs of DPDK keep their memory in files, which stay when they end, and which would hold the
pages for good. Here each mount of hugepages is replaced by one below FOLDER, in a mount namespace
that ends with its last process: so nothing has to be taken back. What becomes the program keeps its
process number. It imports nothing of vsperf, so it starts at once.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

ENTER = Path(__file__)
END = "--"
SIZES = Path("/sys/kernel/mm/hugepages")
PREFIX = "hugepages-"
"""Of the folder of a size, which ends with it, such as 2048kB."""
CLONE_NEWNS = 0x20000
NOSUID, NODEV, REC, PRIVATE, DETACH = 2, 4, 1 << 14, 1 << 18, 2
NOT_ENTERED, NOT_RUN = 125, 126
"""How it ends when it becomes nothing."""
LIBC = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> int:
    """Mount pages of its own and become the program; returns only where that cannot be."""
    if len(arguments) < 3 or arguments[1] != END:
        return _refused("usage: pages_apart.py FOLDER -- PROGRAM ARGUMENT…", 2)
    folder, program = Path(arguments[0]), arguments[2:]
    try:
        mount_apart(folder)
    except OSError as error:
        return _refused(f"no hugepages of its own in {folder}: {error.strerror}", NOT_ENTERED)
    try:
        os.execvp(program[0], program)  # noqa: S606 - what the caller asked for
    except OSError as error:
        return _refused(f"cannot run {program[0]}: {error.strerror}", NOT_RUN)


def mount_apart(folder: Path) -> None:
    """Let this process see no other mount of hugepages than its own, one of each size."""
    _checked(LIBC.unshare(CLONE_NEWNS))
    _checked(LIBC.mount(None, b"/", None, ctypes.c_ulong(REC | PRIVATE), None))
    for place in mounted(Path("/proc/self/mounts").read_text()):
        _checked(LIBC.umount2(os.fsencode(place), DETACH))
    for size in sorted(SIZES.glob(f"{PREFIX}*kB")):
        kilobytes = size.name.removeprefix(PREFIX).removesuffix("kB")
        own = folder / kilobytes
        own.mkdir(parents=True, exist_ok=True)
        flags = ctypes.c_ulong(NOSUID | NODEV)
        options = f"pagesize={kilobytes}K".encode()
        _checked(LIBC.mount(b"hugetlbfs", os.fsencode(own), b"hugetlbfs", flags, options))


def mounted(mounts: str) -> list[str]:
    """Return where hugepages are mounted, by what the kernel says; the last mount comes first."""
    rows = [line.split() for line in mounts.splitlines()]
    found = [row[1] for row in rows if len(row) > 2 and row[2] == "hugetlbfs"]
    # Blanks and the like are written as octal numbers.
    return [place.encode().decode("unicode_escape") for place in reversed(found)]


def _checked(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _refused(reason: str, code: int) -> int:
    sys.stderr.write(f"vsperf: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
