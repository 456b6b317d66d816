"""One test at a time may count on whole CPUs and on hugepages, whoever runs it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTENDED = Path("/sys/kernel/mm")
"""What such tests contend for, and so what they lock: a machine has one for all checkouts, users
and file trees, nobody can put another file in its place, and of the lock nothing is left."""


@contextmanager
def machine_to_oneself() -> Iterator[None]:
    """Wait until no other test needs the machine, and keep others waiting meanwhile."""
    folder = os.open(CONTENDED, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
