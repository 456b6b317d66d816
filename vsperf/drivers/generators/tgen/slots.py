"""Slots of time: how a trial asks tgen for them, and what tgen answers as a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsperf.records.slots import Slot, Slots

WIDTH_NS = 3_000_000
"""About: tgen takes the nearest power of two of its clock's cycles. On a shared virtual machine a
generator is away some 25 times a second; slots of 10 ms, and their neighbours, would be half of all
time."""
MOST = 4096
"""About, in a trial: those of longer ones are wider."""
LONGEST_NS = 4 * 3600 * 1_000_000_000
"""Of trials that take longer tgen does not count so."""


def asked_ns(sending_ns: int) -> int:
    """Return how wide slots should be in a trial that sends for so long; 0 for none."""
    return max(WIDTH_NS, sending_ns // MOST) if sending_ns <= LONGEST_NS else 0


def slots_of(result: Mapping[str, Any]) -> Slots | None:
    """Return the slots in a trial's result; None if it has none."""
    if (found := result.get("slots")) is None:
        return None
    return Slots.of(
        width_ns=found["slot_ns"],
        count=found["count"],
        **_frames(found["totals"]),
        noted=[
            Slot(
                index=slot["slot"],
                **_frames(slot),
                away_ns=slot["away_ns"],
                silent_ns=slot["silent_ns"],
            )
            for slot in found["noted"]
        ],
    )


def _frames(found: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {f"{name}_frames": tuple(found[name]) for name in ("sent", "received", "refused")}
