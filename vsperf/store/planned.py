"""What the specification of a planned case says of it, whatever version of vsperf wrote it."""

from __future__ import annotations

from typing import Any

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
        return FrameSize.parse(part_of(case.spec, "traffic").get("frame_size")).bytes
    except UnitError:
        return None


def flows_of(case: PlannedCase) -> int | None:
    """Return how many flows are sent; None where that is not said."""
    try:
        return Count.parse(part_of(case.spec, "traffic").get("flows")).value
    except UnitError:
        return None


def part_of(found: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a part of what is stored, or an empty one where that is something else, or nothing."""
    part = found.get(name)
    return part if isinstance(part, dict) else {}
