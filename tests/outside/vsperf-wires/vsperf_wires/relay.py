# vsperf-wires/vsperf_wires/relay.py
"""Carries frames between sockets, in pairs. It takes nothing but the standard library.

    relay.py CPUS listen A B …    waits at A and B for whoever calls, and joins the two
    relay.py CPUS call A B …      calls at A and at B, as soon as they are there, and joins them

A socket keeps frames apart (SOCK_SEQPACKET) and has room for some hundred. A frame for which there
is none is lost, and so is one for a port at which nobody is.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
import time
from pathlib import Path

BURST = 32
"""Frames that are taken from a port before it is the turn of another one."""
LONGEST = 1 << 16
ROOM = 1 << 22
"""Bytes that are asked for as room of a socket; the kernel gives what net.core.wmem_max allows."""
PATIENCE_S = 10.0
"""How long who calls waits for an answer."""
WELCOME = b"joined"
"""What a port says to who called, once frames for it are kept."""


def called(path: str) -> socket.socket:
    """Return a connection to who listens at a path; waits until somebody does."""
    while not Path(path).exists():
        time.sleep(0.01)
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end.settimeout(PATIENCE_S)
    end.connect(path)
    if end.recv(LONGEST) != WELCOME:
        raise ConnectionError(f"nobody joins what calls at {path}")
    return roomy(end)


def listening(path: str) -> socket.socket:
    """Return a socket that can be called: whoever sees its file finds it ready."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end.bind(f"{path}.new")
    end.listen(1)
    Path(f"{path}.new").rename(path)
    return end


def roomy(end: socket.socket) -> socket.socket:
    """Give a connection as much room as there is, and never wait for it."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
    end.setblocking(False)
    return end


class Relay:
    """Ports with whoever is at them, and the partner of each."""

    def __init__(self, paths: list[str]) -> None:
        pairs = list(zip(paths[::2], paths[1::2], strict=True))
        self.partner = {a: b for one in pairs for a, b in (one, one[::-1])}
        self.ends: dict[str, socket.socket] = {}
        self.selector = selectors.DefaultSelector()

    def join(self, path: str, end: socket.socket) -> None:
        """Have somebody at a port; whoever was there before is let go."""
        self.leave(path)
        self.ends[path] = end
        self.selector.register(end, selectors.EVENT_READ, (path, False))

    def leave(self, path: str) -> None:
        """Have nobody at a port."""
        if (end := self.ends.pop(path, None)) is not None:
            self.selector.unregister(end)
            end.close()

    def listen(self, path: str) -> None:
        """Wait at a port for whoever calls."""
        self.selector.register(listening(path), selectors.EVENT_READ, (path, True))

    def turn(self) -> None:
        """Wait for frames or for callers, and see to what there is."""
        for key, _ in self.selector.select():
            path, listens = key.data
            if not listens:
                self.carry(path)
            elif isinstance(key.fileobj, socket.socket):
                end = key.fileobj.accept()[0]
                self.join(path, roomy(end))
                end.send(WELCOME)

    def carry(self, path: str) -> None:
        """Take frames from a port, and hand them to its partner."""
        for _ in range(BURST):
            try:
                frame = self.ends[path].recv(LONGEST)
            except BlockingIOError:
                return
            except OSError:
                frame = b""
            if not frame:
                return self.leave(path)
            if (onward := self.ends.get(self.partner[path])) is not None:
                try:
                    onward.send(frame)
                except OSError:
                    continue  # there was no room, or nobody any more


def main(arguments: list[str]) -> None:
    """Join ports for as long as nobody ends it."""
    cpus, role, *paths = arguments
    if cpus != "any":
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    relay = Relay(paths)
    for path in paths:
        if role == "listen":
            relay.listen(path)
        else:
            relay.join(path, called(path))
    sys.stderr.write("joined\n")
    while role == "listen" or relay.ends:
        relay.turn()


if __name__ == "__main__":
    main(sys.argv[1:])
