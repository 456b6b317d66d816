"""Ctrl-C and SIGTERM, kept back while something is undone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def signals_held() -> Iterator[None]:
    """Keep both signals until the end, so that they cannot stop an undo half-way.

    One that arrives is delivered afterwards: nobody's wish to stop gets lost.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread only
        return
    arrived: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    previous = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler not in (signal.SIG_IGN, None):
                previous[number] = handler
                signal.signal(number, remember)
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for wish in dict.fromkeys(arrived):
            signal.raise_signal(wish)
