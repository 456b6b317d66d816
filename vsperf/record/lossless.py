"""What it proves that not one of so many frames was lost."""

from __future__ import annotations

from vsperf.human import human_count

LEAST_LOSS = 3
"""No loss in n frames leaves a loss ratio below 3/n, at 95 %."""


def unlikely_above(frames: int) -> float | None:
    """Return the loss ratio that no loss in so many frames makes unlikely; None of too few."""
    return LEAST_LOSS / frames if frames > LEAST_LOSS else None


def none_lost(frames: int) -> str:
    """Say of how many frames none was lost, and what that makes unlikely."""
    share = unlikely_above(frames)
    makes = "" if share is None else f": a loss ratio above {share:.1e} is unlikely (3/n, at 95 %)"
    return f"none of {human_count(frames)} frames sent each way was lost{makes}"
