"""Flows that left later than they should have, or not at all. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vsperf.otg.flows import Flow

NANOSECONDS = 1_000_000_000
TOLERATED = 100
"""One frame in so many may be late, and"""
LEAST_FRAMES = 64
"""so many in any case: a burst is under way when somebody says stop."""


def fell_short(flows: Sequence[Flow], result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a sentence for each flow of a trial whose rate was not reached."""
    told = zip(flows, result["streams"], strict=True)
    notes = (_note(flow, stream, result["elapsed_ns"]) for flow, stream in told)
    paused_ns = max((worker["paused_ns"] for worker in result["workers"]), default=0)
    why = f"; the machine kept tgen from running for {paused_ns / NANOSECONDS:.3f} s" * (
        paused_ns > 0
    )
    return tuple(note + why for note in notes if note)


def _note(flow: Flow, stream: Mapping[str, Any], elapsed_ns: int) -> str | None:
    sent, rate = stream["sent"], f"{float(flow.rate_fps):g} frames a second"
    if sent < flow.frames:
        lasted_ns = elapsed_ns if flow.seconds is None else min(elapsed_ns, _ns(flow.seconds))
        due = min(flow.frames, int(flow.rate_fps * lasted_ns / NANOSECONDS))
        if not _is_short(sent, due):
            return None
        share = 100 * sent / due
        return (
            f"flow {flow.name!r}: {sent} of the {due} frames that were due have left "
            f"({share:.1f} %), as its rate of {rate} was not reached"
        )
    taken_ns = stream.get("sending_ns", 0)
    if not _is_short(sent, int(flow.rate_fps * taken_ns / NANOSECONDS)):
        return None
    return (
        f"flow {flow.name!r}: its {sent} frames left within {taken_ns / NANOSECONDS:.3f} s, and "
        f"not within {float(sent / flow.rate_fps):.3f} s, as its rate of {rate} was not reached"
    )


def _is_short(sent: int, due: int) -> bool:
    return due - sent > LEAST_FRAMES + due // TOLERATED


def _ns(seconds: float) -> int:
    return int(seconds * NANOSECONDS)
