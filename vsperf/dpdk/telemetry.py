"""Questions to a DPDK program, over the socket that each of them has for that."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, Self

from vsperf.waits import received

ANSWER_S = 2.0
LARGEST_ANSWER = 65_536


class Telemetry:
    """A connection; whatever goes wrong with it is an OSError."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.socket.settimeout(ANSWER_S)
            self.socket.connect(str(path))
            greeting = self._receive()
        except BaseException:
            self.socket.close()
            raise
        self.version: str | None = greeting.get("version")
        """Such as `DPDK 22.11.11`."""

    def ask(self, command: str) -> Any:
        """Return the answer to a command, such as `/ethdev/stats,0`."""
        self.socket.send(command.encode())
        return self._receive().get(command.partition(",")[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _receive(self) -> dict[str, Any]:
        text = received(self.socket, LARGEST_ANSWER)
        if not text:
            raise ConnectionResetError("the program hung up")
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise OSError(f"the program answers {text[:60]!r}") from error
        return answer if isinstance(answer, dict) else {}
