"""Ctrl-C, SIGTERM, SIGHUP: remembered where they arrive, and raised at places of our own only.

A handler that raises does so wherever the program is: while foreign code calls back into Python,
which swallows it and prints a traceback, or amid an import, which is left half done. So the handler
takes note, and wakes whoever waits; `raise_if_stopped` is called in each wait (`vsperf.waits`) and
between the steps of what takes long.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""SIGHUP comes when a terminal ends, or the connection to it: the commonest end of a long run that
nobody wished for, and no reason to leave a switch that polls."""
Handler = Any
"""What `signal.getsignal` returns."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, treated like Ctrl-C but for its exit code."""


class SignalWatch:
    """Handles these signals; found where the interpreter keeps its handlers.

    The interpreter itself writes to the descriptor when a signal arrives, before any handler runs
    and whatever the main thread does. So a signal between a look at `pending` and a wait that
    watches `waker` ends the wait at once.
    """

    def __init__(self) -> None:
        self.pending: type[KeyboardInterrupt] | None = None
        """What is to be raised; the first that was asked for, until it is."""
        self.asked: type[KeyboardInterrupt] | None = None
        """What was asked for first, also once it was raised."""
        self.waker, self._written = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._before: dict[int, Handler] = {}
        self._woken_before = -1

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        if self.pending is None:
            self.pending = KeyboardInterrupt if signum == signal.SIGINT else Terminated
            self.asked = self.asked or self.pending

    @classmethod
    def install(cls) -> SignalWatch:
        """Handle the signals from now on; one that is ignored stays ignored, as under nohup."""
        watch = cls()
        watch._woken_before = signal.set_wakeup_fd(watch._written, warn_on_full_buffer=False)
        for number in SIGNALS:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                watch._before[number] = before
                signal.signal(number, watch)
        return watch

    @classmethod
    def installed(cls) -> SignalWatch | None:
        """Return who handles signals here: in the main thread only, and not while held back."""
        if threading.get_ident() != threading.main_thread().ident:
            return None
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if isinstance(handler, cls):
                return handler
        return None

    def settle(self) -> None:
        """Take out what woke us, which other signals do as well."""
        with suppress(BlockingIOError):
            while os.read(self.waker, 512):
                pass

    def raise_pending(self) -> None:
        """Raise what was asked for, once."""
        if self.pending is not None:
            pending, self.pending = self.pending, None
            raise pending

    def close(self) -> None:
        """Handle the signals no longer; whoever did before does so again."""
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._woken_before)
        os.close(self.waker)
        os.close(self._written)


def disregard_stop() -> None:
    """Let a program that has decided on its exit code end with it, whatever arrives meanwhile."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def forget_stop() -> None:
    """Take it as done that somebody asked to stop once more, of what has ended for it."""
    watch = SignalWatch.installed()
    if watch is not None:
        watch.pending = None


def asked_to_stop() -> type[KeyboardInterrupt] | None:
    """Return what somebody has asked for, whether or not it was raised already."""
    watch = SignalWatch.installed()
    return None if watch is None else watch.asked


def raise_if_stopped() -> None:
    """Raise KeyboardInterrupt, or `Terminated`, if somebody has asked vsperf to stop.

    To be called between the steps of whatever takes longer than a moment, and never where foreign
    code has called us.
    """
    watch = SignalWatch.installed()
    if watch is not None:
        watch.raise_pending()


@contextmanager
def signals_held() -> Iterator[None]:
    """Keep these signals until the end, so that they cannot stop an undo half-way.

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
        for number in SIGNALS:
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
