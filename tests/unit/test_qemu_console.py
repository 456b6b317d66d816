"""The end of what a guest writes is kept, and never more than a few files' worth."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vsperf.guests import console as module
from vsperf.guests.console import Console


@pytest.fixture(name="followed")
def fixture_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Console, socket.socket]]:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    monkeypatch.setattr(module, "PAUSE_S", 0.0)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "tty"))
        listening.listen()
        console = Console.followed(tmp_path / "tty", tmp_path / "vm1.console")
        guest, _ = listening.accept()
    with guest:
        yield console, guest
    console.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_what_a_guest_writes_can_be_read_while_it_runs(
    followed: tuple[Console, socket.socket],
) -> None:
    console, guest = followed
    guest.sendall(b"booting\n")
    wait_until(lambda: console.end(100) == b"booting\n")
    assert console.file.read_bytes() == b"booting\n"


def test_the_last_words_are_there_once_it_has_ended(
    followed: tuple[Console, socket.socket],
) -> None:
    console, guest = followed
    guest.sendall(b"x" * 500 + b"Kernel panic")
    guest.close()
    console.finish()
    assert console.end(12) == b"Kernel panic"


def test_a_guest_that_writes_without_end_fills_no_folder(
    followed: tuple[Console, socket.socket],
) -> None:
    console, guest = followed
    for number in range(2000):
        guest.sendall(f"{number:099}\n".encode())
    guest.close()
    console.finish()
    assert console.end(8192).endswith(b"1999\n")
    kept = sum(path.stat().st_size for path in (console.file, console.old) if path.exists())
    assert kept <= 2 * (1000 + module.CHUNK)


def test_a_folder_that_is_gone_ends_the_keeping_and_nothing_else(
    followed: tuple[Console, socket.socket],
) -> None:
    console, guest = followed
    console.file = Path("/nowhere/at/all")
    guest.sendall(b"x" * 2000)
    guest.close()
    console.finish()
    assert console.end(10) in (b"", b"x" * 10)
