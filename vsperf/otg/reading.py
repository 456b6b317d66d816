"""What a client may take of a server while it speaks: time, memory, and depth."""

from __future__ import annotations

import http.client
import io
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from vsperf.otg.document import RefusedError
from vsperf.trust import plain_json

SLOW_S = 30.0
"""Patience with a client that does not finish its sentence, or begins none."""
PARTING_S = 2.0
PARTING_CHUNKS = 256
"""What is heard of a client that was refused, at most."""
BUSY = 503
MOST_DEPTH = 64
"""Of objects in objects; the deepest of the model have a dozen."""
TOO_DEEP = f"the body has more than {MOST_DEPTH} objects and lists in each other"
MOST_OBJECTS = 1 << 16
"""Objects and lists of a body; the largest configuration has some thousands. An empty one is two
bytes in a body, and in memory dozens."""
CHUNK = 1 << 16
MOST_HEAD = 4 * CHUNK
"""Bytes that are read of a request before its body is; some of the body may be among them."""


class Reader(io.RawIOBase):
    """Reads a connection, with a deadline and a bound for each request as a whole.

    A time-out of the socket would begin anew with each byte, and a hundred headers may have 64 KiB
    each: both come before anybody was asked for a password.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline = 0.0
        self._left = 0
        self.begin()

    def begin(self) -> None:
        """Begin to wait for the next request."""
        self._deadline = time.monotonic() + SLOW_S
        self._left = MOST_HEAD

    def expect(self, size: int) -> None:
        """Let a body of this size come."""
        self._left = size

    def drain(self) -> None:
        """Hear the client out for a moment, and forget what it says."""
        self._deadline = time.monotonic() + PARTING_S
        buffer = bytearray(CHUNK)
        self._left = PARTING_CHUNKS * CHUNK
        while self._left:
            if not self.readinto(buffer):
                return

    def buffered(self) -> io.BufferedReader:
        """Return what a handler reads by."""
        return io.BufferedReader(self, CHUNK)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if self._left <= 0:
            raise http.client.HTTPException(f"a request has {MOST_HEAD} bytes of headers at most")
        self._connection.settimeout(left)
        read = self._connection.recv_into(buffer, min(len(buffer), self._left))
        self._left -= read
        return read


class Room:
    """Memory for bodies that are on their way, all of them together."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._turn = threading.Lock()

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Have room for a body; raises `RefusedError` where others have it."""
        with self._turn:
            if size > self._left:
                raise RefusedError(["others are sending much at this moment; ask again"], BUSY)
            self._left -= size
        try:
            yield
        finally:
            with self._turn:
                self._left += size


def read_json(body: bytes) -> object:
    """Return what a document says; raises `RefusedError` where that is not one thing."""
    if body.count(b"[") + body.count(b"{") > MOST_OBJECTS:
        raise RefusedError([f"the body has more than {MOST_OBJECTS} objects and lists"])
    try:
        found: object = plain_json.loads(body, _object)
    except RecursionError as error:
        raise RefusedError([TOO_DEEP]) from error
    except ValueError as error:
        raise RefusedError([f"the body is no JSON: {error}"]) from error
    level = [found]
    for _ in range(MOST_DEPTH):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return found
    raise RefusedError([TOO_DEEP])


def _inside(value: object) -> Iterable[Any]:
    """Return the objects and lists in one."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (one for one in inner if isinstance(one, dict | list))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object says something twice")
    return found
