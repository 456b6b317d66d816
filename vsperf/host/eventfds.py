"""Ringing the bells that one program was given by another, in the other's place.

Two programs that share memory tell each other of news through event descriptors. Where one of them
forgets to, its neighbour waits without end; whoever may look into the neighbour can ring for it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PIDFD_GETFD = 438
"""The system call, for which neither Python nor older C libraries have a name."""
EVENTFD = "anon_inode:[eventfd]"


def ring(pid: int, proc: Path = Path("/proc")) -> int:
    """Signal each event descriptor that a process has, and return how many these are.

    All who wait at one wake up, look around, and find nothing to do unless there is.
    """
    numbers = tuple(_event_descriptors(proc / str(pid) / "fd"))
    if not numbers:
        return 0
    process = os.pidfd_open(pid)
    try:
        return sum(_rung(process, number) for number in numbers)
    finally:
        os.close(process)


def _event_descriptors(folder: Path) -> Iterator[int]:
    for link in folder.iterdir():
        with suppress(OSError):  # closed meanwhile
            if str(link.readlink()) == EVENTFD:
                yield int(link.name)


def _rung(process: int, number: int) -> bool:
    library = ctypes.CDLL(None, use_errno=True)
    copy = library.syscall(PIDFD_GETFD, process, number, 0)
    if copy < 0:
        return False
    try:
        os.eventfd_write(copy, 1)
    except OSError:
        return False
    finally:
        os.close(copy)
    return True
