"""The conversation with tgen: answers, events, refusals, and every way in which it can break."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from vsperf.errors import ComponentError
from vsperf.trafficgens.tgen.client import Client, Gone, Silent, TgenError

Peer = socket.socket


@pytest.fixture
def pair() -> Iterator[tuple[Client, Peer]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Client(ours), theirs


def answers(peer: Peer, *lines: bytes, hang_up: bool = False) -> threading.Thread:
    """Wait for one request, then say these lines."""

    def speak() -> None:
        request = json.loads(peer.recv(65536))
        for line in lines:
            peer.sendall(line.replace(b"ID", str(request["id"]).encode()) + b"\n")
        if hang_up:
            peer.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=speak)
    thread.start()
    return thread


def test_a_request_gets_its_result(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    thread = answers(peer, b'{"id": ID, "ok": true, "result": {"protocol": 1}}')
    assert client.ask("hello", 5) == {"protocol": 1}
    thread.join()


def test_something_else_is_looked_at_while_an_answer_is_waited_for(
    pair: tuple[Client, Peer],
) -> None:
    client, _ = pair

    def look() -> None:
        raise ComponentError("the switch is gone")

    client.look = look
    with pytest.raises(ComponentError, match="the switch is gone"):
        client.ask("hello", 60)


def test_events_are_told_on_the_way_and_old_answers_are_passed_over(
    pair: tuple[Client, Peer],
) -> None:
    client, peer = pair
    seen: list[Any] = []
    client.on_event = seen.append
    thread = answers(
        peer,
        b'{"event": "stats", "id": ID, "elapsed_ns": 1}',
        b'{"id": 999, "ok": true, "result": {"old": 1}}',
        b'{"id": ID, "ok": true, "result": {}}',
    )
    assert client.ask("trial", 5, frames=1) == {}
    assert [event["event"] for event in seen] == ["stats"]
    thread.join()


def test_a_refusal_says_what_tgen_said(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    thread = answers(
        peer,
        b'{"id": ID, "ok": false, "error": '
        b'{"code": "bad-value", "message": "too small", "path": "streams[0].size"}}',
    )
    with pytest.raises(TgenError, match=r"`configure`: too small at streams\[0\].size") as refused:
        client.ask("configure", 5)
    assert refused.value.code == "bad-value"
    thread.join()


def test_a_refusal_of_the_connection_is_one_of_the_request(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    peer.sendall(b'{"id": null, "ok": false, "error": {"code": "taken", "message": "busy"}}\n')
    with pytest.raises(TgenError, match="busy"):
        client.ask("hello", 5)


def test_silence_ends_at_the_deadline(pair: tuple[Client, Peer]) -> None:
    client, _ = pair
    with pytest.raises(ComponentError, match=r"did not answer `hello` within 0\.05 s"):
        client.ask("hello", 0.05)


def test_hanging_up_is_noticed_at_once(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    thread = answers(peer, hang_up=True)
    with pytest.raises(Gone):
        client.ask("trial", 60)
    thread.join()
    with pytest.raises(Gone):
        client.ask("trial", 60)


def test_events_without_end_end_at_the_deadline(pair: tuple[Client, Peer]) -> None:
    """It may be a guest that speaks in tgen's place."""
    client, peer = pair

    def speak() -> None:
        with suppress(OSError):
            while True:
                peer.sendall(b'{"event": "stats"}\n' * 100)

    thread = threading.Thread(target=speak)
    thread.start()
    with pytest.raises(Silent, match="did not answer"):
        client.ask("hello", 0.05)
    client.close()
    thread.join()


@pytest.mark.parametrize(
    "line", [b"what?", b"[1, 2]", b'{"id": ID, "ok": true', b"[" * 100_000, b'{"id": NaN}']
)
def test_an_answer_that_is_no_json_object_is_an_error(
    pair: tuple[Client, Peer], line: bytes
) -> None:
    client, peer = pair
    thread = answers(peer, line)
    with pytest.raises(ComponentError, match="no JSON"):
        client.ask("hello", 5)
    thread.join()


def test_an_answer_may_come_in_pieces(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    whole = json.dumps({"id": 1, "ok": True, "result": {"text": "x" * 300_000}}).encode() + b"\n"

    def speak() -> None:
        peer.recv(65536)
        for start in range(0, len(whole), 1000):
            peer.sendall(whole[start : start + 1000])

    thread = threading.Thread(target=speak)
    thread.start()
    assert len(client.ask("ports", 5)["text"]) == 300_000
    thread.join()


def test_what_was_said_in_time_is_read_by_one_who_was_held_up(pair: tuple[Client, Peer]) -> None:
    """As when the disk that each second is written to stands still at the end of a soak."""
    client, peer = pair
    patience_s = 0.01

    def stand_still(event: object) -> None:
        number = json.loads(peer.recv(65536))["id"]
        said = {"id": number, "ok": True, "result": {"frames": 7}}
        peer.sendall(json.dumps(said).encode() + b"\n")
        time.sleep(2 * patience_s)

    client.on_event = stand_still
    peer.sendall(b'{"event": "stats"}\n')
    assert client.ask("trial", patience_s) == {"frames": 7}
