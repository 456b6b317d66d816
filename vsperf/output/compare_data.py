"""A comparison as plain data, for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from vsperf.analysis.comparison import Comparison, Row
from vsperf.analysis.difference import Difference, Sample
from vsperf.analysis.generators import GeneratorRow
from vsperf.output.compare_text import notes


def comparison_data(found: Comparison, *, only_changed: bool = False) -> dict[str, Any]:
    """Return all of it; what is not known is null, and shares are of one."""
    return {
        "simulated": found.simulated,
        "sides": [
            {"name": side.name, "runs": [run.run for run in side.runs]} for side in found.sides
        ],
        "obstacles": list(found.obstacles),
        "environment": [
            {"name": one.name, "values": [list(v) for v in one.values], "cases": list(one.cases)}
            for one in found.contrasts
        ],
        "rows": [_row(row) for row in found.rows if row.changed or not only_changed],
        "gaps": [
            {"case": gap.label, "side": gap.side, "why": gap.why}
            | ({"number": gap.name} if gap.name else {})
            for gap in found.gaps
        ],
        "scatter": {
            name: {"share": one.share, "repeats_to_see_3_percent": one.repeats_to_see()}
            for name, one in found.scatters.items()
        },
        **({"generators": generators_data(found.generators)} if found.generators else {}),
        "notes": list(notes(found)),
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "case": row.label,
        "number": row.name,
        "unit": row.unit.value,
        "sides": [_sample(sample) for sample in row.samples],
        "changes": [_difference(row, place) for place in range(len(row.differences))],
    }


def _sample(sample: Sample | None) -> dict[str, Any] | None:
    if sample is None:
        return None
    low, high = sample.middle
    return {
        "repeats": sample.count,
        "median": sample.median,
        "low": low,
        "high": None if math.isinf(high) else high,
        "values": list(sample.values),
        "left_out": [
            {"run": one.run, "value": one.value, "why": one.no_answer} for one in sample.left_out
        ],
    }


def _difference(row: Row, place: int) -> dict[str, Any] | None:
    one: Difference | None = row.differences[place]
    if one is None:
        return None
    return {
        "change": one.change.value,
        "worse": row.worse(place + 1),
        "surely": row.surely(place + 1),
        "by": one.means.value,
        "share": one.share,
        "least": one.least,
        "most": one.most,
        "p": one.p,
        "p_is_exact": None if one.p is None else one.exact,
        "repeats_as_one": one.together,
    }


def generators_data(rows: Sequence[GeneratorRow]) -> list[dict[str, Any]]:
    """Return the same for programs; what is not known is null, and `missing` says why."""
    return [
        {
            "case": row.label,
            "generator": row.generator,
            "repeats": row.repeats,
            "limits": [limit.value for limit in row.limits],
            "checked_fps": row.checked_fps,
            "loss_free_fps": None if row.loss_free is None else list(row.loss_free.values),
            "scatter": row.scatter,
            "floor_ns": row.floor_ns,
            "pace": row.pace,
            "beside_ns": row.beside_ns,
            "per_cpu_fps": row.per_cpu_fps,
            "missing": dict(row.missing),
            "reservations": [flag.value for flag in row.reservations],
        }
        for row in rows
    ]
