"""Ctrl-C and SIGTERM: an exception where it can be raised, and remembered where it gets lost."""

from __future__ import annotations

import signal
from types import FrameType


class Terminated(KeyboardInterrupt):
    """SIGTERM, treated like Ctrl-C but for its exit code."""


class SignalWatch:
    """Handles both signals.

    An exception that is raised while foreign code calls back into ours can be swallowed there
    (pydantic does so when it asks a value for its text). So the wish to stop is kept as well, and
    raised again at the next event of the run.
    """

    def __init__(self) -> None:
        self.pending: type[KeyboardInterrupt] | None = None

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        self.pending = Terminated if signum == signal.SIGTERM else KeyboardInterrupt
        raise self.pending

    @classmethod
    def install(cls) -> None:
        """Handle the signals from now on; one that is ignored stays ignored, as under nohup."""
        watch = cls()
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, watch)

    @classmethod
    def raise_pending(cls) -> None:
        """Raise what was asked for and got lost."""
        for number in (signal.SIGTERM, signal.SIGINT):
            watch = signal.getsignal(number)
            if isinstance(watch, cls) and watch.pending is not None:
                pending, watch.pending = watch.pending, None
                raise pending


def forget_interrupt() -> None:
    """Keep Python from killing itself with SIGINT at its end, for an interrupt that was caught.

    One that hits a text while it is executed (as dataclasses do on import) is remembered by the
    interpreter until the next text, and `python -m` then dies by it instead of exiting.
    """
    exec("")  # noqa: S102 - the next text
