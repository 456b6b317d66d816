"""A VPP that does not answer is noticed in time, whatever it does instead."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from vsperf.errors import NotReadyError
from vsperf.vswitches.vpp.api import (
    FEW,
    ON_THE_WAY,
    Api,
    ApiError,
    Messages,
    call_many,
    call_over,
    connect,
)
from vsperf.vswitches.vpp.calls import Call, InterfaceOf
from vsperf.vswitches.vpp.diagnosis import not_started
from vsperf.vswitches.vpp.segment import SegmentError, mapped

SOON_S = 0.1


def known_messages() -> Messages:
    """Return the messages that the library itself has: those of the greeting, and a ping."""
    import vpp_papi

    return Messages([Path(vpp_papi.__file__).parent / "data" / "memclnt.api.json"])


@contextmanager
def listening(path: Path, kind: int, answer: bytes | None) -> Iterator[None]:
    """Take one connection and answer it, or hang up at once when there is no answer."""
    with socket.socket(socket.AF_UNIX, kind) as server:
        server.bind(str(path))
        server.listen(1)
        done = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                if answer is not None:
                    if kind == socket.SOCK_STREAM:
                        connection.recv(1024)
                    if answer:
                        connection.sendall(answer)
                    done.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def test_nobody_at_the_socket_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match=r"api\.sock cannot be reached"):
        connect(tmp_path / "api.sock", known_messages(), SOON_S)


def test_a_vpp_that_hangs_is_not_waited_for_without_end(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with (
        listening(path, socket.SOCK_STREAM, b""),
        pytest.raises(ApiError, match=r"did not answer a greeting within 0\.1 s"),
    ):
        connect(path, known_messages(), SOON_S)


def test_half_of_an_answer_is_none(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with (
        listening(path, socket.SOCK_STREAM, bytes(8) + b"\0\0\1\0" + bytes(4) + b"\0\x10"),
        pytest.raises(ApiError, match="did not answer"),
    ):
        connect(path, known_messages(), SOON_S)


def test_a_connection_that_is_closed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with (
        listening(path, socket.SOCK_STREAM, None),
        pytest.raises(ApiError, match=r"closed the connection|cannot be reached"),
    ):
        connect(path, known_messages(), SOON_S)


def test_statistics_that_are_not_shared_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "stats.sock"
    with listening(path, socket.SOCK_SEQPACKET, b"x"), pytest.raises(SegmentError, match="share"):
        mapped(path, SOON_S)


def test_definitions_that_are_none_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "memclnt.api.json").write_text("{")
    with pytest.raises(NotReadyError, match="definitions of VPP's API cannot be read"):
        Messages([tmp_path / "memclnt.api.json"])


def test_a_field_that_this_version_has_not_is_named() -> None:
    with pytest.raises(ApiError, match="control_ping has no field colour"):
        known_messages().packed("control_ping", 1, {"colour": 7})


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"flags": 1, "sw_if_index": InterfaceOf("phy0")}, "call flags=1 sw_if_index=phy0"),
        ({"up": True, "paths": [{"nh": "10.0.0.1"}]}, "call up=true paths=[{nh=10.0.0.1}]"),
        ({"label_stack": ({}, {})}, "call "),
    ],
)
def test_a_call_can_be_read(fields: dict[str, Any], line: str) -> None:
    assert Call("call", fields).line == line


def test_paths_and_interfaces_are_filled_in_wherever_they_stand() -> None:
    call = Call("call", {"route": {"paths": [{"sw_if_index": InterfaceOf("phy1")}]}, "to": "RUN/a"})
    filled = call.filled(lambda text: text.replace("RUN", "/run"), {"phy1": 7})
    assert filled == {"route": {"paths": [{"sw_if_index": 7}]}, "to": "/run/a"}


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("buffer: failed to allocate buffer pool(s)", "too few free hugepages"),
        ("vpp: error while loading shared libraries: libvnet.so.26.06", "libraries are not where"),
        ("cpu: corelist: cpu 9 is not available", "cannot run on the CPUs"),
        ("plugins: unknown input `plugin foo'", "does not know a line"),
    ],
)
def test_the_log_says_why_it_did_not_start(log: str, why: str) -> None:
    error = not_started(log, "ended with exit code 1")
    assert isinstance(error, NotReadyError)
    assert why in str(error.problems[0].why)
    assert error.problems[0].fix


def test_a_log_that_says_nothing_leaves_the_obituary() -> None:
    assert not_started("", "was killed by SIGSEGV").problems[0].why == "was killed by SIGSEGV"


class Connection(Api):
    """A connection that answers whatever it is asked, and counts what it owes."""

    def __init__(self) -> None:
        self.owed = 0
        self.most_owed = 0
        self.asked: list[str] = []

    def ask(self, name: str, fields: Mapping[str, Any], context: int | None = None) -> int:
        self.asked.append(name)
        self.owed += 1
        self.most_owed = max(self.most_owed, self.owed)
        return len(self.asked)

    def answer(self, name: str, context: int) -> Any:
        assert self.asked[context - 1] == name
        self.owed -= 1
        return name


def test_calls_over_several_connections_are_made_in_turns_and_answered_in_order() -> None:
    connections = [Connection(), Connection(), Connection()]
    names = [f"call {number}" for number in range(1_000)]
    assert [*call_over(connections, ((name, {}) for name in names))] == names
    assert [one.asked for one in connections] == [names[0::3], names[1::3], names[2::3]]
    assert [one.most_owed for one in connections] == [ON_THE_WAY] * 3
    assert [one.owed for one in connections] == [0, 0, 0]


def test_a_few_calls_are_made_over_the_connection_that_there_is(tmp_path: Path) -> None:
    known = Connection()
    call_many(tmp_path / "nobody.sock", known, known_messages(), [("call", {})] * FEW)
    assert len(known.asked) == FEW and known.owed == 0


def test_many_calls_need_more_connections(tmp_path: Path) -> None:
    known = Connection()
    known.patience_s = SOON_S
    with pytest.raises(ApiError, match=r"nobody\.sock cannot be reached"):
        call_many(tmp_path / "nobody.sock", known, known_messages(), [("call", {})] * (FEW + 1))
