"""The shell of a VNF: what is typed, what comes back, and who may not be believed."""

from __future__ import annotations

import itertools
import os
import pty
import re
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from vsperf.cli import vnf_shell
from vsperf.cli.vnf_shell import LEAVE, connected
from vsperf.errors import ComponentError, UsageError
from vsperf.trust import heard
from vsperf.trust.heard import LATE, LONGEST, Heard, split_before


@dataclass
class Guest:
    """A shell that outlives its clients, of which it takes one at a time."""

    path: Path
    listening: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def serve(self) -> None:
        terminal, inner = pty.openpty()
        shell = subprocess.Popen(
            ["sh", "-i"], stdin=inner, stdout=inner, stderr=inner, start_new_session=True
        )
        os.close(inner)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.path))
            listener.listen(1)
            listener.settimeout(0.05)
            self.listening.set()
            while not self.ended.is_set():
                try:
                    client, _ = listener.accept()
                except TimeoutError:
                    continue
                with client, suppress(OSError):  # it may go at any moment
                    self._pass_on(client, terminal)
        shell.kill()
        shell.wait()
        os.close(terminal)

    def _pass_on(self, client: socket.socket, terminal: int) -> None:
        while not self.ended.is_set():
            ready, _, _ = select.select([client.fileno(), terminal], [], [], 0.05)
            if terminal in ready:
                client.sendall(os.read(terminal, 4096))
            if client.fileno() in ready:
                if not (typed := client.recv(4096)):
                    return
                os.write(terminal, typed)


@pytest.fixture(name="guest")
def fixture_guest(tmp_path: Path) -> Iterator[Path]:
    """Give the socket of a VNF's shell."""
    guest = Guest(tmp_path / "vm1.shell")
    thread = threading.Thread(target=guest.serve)
    thread.start()
    assert guest.listening.wait(60)
    yield guest.path
    guest.ended.set()
    thread.join()


def ran(path: Path, command: str) -> tuple[int, str]:
    """Run a command and return its exit code and what it wrote."""
    written: list[bytes] = []
    with connected("vm1", path) as shell:
        code = shell.run(command, written.append)
    return code, b"".join(written).decode()


@pytest.mark.parametrize(
    ("command", "code", "wrote"),
    [
        ("echo hello", 0, "hello\n"),
        ("printf 'no newline'", 0, "no newline"),
        ("exit 7", 7, ""),
        ("echo one; echo two >&2; false", 1, "one\ntwo\n"),
        ("echo 'it'\\''s' | tr a-z A-Z", 0, "IT'S\n"),
        ("cat", 0, ""),
        ("echo one\necho two", 0, "one\ntwo\n"),
        ("echo vsperf-begin- vsperf-end-", 0, "vsperf-begin- vsperf-end-\n"),
        ("echo a # a remark", 0, "a\n"),
    ],
)
def test_a_command_gives_what_it_writes_and_its_exit_code(
    guest: Path, command: str, code: int, wrote: str
) -> None:
    assert ran(guest, command) == (code, wrote)


def test_much_output_comes_whole(guest: Path) -> None:
    _, wrote = ran(guest, "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done")
    assert wrote == "".join(f"line {number}\n" for number in range(5000))


def test_a_mistake_in_a_command_does_not_break_the_shell(guest: Path) -> None:
    code, _ = ran(guest, "if then")
    assert code == 2
    assert ran(guest, "echo still here") == (0, "still here\n")


def test_output_comes_while_the_command_runs(guest: Path, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    command = f"echo first; while [ ! -e {go_on} ]; do sleep 0.01; done; echo last"
    written: list[bytes] = []

    def write(text: bytes) -> None:
        written.append(text)
        if b"first\n" in b"".join(written):
            go_on.touch()

    with connected("vm1", guest) as shell:
        assert shell.run(command, write) == 0
    assert b"".join(written) == b"first\nlast\n"


def test_what_somebody_left_half_typed_is_not_run(guest: Path) -> None:
    with connected("vm1", guest) as shell:
        shell.connection.sendall(b"echo half ")
    assert ran(guest, "echo whole") == (0, "whole\n")


def test_a_second_client_is_told_so_instead_of_waiting(
    guest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected("vm1", guest) as first, connected("vm1", guest) as second:
        assert first.run("true", lambda _: None) == 0
        monkeypatch.setattr(vnf_shell, "ANSWER_S", 0.3)
        with pytest.raises(ComponentError, match="does not answer") as caught:
            second.run("true", lambda _: None)
    assert "another `vsperf shell` holds it" in str(caught.value.problems[0].why)


def test_a_vnf_that_ends_meanwhile_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "vm1.shell"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        with connected("vm1", path) as shell:
            listener.accept()[0].close()
            with pytest.raises(ComponentError, match="has gone"):
                shell.run("true", lambda _: None)


def test_nobody_behind_the_socket_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(ComponentError, match="cannot connect"),
        connected("vm1", tmp_path / "vm1.shell"),
    ):
        pass


def test_a_command_that_a_small_shell_would_cut_is_refused(guest: Path) -> None:
    with pytest.raises(UsageError, match="longer than"):
        ran(guest, "echo " + "x" * 1000)


def test_at_a_terminal_every_key_is_passed_on_until_the_one_that_leaves(guest: Path) -> None:
    keyboard, terminal = pty.openpty()
    shown: list[bytes] = []

    def write(text: bytes) -> None:
        shown.append(text)
        if text and len(shown) == 1:
            os.write(keyboard, b"echo $((6 * 7))\n")
        if b"42" in b"".join(shown):
            os.write(keyboard, LEAVE)

    try:
        with connected("vm1", guest) as shell:
            shell.talk(terminal, write)
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert b"42" in b"".join(shown)


@pytest.mark.parametrize(
    ("text", "ready", "held"),
    [
        (b"abc", b"abc", b""),
        (b"abcEN", b"abc", b"EN"),
        (b"abcEND 0", b"abc", b"END 0"),
        (b"abc\r", b"abc", b"\r"),
        (b"ENDED", b"", b"ENDED"),
    ],
)
def test_output_is_held_back_only_where_the_mark_may_begin(
    text: bytes, ready: bytes, held: bytes
) -> None:
    assert split_before(text, b"END") == (ready, held)


class Counted(bytearray):
    """Bytes that know how many of them were looked at."""

    looked = 0

    def find(self, sub: Any, start: Any = 0, end: Any = None) -> int:
        self.looked += len(self) - start
        return super().find(sub, start)


def test_an_end_that_is_waited_for_is_looked_for_once_however_it_comes() -> None:
    """Counted in bytes, as no clock is asked: with a second look it would be a hundredfold."""
    buffer, pieces = Counted(), iter([b"0"] * 2000 + [b"EN", b"D"])
    speaker = Heard("a guest", _buffer=buffer)
    found = speaker.up_to(b"END", lambda _: next(pieces), time.monotonic() + 60)
    assert found == b"0" * 2000
    assert buffer.looked < 5 * 2000


def test_who_speaks_on_when_the_time_is_over_is_heard_no_further() -> None:
    """Each line is one that came in time, as far as a socket can have held it; and no more are."""
    said, lines = 0, b"a line\n" * 1000

    def read(patience_s: float) -> bytes:
        nonlocal said
        said += len(lines)
        return lines

    speaker, over = Heard("a guest"), time.monotonic() - 1
    while speaker.up_to(b"\n", read, over) is not None:
        assert said < 2 * LATE
    assert said >= LATE


class Liar:
    """A guest that speaks in the shell's place: what it says once it knows the marks."""

    def __init__(self, path: Path, says: Callable[[bytes], Iterator[bytes]]) -> None:
        self.path = path
        self.says = says
        self.told = 0
        """Bytes that somebody took."""
        self.thread = threading.Thread(target=self.serve)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)

    def serve(self) -> None:
        with self.listener, suppress(OSError), self.listener.accept()[0] as client:
            typed = b""
            while not typed.endswith(b"\n"):
                typed += client.recv(4096)
            found = re.search(rb"vsperf-end-''(\w+)", typed)
            assert found is not None
            for words in self.says(found[1]):
                client.sendall(words)
                self.told += len(words)
            client.recv(1)  # until it is hung up on

    def hear(self, most: int = 1 << 30) -> tuple[int, bytes]:
        """Run a command in it; fail once more was taken of it than may be."""
        self.thread.start()
        written: list[bytes] = []
        try:
            with connected("vm1", self.path) as shell:
                code = shell.run("true", written.append)
        finally:
            self.thread.join()
        assert self.told < most
        return code, b"".join(written)


def said(token: bytes, *after: bytes) -> Iterator[bytes]:
    yield b"vsperf-begin-%s\r\n" % token
    yield b"out\r\nvsperf-end-%s" % token
    yield from after


@pytest.mark.parametrize("code", [b" " + b"9" * 5000, b" 256", b" -1", b"", b" 0x1", b" 1 \x1b[6n"])
def test_a_guest_that_says_no_exit_code_is_told_of(tmp_path: Path, code: bytes) -> None:
    liar = Liar(tmp_path / "vm1.shell", lambda token: said(token, code + b"\r\n"))
    with pytest.raises(ComponentError, match="no exit code") as caught:
        liar.hear()
    assert len(str(caught.value)) < 300


@pytest.mark.usefixtures("never_waits")
@pytest.mark.parametrize("where", ["before the begin", "after the end"])
def test_a_guest_that_speaks_without_end_is_not_listened_to_for_ever(
    tmp_path: Path, where: str
) -> None:
    endless = itertools.repeat(b"0" * 4096)

    def says(token: bytes) -> Iterator[bytes]:
        yield from said(token, b" ") if where == "after the end" else ()
        yield from endless

    liar = Liar(tmp_path / "vm1.shell", says)
    with pytest.raises(ComponentError, match="without end"):
        liar.hear()
    assert liar.told < 3 * LONGEST


@pytest.mark.usefixtures("never_waits")
@pytest.mark.parametrize("where", ["before the begin", "after the end"])
def test_a_guest_that_drips_has_a_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(vnf_shell, "ANSWER_S", 0.3)
    gone = threading.Event()

    def says(token: bytes) -> Iterator[bytes]:
        yield from said(token, b" ") if where == "after the end" else ()
        while not gone.wait(0.01):
            yield b"0"

    liar = Liar(tmp_path / "vm1.shell", says)
    with pytest.raises(ComponentError, match="does not answer"):
        liar.hear(most=LONGEST)


def test_much_output_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in bytes, as no clock is asked: a second look at all of it would be a hundredfold."""
    looked = 0

    def counting(text: bytes, mark: bytes) -> tuple[bytes, bytes]:
        nonlocal looked
        looked += len(text)
        return split_before(text, mark)

    monkeypatch.setattr(heard, "split_before", counting)
    almost = b"vsperf-end-"

    def says(token: bytes) -> Iterator[bytes]:
        yield b"vsperf-begin-%s\n" % token
        yield from itertools.repeat(almost * 100, 1000)
        yield b"\nvsperf-end-%s 3\n" % token

    code, wrote = Liar(tmp_path / "vm1.shell", says).hear()
    assert (code, wrote) == (3, almost * 100_000 + b"\n")
    assert looked < 2 * len(wrote)
