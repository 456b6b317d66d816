"""A watch over Ctrl-C for the time of a test, and signals that arrive when nobody can tell."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vsperf.stop import SignalWatch


@pytest.fixture(name="watch")
def fixture_watch() -> Iterator[SignalWatch]:
    watch = SignalWatch.install()
    yield watch
    watch.close()


@contextmanager
def struck_elsewhere(number: signal.Signals = signal.SIGINT) -> Iterator[None]:
    """Have another thread receive a signal, before or amid what is done meanwhile.

    No system call of the main thread is interrupted by that, as none is by a signal which arrives
    a moment before the call.
    """
    begun = threading.Event()

    def strike() -> None:
        begun.wait()
        signal.pthread_kill(threading.get_ident(), number)

    thread = threading.Thread(target=strike)
    thread.start()
    begun.set()
    try:
        yield
    finally:
        thread.join()
