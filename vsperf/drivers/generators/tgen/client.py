"""The conversation with tgen: JSON lines over its socket, each question with a deadline."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from vsperf.errors import ComponentError
from vsperf.trust.heard import Heard
from vsperf.waits import received, sent

LONGEST_LINE = 64 * 1024 * 1024
"""A longer answer is no answer; the largest, of 32 streams with histograms, is far below."""
CHUNK = 1 << 16

Answer = dict[str, Any]
Event = Callable[[Mapping[str, Any]], None]
Look = Callable[[], None]
"""Looks at something else, and raises when there is no more sense in waiting."""
LOOK_S = 0.02
"""Between two looks."""


def longest_ns(sending_ns: int) -> int:
    """Return how long sending may take whose schedule stands still while tgen does not run.

    No machine that tgen can be used on keeps it from running for more than two thirds of the time.
    """
    return 3 * sending_ns


class TgenError(ComponentError):
    """tgen refused a request; `code` is what programs may rely on."""

    def __init__(self, verb: str, code: str, text: str, path: str | None) -> None:
        self.code = code
        self.path = path
        where = f" at {path}" if path else ""
        super().__init__(f"tgen refused `{verb}`: {text}{where} ({code})")


class Gone(ComponentError):
    """The other end of the socket is closed: tgen has ended."""


class Silent(ComponentError):
    """The other end of the socket is open, and says nothing: tgen hangs."""


@dataclass
class Client:
    """One controller of one tgen."""

    connection: socket.socket
    on_event: Event = lambda event: None
    """Told of every event, such as the statistics of each second."""
    look: Look | None = None
    """Done while an answer is waited for; only before there is traffic, which it would disturb."""
    _number: int = 0
    _heard: Heard = field(default_factory=lambda: Heard("tgen", LONGEST_LINE))

    @classmethod
    def connect(cls, path: Path, timeout_s: float) -> Self:
        """Connect to the socket of a tgen that listens; raises OSError when none does."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            connection.connect(str(path))
        except OSError:
            connection.close()
            raise
        return cls(connection)

    def close(self) -> None:
        """Hang up; tgen stops sending and ends."""
        self.connection.close()

    def ask(self, verb: str, timeout_s: float, **parameters: Any) -> Answer:
        """Return the answer to one request; raises `TgenError` when tgen says no.

        Events that arrive in the meantime go to `on_event`.
        """
        self._number += 1
        number = self._number
        deadline = time.monotonic() + timeout_s
        self._send({"id": number, "verb": verb, **parameters}, deadline)
        while True:
            message = self._receive(verb, deadline, timeout_s)
            if "event" in message:
                self.on_event(message)
            elif message.get("id") == number:
                return _result(verb, message)
            elif not message.get("ok", True) and message.get("id") is None:
                raise _refusal(verb, message)  # about the connection, or a line it could not read

    def _send(self, message: Answer, deadline: float) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            self.connection.settimeout(max(0.001, deadline - time.monotonic()))
            sent(self.connection, line)
        except TimeoutError as error:
            raise Silent("tgen does not read its socket") from error
        except OSError as error:
            raise Gone("tgen has closed its socket", why=str(error)) from error

    def _receive(self, verb: str, deadline: float, timeout_s: float) -> Answer:
        message = self._heard.message(self._read_on, deadline)
        if message is None:
            raise Silent(f"tgen did not answer `{verb}` within {timeout_s:g} s")
        return message

    def _read_on(self, patience_s: float) -> bytes:
        news = self._read(patience_s if self.look is None else min(patience_s, LOOK_S))
        if self.look is not None:
            self.look()
        return news

    def _read(self, patience_s: float) -> bytes:
        self.connection.settimeout(patience_s)
        try:
            chunk = received(self.connection, CHUNK)
        except (TimeoutError, BlockingIOError):
            return b""
        except OSError as error:
            raise Gone("the connection to tgen broke", why=str(error)) from error
        if not chunk:
            raise Gone("tgen has hung up")
        return chunk


def _result(verb: str, message: Answer) -> Answer:
    if message.get("ok") is not True:
        raise _refusal(verb, message)
    result = message.get("result")
    return result if isinstance(result, dict) else {}


def _refusal(verb: str, message: Answer) -> TgenError:
    error = message.get("error")
    if not isinstance(error, dict):
        error = {}
    code, text = str(error.get("code", "unknown")), str(error.get("message", "it gave no reason"))
    path = error.get("path")
    return TgenError(verb, code, text, str(path) if path else None)
