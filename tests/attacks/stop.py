"""SIGINT and SIGTERM for a soak: they end it where it waits, and not between two steps."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopped(BaseException):
    """A signal asked the soak to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Stop:
    """Keeps in mind that a signal came, until it may be heeded."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._waits = False

    def install(self) -> None:
        """Handle the signals from now on."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        first = self.number is None
        self.number = number
        if self._waits and first:  # what is tidied up afterwards is not interrupted
            raise Stopped(number)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let a signal interrupt what is inside, or be heeded at once if it came before."""
        self._waits = True
        try:
            if self.number is not None:
                raise Stopped(self.number)
            yield
        finally:
            self._waits = False
