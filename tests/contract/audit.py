"""What code does to the machine, for the promise that planning touches nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TELLTALE = (
    "subprocess.",
    "socket.",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.chown",
    "os.truncate",
    "os.kill",
    "os.putenv",
    "shutil.",
    "tempfile.",
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@contextmanager
def audited() -> Iterator[list[str]]:
    """Collect everything that the code within does to the machine; reading a file is allowed.

    An audit hook cannot be taken out again, so it falls silent instead.
    """
    seen: list[str] = []
    listening = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if not listening:
            return
        if event == "open":
            path, _, flags = arguments
            if flags & WRITING and not str(path).endswith(".pyc") and ".pyc." not in str(path):
                seen.append(f"opened {path} for writing")
        elif event.startswith(TELLTALE):
            seen.append(event)

    sys.addaudithook(hook)
    try:
        yield seen
    finally:
        listening = False
