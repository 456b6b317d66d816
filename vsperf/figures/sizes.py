"""The axis of frame sizes: one place for each, so that small and large ones are read alike."""

from __future__ import annotations

from collections.abc import Iterable

from vsperf.figures.drawing import Axis, Scale, Tick


def size_axis(sizes: Iterable[tuple[float, str]]) -> Axis:
    """Return the axis for frames of these sizes [B] and names."""
    ticks = tuple(Tick(size, name) for size, name in sorted(dict(sizes).items()))
    return Axis("frame size with FCS", "", Scale.NAMES, ticks=ticks)
