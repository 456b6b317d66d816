"""MLRsearch, imported in a tenth of the time.

While it is imported the library looks at its callers ten times, and for each has `inspect` find and
read the sources of all that is loaded, of which it uses nothing: as much work as the rest of a
short command.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def without_sources() -> Iterator[None]:
    """Have `inspect.stack` tell of frames, and of nothing else."""
    whole, quick = inspect.stack, _frames
    replaced: Any = inspect
    replaced.stack = quick
    try:
        yield
    finally:
        replaced.stack = whole


def _frames(context: int = 1) -> list[tuple[FrameType]]:
    """Return the frame of the caller and those of its callers, each first in its entry."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        found.append((frame,))
        frame = frame.f_back  # type: ignore[assignment]
    return found
