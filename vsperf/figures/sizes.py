"""The axis of frame sizes: one place for each, so that small and large ones are read alike."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vsperf.figures.drawing import Axis, Scale, Tick


def size_axis(sizes: Iterable[tuple[float, str]]) -> Axis:
    """Return the axis for frames of these sizes [B] and names."""
    found = sorted(dict(sizes).items())
    ticks = tuple(Tick(size, re.sub(r"^(\d+)B$", r"\1", name)) for size, name in found)
    return Axis("frame size with FCS", "B", Scale.NAMES, ticks=ticks)
