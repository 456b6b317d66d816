"""The shell of a machine, played by a real `sh` on a terminal behind a socket, as QEMU has it."""

from __future__ import annotations

import os
import pty
import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from vsperf.cli import machine_shell
from vsperf.cli.machine_shell import LEAVE, connected, split_before
from vsperf.errors import ComponentError, UsageError


@dataclass
class Guest:
    """A shell that outlives its clients, of which it takes one at a time."""

    path: Path
    listening: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def serve(self) -> None:
        terminal, inner = pty.openpty()
        shell = subprocess.Popen(
            ["sh", "-i"],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=lambda: os.close(terminal),  # noqa: PLW1509 - no thread of ours holds locks
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
    """Give the socket of a machine's shell."""
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
    monkeypatch.setattr(machine_shell, "ANSWER_S", 0.3)
    with (
        connected("vm1", guest) as first,
        connected("vm1", guest) as second,
        pytest.raises(ComponentError, match="does not answer") as caught,
    ):
        assert first.run("true", lambda _: None) == 0
        second.run("true", lambda _: None)
    assert "another `vsperf shell` holds it" in str(caught.value.problems[0].why)


def test_a_machine_that_ends_meanwhile_is_an_error(tmp_path: Path) -> None:
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
