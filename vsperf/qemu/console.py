"""What a guest's kernel writes: its end is kept in a file, however much it writes.

QEMU would write a file of its own until the runtime folder is full. So the console is a socket that
is read here, no faster than it takes to be of use. While nobody reads, QEMU throws words away.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

MOST_BYTES = 1 << 20
"""Of a file; then it becomes the old one, and another one begins."""
CHUNK = 1 << 16
PAUSE_S = 0.05
"""Between two chunks: a guest that writes without end may have no CPU of the host for it."""
END_S = 0.5
"""Until the last words are written, when QEMU has ended."""


@dataclass
class Console:
    """The console of one guest, followed by a thread until QEMU ends."""

    connection: socket.socket
    file: Path
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(
            target=self._follow, name=f"console {self.file.name}", daemon=True
        )
        self.thread.start()

    @classmethod
    def followed(cls, path: Path, file: Path) -> Self:
        """Connect to the socket at `path`, and keep what comes in `file`; raises OSError."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
        except OSError:
            connection.close()
            raise
        return cls(connection, file)

    @property
    def old(self) -> Path:
        """The file before the present one."""
        return self.file.with_name(f"{self.file.name}.old")

    def end(self, size: int) -> bytes:
        """Return the last `size` bytes."""
        return b"".join(_end(path, size) for path in (self.old, self.file))[-size:]

    def finish(self) -> None:
        """Wait until all that QEMU left is written; to be called once it has ended."""
        self.thread.join(END_S)

    def close(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.thread.join(END_S)
        self.connection.close()

    def _follow(self) -> None:
        with suppress(OSError):  # a full folder, or one that is gone: nothing is lost but words
            descriptor = self._begin()
            try:
                while chunk := self.connection.recv(CHUNK):
                    os.write(descriptor, chunk)
                    if os.fstat(descriptor).st_size >= MOST_BYTES:
                        self.file.replace(self.old)
                        full, descriptor = descriptor, self._begin()
                        os.close(full)
                    time.sleep(PAUSE_S)
            finally:
                os.close(descriptor)

    def _begin(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self.file, flags, 0o600)


def _end(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            length = os.fstat(file.fileno()).st_size
            return os.pread(file.fileno(), size, max(0, length - size))
    except OSError:
        return b""
