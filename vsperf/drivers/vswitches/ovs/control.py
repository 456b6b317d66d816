"""Asking a running daemon of OVS over its control socket, as ovs-appctl does, without a process.

Every question has a deadline, so that a daemon that hangs is noticed and never waited for.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

from vsperf.errors import ComponentError
from vsperf.stop import raise_if_stopped

PATIENCE_S = 5.0
LOOK_MS = 50
"""The library waits by itself: so long at most until a wish to stop is noticed."""


class ControlError(ComponentError):
    """A daemon that cannot be reached, does not answer, or refuses."""


def ask(socket: Path, command: str, *arguments: str, patience_s: float = PATIENCE_S) -> str:
    """Return the text that a daemon answers to a command."""
    import ovs.jsonrpc

    deadline = time.monotonic() + patience_s
    connection = _connect(socket, patience_s)
    try:
        request = ovs.jsonrpc.Message.create_request(command, list(arguments))
        if error := connection.send(request):
            raise _unreachable(socket, error)
        reply = _reply(socket, connection, command, deadline, patience_s)
    finally:
        connection.close()
    if reply.error is not None:
        raise ControlError(f"{command} was refused", why=str(reply.error).strip())
    return str(reply.result)


def _connect(socket: Path, patience_s: float) -> Any:
    import ovs.jsonrpc
    import ovs.stream

    opening = ovs.stream.Stream.open(f"unix:{socket}")
    error, stream = ovs.stream.Stream.open_block(opening, int(patience_s * 1000))
    if error:
        raise _unreachable(socket, error)
    return ovs.jsonrpc.Connection(stream)


def _reply(socket: Path, connection: Any, command: str, deadline: float, patience_s: float) -> Any:
    import ovs.poller

    while True:
        error, message = connection.recv()
        if message is not None:
            return message
        if error != errno.EAGAIN:
            raise _unreachable(socket, error)
        raise_if_stopped()
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise ControlError(f"{socket.name} did not answer {command} within {patience_s:g} s")
        connection.run()
        poller = ovs.poller.Poller()
        connection.wait(poller)
        connection.recv_wait(poller)
        poller.timer_wait(min(LOOK_MS, int(left_s * 1000) + 1))
        poller.block()


def _unreachable(socket: Path, error: int) -> ControlError:
    why = os.strerror(error) if error > 0 else "it closed the connection"
    return ControlError(f"{socket.name} cannot be reached", why=why)
