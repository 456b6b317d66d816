"""What is heard of somebody who is not believed, such as a guest: bounded in bytes and in time.

Each byte is looked at once, however the other side cuts what it says. All conversations with what
is in a guest go through here: its agent, its shell, and a generator in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vsperf.errors import ComponentError
from vsperf.trust.plain_json import loads

LONGEST = 1 << 20
"""Bytes up to an end that is waited for; what guests really say is far below."""
LATE = 1 << 20
"""Bytes that are read after the time is over, as they may have been said in it, and the rest of a
line that was begun: who was held up himself hears no less. No socket holds more."""

Message = dict[str, Any]
Read = Callable[[float], bytes]
"""Returns what has come within so many seconds; nothing when nothing did."""


@dataclass
class Heard:
    """What one side of a conversation has said, and nobody has taken yet."""

    who: str
    """Whose words these are, as errors begin with it: vm1: its agent."""
    longest: int = LONGEST
    _buffer: bytearray = field(default_factory=bytearray)
    _looked: int = 0
    """So many bytes were looked at in vain."""
    _deadline: float = 0.0
    _late: int = 0
    _ended_late: bool = False

    def up_to(self, end: bytes, read: Read, deadline: float) -> bytes | None:
        """Take what comes before the next `end`, and `end` with it; None when none came in time."""
        self._look_again(deadline)
        while (at := self._buffer.find(end, self._looked)) < 0:
            self._looked = max(0, len(self._buffer) - len(end) + 1)
            if len(self._buffer) > self.longest:
                raise ComponentError(f"{self.who} speaks without end")
            if not self._more(read):
                return None
        found = bytes(self._buffer[:at])
        self._take(at + len(end))
        return found

    def message(self, read: Read, deadline: float) -> Message | None:
        """Take the next line, which is an object in JSON; None when none came in time."""
        line = self.up_to(b"\n", read, deadline)
        return None if line is None else self._decoded(line)

    def before(self, mark: bytes) -> bytes:
        """Take what has come and lies before the mark, or before where the mark may begin."""
        ready, _ = split_before(bytes(self._buffer), mark)
        self._take(len(ready))
        return ready

    def begins_with(self, mark: bytes) -> bool:
        """Whether what comes next is the mark."""
        return self._buffer.startswith(mark)

    def add(self, news: bytes) -> None:
        """Hear what was read elsewhere."""
        self._buffer += news

    def _take(self, size: int) -> None:
        del self._buffer[:size]
        self._looked = 0

    def _look_again(self, deadline: float) -> None:
        if deadline != self._deadline:
            self._deadline, self._late, self._ended_late = deadline, 0, False

    def _more(self, read: Read) -> bool:
        """Read on; False when the time is over and nothing of it is left to be read."""
        left = self._deadline - time.monotonic()
        news = read(max(0.0, left))
        self._buffer += news
        if left > 0:
            return True
        self._late += len(news)
        self._ended_late |= b"\n" in news
        return bool(news) and (self._late <= LATE or not self._ended_late)

    def _decoded(self, line: bytes) -> Message:
        try:
            message = loads(line)
        except (ValueError, RecursionError) as error:
            shown = line[:80].decode(errors="replace")
            raise ComponentError(f"{self.who} said no JSON: {shown}") from error
        if not isinstance(message, dict):
            raise ComponentError(f"{self.who} said no JSON object")
        return message


def split_before(text: bytes, mark: bytes) -> tuple[bytes, bytes]:
    """Split where the mark begins, or may begin at the end of what has come so far."""
    at = text.find(mark)
    if at < 0:
        lengths = range(min(len(mark) - 1, len(text)), 0, -1)
        at = len(text) - next((n for n in lengths if text.endswith(mark[:n])), 0)
    if at == len(text) and text.endswith(b"\r"):
        at -= 1  # the rest of the line's end is still to come
    return text[:at], text[at:]
