"""A program that is kept from running for a moment, as a machine may do to any."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_soon(pid: int, after_s: float, for_s: float) -> Iterator[None]:
    """Stop a process of ours some time into the context, and let it go on a while later."""

    def freeze() -> None:
        time.sleep(after_s)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(for_s)
        os.kill(pid, signal.SIGCONT)

    freezer = threading.Thread(target=freeze)
    freezer.start()
    try:
        yield
    finally:
        freezer.join()
