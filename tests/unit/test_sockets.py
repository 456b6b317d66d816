"""A socket can be called once somebody listens at it, and not as soon as it is there."""

from __future__ import annotations

import socket
from pathlib import Path

from vsperf.host.files import Roots
from vsperf.host.sockets import all_listened_at


def test_a_socket_is_ready_when_somebody_listens(tmp_path: Path) -> None:
    first, other = tmp_path / "first of two", tmp_path / "other"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        one.bind(str(first))
        assert first.is_socket()
        assert not all_listened_at([first])
        one.listen()
        assert all_listened_at([first])
        assert not all_listened_at([first, other])
        two.bind(str(other))
        two.listen()
        assert all_listened_at([first, other])


def test_who_has_hung_up_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
        one.listen()
    assert path.is_socket()
    assert not all_listened_at([path])


def test_a_machine_that_does_not_tell_has_nobody_who_listens(tmp_path: Path) -> None:
    assert not all_listened_at([tmp_path / "socket"], Roots(tmp_path))
