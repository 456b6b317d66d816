"""A round of two switches in turns, for whoever needs any."""

from __future__ import annotations

from typing import Any

from vsperf.records.turn_columns import TurnColumns
from vsperf.records.turns import Named, Role, Round

NO_TURNS = TurnColumns.of(())


def round_of(turns: TurnColumns = NO_TURNS, **others: Any) -> Round:
    """Return the first round, by default one that ended before its first turn."""
    usual: dict[str, Any] = {
        "index": 1,
        "role": Role.ANSWER,
        "started_at": "2026-11-26T12:00:00.000+00:00",
        "deployment": 1,
        "sides": (Named(letter="A", name="ovs"), Named(letter="B", name="vpp")),
        "load_fps": 1_000_000,
        "directions": 2,
        "turn_ns": 10_000_000,
        "guard_ns": 2_000_000,
        "elapsed_ns": 0,
    }
    return Round(**usual | others, turns=turns)
