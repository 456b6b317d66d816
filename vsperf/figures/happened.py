"""What was done to the switch while frames were sent, as stretches of a drawing's time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from vsperf.figures.drawing import Spans

Happened = tuple[str, float, float]
"""The name of an event, its begin and its end."""


def moment_s(text: str) -> float | None:
    """Return a time of a record in seconds since 1970; None for one that is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def spans_of(events: Iterable[Happened], *, simulated: bool = False) -> list[Spans]:
    """Return events as layers, one for each name, in the order in which they came."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, begin, end in events:
        found.setdefault(name, []).append((begin, end))
    return [Spans(name, tuple(times), simulated=simulated) for name, times in found.items()]
