"""What is done when output cannot be written."""

from __future__ import annotations

import contextlib
import io
import os
import sys


def silence_stdout() -> None:
    """Keep the interpreter from failing once more when it flushes stdout at its end."""
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
