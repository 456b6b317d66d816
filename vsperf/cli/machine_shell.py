"""A machine's shell over its socket: one command with its exit code, or a person at a terminal.

The socket takes one client at a time, and lets others wait without a word; and a shell may be busy
with something that was left running in it. So the first thing is to see that it answers.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import socket
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vsperf.errors import ComponentError, UsageError
from vsperf.waits import aside, received, sent, wait_for

ANSWER_S = 5.0
"""Patience with a shell; that of an emulated guest answers within a tenth of a second."""
LONGEST_COMMAND = 900
"""Bytes; the line editor of a small shell takes about a thousand."""
LEAVE = b"\x1d"
"""Ctrl-]"""
CLEAR_LINE = b"\x15"
INTERRUPT = b"\x03"


class MachineShell:
    """A shell that was connected to."""

    def __init__(self, machine: str, connection: socket.socket) -> None:
        self.machine = machine
        self.connection = connection

    def run(self, command: str, write: Callable[[bytes], None]) -> int:
        """Run a command, pass on what it writes, and return its exit code.

        It reads nothing. Its output is what lies between two marks, which the echo of what is
        typed here does not hold, as they are put together by the shell only.
        """
        if len(command.encode()) > LONGEST_COMMAND:
            raise UsageError(
                f"the command is longer than {LONGEST_COMMAND} bytes",
                fix="type it in pieces, or without COMMAND, in an interactive shell",
            )
        token = secrets.token_hex(4)
        line = (
            f"echo vsperf-begin-''{token}; sh -c {shlex.quote(command)} </dev/null; "
            f"echo vsperf-end-''{token} $?\n"
        )
        self._send(CLEAR_LINE + line.encode())
        rest = self._await_begin(f"vsperf-begin-{token}\n".encode())
        end = re.compile(rb"vsperf-end-%s (\d+)\n" % token.encode())
        mark = f"vsperf-end-{token}".encode()
        try:
            while (found := end.search(rest)) is None:
                ready, rest = split_before(rest, mark)
                write(ready)
                rest += self._received(None)
                rest = rest.replace(b"\r\n", b"\n")
        except KeyboardInterrupt:
            self._send(INTERRUPT)
            raise
        write(rest[: found.start()])
        return int(found[1])

    def talk(self, terminal: int, write: Callable[[bytes], None]) -> None:
        """Pass on what is typed at a terminal and what the shell writes, until Ctrl-]."""
        with raw(terminal):
            self._send(b"\n")
            write(self._received(time.monotonic() + ANSWER_S))
            while True:
                ready = wait_for((self.connection.fileno(), terminal), None)
                if self.connection.fileno() in ready:
                    write(self._received(None))
                if terminal in ready:
                    typed = os.read(terminal, 4096)
                    before, leave, _ = typed.partition(LEAVE)
                    self._send(before)
                    if leave or not typed:
                        return

    def _await_begin(self, mark: bytes) -> bytes:
        """Wait for the first mark, and return what came after it."""
        deadline, seen = time.monotonic() + ANSWER_S, b""
        while mark not in seen:
            seen = (seen + self._received(deadline)).replace(b"\r\n", b"\n")
        return seen.partition(mark)[2]

    def _received(self, deadline: float | None) -> bytes:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not wait_for((self.connection.fileno(),), left):
            raise ComponentError(
                f"the shell of {self.machine} does not answer",
                why="another `vsperf shell` holds it, or something runs in it that was left there",
                fix="end the other one; what runs in it is ended by Ctrl-C in "
                f"`vsperf shell {self.machine}`",
            )
        try:
            found = received(self.connection, 65536)
        except OSError:
            found = b""
        if not found:
            raise self._gone()
        return found

    def _send(self, text: bytes) -> None:
        try:
            sent(self.connection, text)
        except OSError as error:
            raise self._gone() from error

    def _gone(self) -> ComponentError:
        return ComponentError(
            f"{self.machine} has gone", why="its side of the connection to its shell was closed"
        )


@contextmanager
def connected(machine: str, path: Path) -> Iterator[MachineShell]:
    """Connect to the shell of a machine."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        try:
            aside(lambda: connection.connect(str(path)))
        except TimeoutError as error:
            raise ComponentError(
                f"the shell of {machine} takes nobody in",
                why="others hold it, or wait for it",
                fix="end the other `vsperf shell`",
            ) from error
        except OSError as error:
            raise ComponentError(
                f"cannot connect to the shell of {machine}",
                why=f"{path}: {error.strerror or error}",
                fix="see whether the machine still runs",
            ) from error
        connection.settimeout(None)
        yield MachineShell(machine, connection)


def split_before(text: bytes, mark: bytes) -> tuple[bytes, bytes]:
    """Split where the mark begins, or may begin at the end of what has come so far."""
    at = text.find(mark)
    if at < 0:
        lengths = range(min(len(mark) - 1, len(text)), 0, -1)
        at = len(text) - next((n for n in lengths if text.endswith(mark[:n])), 0)
    if at == len(text) and text.endswith(b"\r"):
        at -= 1  # the rest of the line's end is still to come
    return text[:at], text[at:]


@contextmanager
def raw(terminal: int) -> Iterator[None]:
    """Have every key of a terminal passed on at once, Ctrl-C as well."""
    before = termios.tcgetattr(terminal)
    tty.setraw(terminal)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def write_out(text: bytes) -> None:
    """Write what a machine says as it is, at once."""
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
