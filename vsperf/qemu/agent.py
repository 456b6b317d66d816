"""The conversation with the agent in a guest: JSON lines over a virtio serial port.

The guest may not have booted when it begins, and what it writes before somebody is connected is
lost. So it is greeted again and again until it answers.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from vsperf.errors import ComponentError
from vsperf.qemu.answers import Booted, Ended, Exited, Message, Refused, understood
from vsperf.trust.heard import Heard
from vsperf.waits import received, sent

PROTOCOL = 1
HELLO_S = 1.0
"""Between two greetings."""
SEND_S = 0.5
"""A line is short, and there is room for it unless nobody reads."""
LOOK_S = 0.1
"""Between two looks at whether the VM still runs."""
MOST_NOTICED = 1000
"""Messages that an agent may have said unasked between two looks; it says one when it must."""
CHUNK = 1 << 16
MOST_WORDS = 1000
"""Letters of a guest that are told again in an error; a message may have a megabyte of them."""

Alive = Callable[[], None]
"""Raises `ComponentError` when the VM has ended."""


class AgentRefused(ComponentError):
    """The agent could not do what it was asked; `log` is what the application wrote."""

    def __init__(self, vm: str, verb: str, text: str, log: str | None) -> None:
        self.text = text[:MOST_WORDS]
        self.log = log
        why = f"it wrote: {last_lines(log)}" if log else None
        super().__init__(f"{vm}: the guest could not {verb}: {self.text}", why=why)


class AgentSilent(ComponentError):
    """The agent did not answer in time, or has hung up."""


@dataclass
class Agent:
    """One connection to the agent of one VM."""

    vm: str
    connection: socket.socket
    booted: Message | None = None
    """What the guest said about itself."""
    ended: str | None = None
    """How the application in the guest ended, when it did so by itself."""
    programs: dict[int, Exited | None] = field(default_factory=dict)
    """Programs that were started in the guest, by their numbers, and how each ended, if it has."""
    hangs: bool = False
    """Whether it was found not to answer, by who ends what it runs."""
    _number: int = 0
    _heard: Heard = field(init=False)
    _closed: bool = False

    def __post_init__(self) -> None:
        self._heard = Heard(f"{self.vm}: its agent")

    @classmethod
    def connect(cls, vm: str, path: Path) -> Self:
        """Connect to the port of a VM that QEMU was started for."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
        except OSError as error:
            connection.close()
            raise AgentSilent(
                f"{vm}: no connection to its control port",
                why=error.strerror or str(error),
            ) from error
        return cls(vm, connection)

    def close(self) -> None:
        self._closed = True
        self.connection.close()

    def await_boot(
        self, deadline: float, alive: Alive, kept_s: Callable[[], float] = lambda: 0.0
    ) -> Message:
        """Greet the guest until it answers, and return what it says about itself.

        The deadline moves by the time for which its QEMU was kept from running.
        """
        next_hello = 0.0
        while self.booted is None:
            now = time.monotonic()
            until = deadline + kept_s()
            if now >= until:
                raise AgentSilent(f"{self.vm}: the guest did not boot in time")
            alive()
            if now >= next_hello:
                self.request("hello")
                next_hello = now + HELLO_S
            self._receive(min(until, time.monotonic() + LOOK_S))
        protocol = understood(self.vm, self.booted, Booted).protocol
        if protocol != PROTOCOL:
            raise ComponentError(
                f"{self.vm}: its agent speaks protocol {protocol}, not {PROTOCOL}",
                why="the guest image was built from other sources than this vsperf",
                fix="make setup builds it in a checkout",
            )
        return self.booted

    def ask(self, verb: str, timeout_s: float, **parameters: Any) -> Message:
        """Return the agent's answer; raises `AgentRefused` when it could not do it."""
        return self.answer(self.request(verb, **parameters), verb, timeout_s)

    def request(self, verb: str, **parameters: Any) -> int:
        """Send a request, and return the number under which its answer will come."""
        self._number += 1
        message = {"id": self._number, "verb": verb, **parameters}
        self._send(message, time.monotonic() + SEND_S)
        return self._number

    def answer(
        self, number: int, verb: str, timeout_s: float, alive: Alive | None = None
    ) -> Message:
        """Wait for the answer to a request; those to others are dropped."""
        deadline = time.monotonic() + timeout_s
        while True:
            message = self._receive(min(deadline, time.monotonic() + LOOK_S))
            if message is not None and message.get("id") == number:
                return self._accepted(verb, message)
            if message is None and alive is not None:
                alive()
            if time.monotonic() >= deadline:  # also while it speaks without end of other things
                raise AgentSilent(
                    f"{self.vm}: the agent did not answer `{verb}` within {timeout_s:g} s"
                )

    def notice(self) -> None:
        """Take in what the agent said unasked; does not wait."""
        for _ in range(MOST_NOTICED):
            if self._closed or self._receive(0.0) is None:
                return
        raise ComponentError(f"{self.vm}: the agent speaks without end, unasked")

    def _accepted(self, verb: str, message: Message) -> Message:
        if "error" not in message:
            return message
        refused = understood(self.vm, message, Refused)
        raise AgentRefused(self.vm, verb, refused.error, refused.log)

    def _send(self, message: Message, deadline: float) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            self.connection.settimeout(max(0.001, deadline - time.monotonic()))
            sent(self.connection, line)
        except OSError as error:
            raise AgentSilent(
                f"{self.vm}: its control port takes nothing", why=_text(error)
            ) from error

    def _receive(self, deadline: float) -> Message | None:
        """Return the next message, events taken note of; None when none came in time."""
        message = self._heard.message(self._read, deadline)
        if message is not None:
            self._take_note(message)
        return message

    def _read(self, patience_s: float) -> bytes:
        try:
            self.connection.settimeout(patience_s)
            chunk = received(self.connection, CHUNK)
        except (TimeoutError, BlockingIOError):
            return b""
        except OSError as error:
            raise AgentSilent(f"{self.vm}: its control port broke", why=_text(error)) from error
        if not chunk:
            raise AgentSilent(f"{self.vm}: its control port was closed")
        return chunk

    def _take_note(self, message: Message) -> None:
        if message.get("event") == "booted":
            self.booted = message
        elif message.get("event") == "ended":
            told = understood(self.vm, message, Ended)
            words = f"; its last words: {last_lines(told.log)}" if told.log else ""
            self.ended = f"{told.app[:MOST_WORDS]} ended: {told.how[:MOST_WORDS]}{words}"
        elif message.get("event") == "exited":
            exited = understood(self.vm, message, Exited)
            if exited.program in self.programs:  # one that nobody started is nobody's news
                self.programs[exited.program] = exited


def last_lines(log: str, number: int = 5) -> str:
    """Return the end of what a program wrote, as one line, which is no longer than people read."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return " | ".join(lines[-number:])[-MOST_WORDS:]


def _text(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
