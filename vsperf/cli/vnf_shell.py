"""A VNF's shell over its socket: one command with its exit code, or a person at a terminal.

The socket takes one client at a time, and lets others wait without a word; and a shell may be busy
with something that was left running in it. So the first thing is to see that it answers. Whatever
is in the VNF may speak in the shell's place, and is not believed: how much it says before and
after the output of a command is bounded (`vsperf/trust/heard.py`), and so is what a terminal gets
of it.

A terminal obeys what it is shown: it can be asked for its title or its state, and types the answer
as if a person had. So it gets text, and where somebody works in the VNF's shell also what a
shell needs to edit a line and to colour its output. All else is written out. A file and a pipe get
the bytes as they are, since they may be no text at all.
"""

from __future__ import annotations

import codecs
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from vsperf.errors import ComponentError, UsageError
from vsperf.trust.heard import Heard
from vsperf.trust.printable import printable
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
HARMLESS = re.compile(r"\x1b\[[0-9;]{0,16}[ABCDGHJKm]|[\r\b\a]")
"""Moving the cursor, clearing and colours; nothing that a terminal answers, keeps or plays back."""
ASKED = "\x1b[6n"
"""A line editor asks where the cursor is, and does without an answer."""
BEGUN = re.compile(r"\x1b(\[[0-9;]{0,16})?\Z")
"""What may become harmless with what comes next."""
PLAIN = "\x1b[0m"
"""Ends colours that were left on."""


@contextmanager
def shown(*, editing: bool = False) -> Iterator[Callable[[bytes], None]]:
    """Give what writes a VNF's words to the standard output, whatever that is."""
    words = Words(sys.stdout.buffer, sys.stdout.isatty(), editing)
    try:
        yield words.write
    finally:
        words.end()


@dataclass
class Words:
    """Writes what a VNF says to `output`, at once."""

    output: BinaryIO
    terminal: bool
    """Whether a terminal reads it."""
    editing: bool = False
    """Whether somebody works at it: then lines may be edited, and coloured."""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("backslashreplace")
    )
    _rest: str = ""

    def write(self, said: bytes) -> None:
        """Pass on what was said."""
        self._out(self._shown(self._decoder.decode(said)).encode() if self.terminal else said)

    def end(self) -> None:
        """Pass on what was held back, as nothing more comes."""
        if self.terminal:
            rest = printable(self._rest + self._decoder.decode(b"", final=True))
            self._rest = ""
            self._out((rest + (PLAIN if self.editing else "")).encode())

    def _shown(self, text: str) -> str:
        if not self.editing:
            return printable(text)
        text, self._rest = self._rest + text, ""
        if (begun := BEGUN.search(text)) is not None:
            text, self._rest = text[: begun.start()], begun[0]
        text = text.replace(ASKED, "")
        parts: list[str] = []
        at = 0
        for found in HARMLESS.finditer(text):
            parts += [printable(text[at : found.start()]), found[0]]
            at = found.end()
        return "".join([*parts, printable(text[at:])])

    def _out(self, text: bytes) -> None:
        self.output.write(text)
        self.output.flush()


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
