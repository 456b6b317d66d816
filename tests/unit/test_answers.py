"""What servers answer that a generator is driven by: bounded in bytes and in time, whoever asks.

The servers here speak for ever, or as good as, and nothing that they say is an answer.
"""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from all_wrong import hold_each
from serving import Addressed, answering
from vsperf_chassis.ixnetwork import client as ixnetwork
from vsperf_chassis.spirent import chassis as spirent
from vsperf_chassis.xena import chassis as xena

from vsperf.drivers.generators.otg import client as otg
from vsperf.errors import ComponentError
from vsperf.trust import answers
from vsperf.trust.answers import whole

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
PIECE = b" " * (1 << 16)
LINES = b"\n" * (1 << 16)
MOST_PIECES, MOST_DRIPS = 1_000, 500
"""After so many it has been heard out, by who hears more than any answer has."""
DRIP_S = 0.02


class Speaker(socketserver.ThreadingTCPServer, Addressed):
    """Hears a request, and speaks: a beginning, then the same again and again."""

    daemon_threads = True

    def __init__(self, begin: bytes, again: bytes, pause_s: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), Speech)
        self.begin, self.again, self.pause_s = begin, again, pause_s
        self.over = threading.Event()
        self.heard_out = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of who has hung up: that is what he is to do."""


class Speech(socketserver.BaseRequestHandler):
    """One connection."""

    server: Speaker

    def handle(self) -> None:
        self.request.recv(1 << 16)
        self.request.sendall(self.server.begin)
        for _ in range(MOST_DRIPS if self.server.pause_s else MOST_PIECES):
            if self.server.over.wait(self.server.pause_s):
                return
            self.request.sendall(self.server.again)
        self.server.heard_out = True


@contextmanager
def speaking(begin: bytes, again: bytes, pause_s: float = 0.0) -> Iterator[Speaker]:
    """Have a server that speaks, and see that nobody has heard it out."""
    with Speaker(begin, again, pause_s) as server, answering(server):
        try:
            yield server
        finally:
            server.over.set()
    assert not server.heard_out


def ask_otg(client: otg.Client) -> None:
    """Ask, and hang up."""
    with closing(client):
        client.version()


ASKED: dict[str, Callable[[str], Any]] = {
    "IxNetwork": lambda address: ixnetwork.Client(f"http://{address}", None).get("/"),
    "TestCenter": spirent.Client,
    "OTG": lambda address: ask_otg(otg.Client(f"http://{address}", 0.5)),
}
"""Whoever asks by HTTP."""


@pytest.fixture(autouse=True)
def fixture_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ixnetwork, "ANSWER_S", 0.5)
    monkeypatch.setattr(spirent, "ANSWER_S", 0.5)
    monkeypatch.setattr(spirent, "CALL_S", 0.5)


def test_who_answers_without_end_is_not_heard_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LONGEST", 1 << 20)

    def check(name: str) -> None:
        with speaking(HEAD + b"\r\n", PIECE) as server, pytest.raises(ComponentError):
            ASKED[name](server.address)

    hold_each(ASKED, check, name=str)


def test_who_drips_is_given_up_in_the_time_of_one_answer() -> None:
    def check(row: tuple[str, bytes]) -> None:
        name, begin = row
        with speaking(begin, b"1", DRIP_S) as server, pytest.raises(ComponentError):
            ASKED[name](server.address)

    rows = [(name, begin) for name in ASKED for begin in (HEAD + b"X: ", HEAD + b"\r\n")]
    hold_each(rows, check, name=str)


@pytest.mark.usefixtures("never_waits")
def test_a_chassis_that_says_nothing_in_any_number_of_lines_is_not_heard_out() -> None:
    with speaking(b"", LINES) as server:
        client = xena.Client(server.address)
        with pytest.raises(ComponentError, match="does not answer C_INFO"):
            client.ask("C_INFO")


def test_depth_without_end_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ixnetwork, "ANSWER_S", 60.0)  # all of it is heard, however late
    deep = HEAD + b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000
    with speaking(deep, b"", DRIP_S) as server:
        client = ixnetwork.Client(f"http://{server.address}", None)
        with pytest.raises(ComponentError, match="answers GET /"):
            client.get("/")


def test_what_is_as_long_as_an_answer_is_heard_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LONGEST", 10)
    assert whole([b"01234", b"56789"]) == b"0123456789"
    with pytest.raises(OSError, match="longer than"):
        whole([b"01234", b"56789", b"0"])
