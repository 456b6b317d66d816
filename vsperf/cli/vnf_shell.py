"""A VNF's shell over its socket: one command with its exit code, or a person at a terminal.

The socket takes one client at a time, and lets others wait without a word; and a shell may be busy
with something that was left running in it. So the first thing is to see that it answers. Whatever
is in the VNF may speak in the shell's place, and is not believed: how much it says before and
after the output of a command is bounded (`vsperf/trust/heard.py`), and so is what a terminal gets
of it.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import socket
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vsperf.errors import ComponentError, UsageError
from vsperf.trust.heard import Heard
from vsperf.waits import aside, received, sent, wait_for

ANSWER_S = 5.0
"""Patience with a shell; that of an emulated guest answers within a tenth of a second."""
LONGEST_COMMAND = 900
"""Bytes; the line editor of a small shell takes about a thousand."""
LEAVE = b"\x1d"
"""Ctrl-]"""
CLEAR_LINE = b"\x15"
INTERRUPT = b"\x03"
EXIT_CODE = re.compile(rb" (\d{1,3})\r?")
LAST_CODE = 255
SHOWN = 40
CHUNK = 1 << 16


class VnfShell:
    """A shell that was connected to."""

    def __init__(self, vnf: str, connection: socket.socket) -> None:
        self.vnf = vnf
        self.connection = connection
        self._heard = Heard(f"the shell of {vnf}")

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
        self._expect(f"vsperf-begin-{token}".encode())
        self._expect(b"\n")
        mark = f"vsperf-end-{token}".encode()
        try:
            while True:
                write(self._heard.before(mark).replace(b"\r\n", b"\n"))
                if self._heard.begins_with(mark):
                    break
                self._heard.add(self._received(None))
        except KeyboardInterrupt:
            self._send(INTERRUPT)
            raise
        return self._exit_code(self._expect(b"\n").removeprefix(mark))

    def talk(self, terminal: int, write: Callable[[bytes], None]) -> None:
        """Pass on what is typed at a terminal and what the shell writes, until Ctrl-]."""
        with raw(terminal):
            self._send(b"\n")
            write(self._received(ANSWER_S))
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

    def _expect(self, end: bytes) -> bytes:
        """Wait until the shell has said something that ends so; return it without its end."""
        found = self._heard.up_to(end, self._read, time.monotonic() + ANSWER_S)
        if found is None:
            raise self._silent()
        return found

    def _exit_code(self, said: bytes) -> int:
        code = EXIT_CODE.fullmatch(said)
        if code is None or int(code[1]) > LAST_CODE:
            raise ComponentError(
                f"the shell of {self.vnf} says no exit code: {said[:SHOWN].decode('latin-1')}",
                why="something in the VNF speaks in its place",
            )
        return int(code[1])

    def _received(self, patience_s: float | None) -> bytes:
        """Return what comes next."""
        if not wait_for((self.connection.fileno(),), patience_s):
            raise self._silent()
        return self._read(0.0)

    def _read(self, patience_s: float) -> bytes:
        """Return what comes within so long; nothing when nothing does."""
        if not wait_for((self.connection.fileno(),), patience_s):
            return b""
        try:
            found = received(self.connection, CHUNK)
        except OSError:
            found = b""
        if not found:
            raise self._gone()
        return found

    def _silent(self) -> ComponentError:
        return ComponentError(
            f"the shell of {self.vnf} does not answer",
            why="another `vsperf shell` holds it, or something runs in it that was left there",
            fix="end the other one; what runs in it is ended by Ctrl-C in "
            f"`vsperf shell {self.vnf}`",
        )

    def _send(self, text: bytes) -> None:
        try:
            sent(self.connection, text)
        except OSError as error:
            raise self._gone() from error

    def _gone(self) -> ComponentError:
        return ComponentError(
            f"{self.vnf} has gone", why="its side of the connection to its shell was closed"
        )


@contextmanager
def connected(vnf: str, path: Path) -> Iterator[VnfShell]:
    """Connect to the shell of a VNF."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        try:
            aside(lambda: connection.connect(str(path)))
        except TimeoutError as error:
            raise ComponentError(
                f"the shell of {vnf} takes nobody in",
                why="others hold it, or wait for it",
                fix="end the other `vsperf shell`",
            ) from error
        except OSError as error:
            raise ComponentError(
                f"cannot connect to the shell of {vnf}",
                why=f"{path}: {error.strerror or error}",
                fix="see whether the VNF still runs",
            ) from error
        connection.settimeout(None)
        yield VnfShell(vnf, connection)


@contextmanager
def raw(terminal: int) -> Iterator[None]:
    """Have every key of a terminal passed on at once, Ctrl-C as well."""
    before = termios.tcgetattr(terminal)
    tty.setraw(terminal)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
