"""testpmd told what to do, by a pipe that it reads commands from, and what it answers in its log.

When the pipe is closed, whoever held it, testpmd ends by itself. So does it when vsperf is killed.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from vsperf.errors import ComponentError
from vsperf.host.process import written_since
from vsperf.waits import sleep

LINE_BY_LINE = ("stdbuf", "-oL")
"""Words before its command line: whatever it writes into a file it otherwise holds back."""
DONE = "\nDone.\n"
"""With this ends what it says when it has stopped, and nothing else that it says."""
STATISTICS = re.compile(
    r"Forward statistics for port (\d+)\s.*?"
    r"RX-packets:\s+(\d+)\s.*?TX-packets:\s+(\d+)\s+TX-dropped:\s+(\d+)\s",
    re.DOTALL,
)
STOP_S = 5.0
POLL_S = 0.002


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What one port did between a start and a stop, as testpmd tells when it stops."""

    received: int
    sent: int
    refused: int
    """Frames that it made for the port, and the port did not take."""


@dataclass
class Console:
    """The end of the pipe that commands are written into."""

    path: Path
    log: Path
    descriptor: int = field(default=-1, init=False)

    def make(self) -> None:
        """Make the pipe, before the program is started."""
        os.mkfifo(self.path, 0o600)

    def open(self) -> bool:
        """Say whether testpmd reads from it by now: it does when its ports are set up."""
        try:
            self.descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.ENOENT):
                return False
            raise
        return True

    def close(self) -> None:
        """Hang up, which ends testpmd; another one may have its pipe there."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        self.path.unlink(missing_ok=True)

    def say(self, *commands: str) -> None:
        """Have commands carried out, one after the other."""
        text = "".join(f"{command}\n" for command in commands).encode()
        with ComponentError.if_refused("testpmd takes no more commands"):
            written = os.write(self.descriptor, text)
        if written < len(text):
            raise ComponentError("testpmd does not read its commands", why="the pipe is full")

    def stop(self, look: Callable[[], None]) -> dict[int, Forwarded]:
        """Stop forwarding; return what each port did since the start, by number.

        `look` raises when there will be no answer, since the program has ended.
        """
        heard = self.log.stat().st_size
        self.say("stop")
        deadline = time.monotonic() + STOP_S
        while DONE not in (said := self._said_since(heard)):
            look()
            if time.monotonic() > deadline:
                raise ComponentError(f"testpmd did not stop within {STOP_S:g} s")
            sleep(POLL_S)  # between two looks at a condition, never instead of one
        return forwarded(said)

    def _said_since(self, place: int) -> str:
        return written_since(self.log, place)[1].decode(errors="replace")


def forwarded(said: str) -> dict[int, Forwarded]:
    """Return what testpmd says of each port when it stops."""
    return {
        int(port): Forwarded(int(received), int(sent), int(dropped))
        for port, received, sent, dropped in STATISTICS.findall(said)
    }
