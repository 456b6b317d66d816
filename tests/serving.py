"""Servers of tests, each in a thread of its own."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Addressed(socketserver.TCPServer):
    """A server that says where it listens."""

    @property
    def address(self) -> str:
        host, port = self.server_address[:2]
        return f"{host!s}:{port}"


@contextmanager
def answering(server: socketserver.BaseServer) -> Iterator[None]:
    """Have a server that listens answer until the context is left."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
