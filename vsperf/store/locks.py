"""Advisory locks on open files; the kernel frees them however their holder ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from vsperf.waits import sleep

POLL_S = 0.02


def lock(descriptor: int, *, exclusive: bool, wait_s: float) -> bool:
    """Lock an open file, waiting at most `wait_s` for other holders; say whether it worked."""
    deadline = time.monotonic() + wait_s
    mode = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    while True:
        try:
            fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            sleep(POLL_S)
        else:
            return True


def is_locked(path: Path) -> bool:
    """Return whether another open file holds the exclusive lock on `path` at this moment.

    Asking takes the shared lock for an instant; whoever wants the exclusive one should wait a
    little before it gives up.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not lock(descriptor, exclusive=False, wait_s=0)
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
