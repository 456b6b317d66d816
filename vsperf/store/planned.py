"""What the specification of a planned case says of it, whatever version of vsperf wrote it."""

from __future__ import annotations

from vsperf.quantity import UnitError
from vsperf.record.run import PlannedCase
from vsperf.units import Count, FrameSize


def name_of(case: PlannedCase) -> str:
    """Return the name of its testcase."""
    return str(case.spec.get("name", case.label))


def tags_of(case: PlannedCase) -> tuple[str, ...]:
    """Return its tags."""
    tags = case.spec.get("tags")
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()


def frame_bytes_of(case: PlannedCase) -> int | None:
    """Return its frame size [bytes, FCS included]; None for a mix of sizes."""
    try:
        return FrameSize.parse(_traffic(case).get("frame_size")).bytes
    except UnitError:
        return None


def flows_of(case: PlannedCase) -> int | None:
    """Return how many flows are sent; None where that is not said."""
    try:
        return Count.parse(_traffic(case).get("flows")).value
    except UnitError:
        return None


def _traffic(case: PlannedCase) -> dict[str, object]:
    traffic = case.spec.get("traffic")
    return traffic if isinstance(traffic, dict) else {}
