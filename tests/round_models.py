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


def dead_round(**others: Any) -> Round:
    """Return a round of six turns, through the second side of which one direction was dead."""
    count = 6
    columns: dict[str, Any] = dict.fromkeys(TurnColumns.model_fields, (100,) * count)
    columns |= {
        "side": (0, 1) * 3,
        "measured_ns": (10_000_000,) * count,
        "drained": (True,) * count,
    }
    came = ((20, 80), (100, 0)) * 3
    columns |= dict.fromkeys(
        ("slots_ns", "received_by_slot", "fillings", "fillings_behind", "fillings_short")
    )
    columns |= {"sent_by_direction": ((50, 50),) * count, "received_by_direction": came}
    return round_of(TurnColumns.model_validate(columns), **others)
