"""A socket that answers as a DPDK program does, with answers that a test has chosen."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LONGEST = 1000


@contextmanager
def answering(answers: Mapping[str, Any], version: str = "DPDK 24.11") -> Iterator[Path]:
    """Give the socket; a question that nobody knows is answered with nothing."""
    with tempfile.TemporaryDirectory() as folder:  # short, as sockets need
        path = Path(folder, "t")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(str(path))
            listening.listen()
            thread = threading.Thread(target=_serve, args=(listening, answers, version))
            thread.start()
            try:
                yield path
            finally:
                listening.shutdown(socket.SHUT_RDWR)
                thread.join()


def _serve(listening: socket.socket, answers: Mapping[str, Any], version: str) -> None:
    with suppress(OSError):  # it is shut down at the end
        while True:
            connection, _ = listening.accept()
            with connection:
                connection.send(json.dumps({"version": version}).encode())
                while question := connection.recv(LONGEST).decode():
                    key = question.partition(",")[0]
                    connection.send(json.dumps({key: answers.get(question)}).encode())
