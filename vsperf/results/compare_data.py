"""A comparison as plain data, for programs."""

from __future__ import annotations

import math
from typing import Any

from vsperf.results.compare_text import notes
from vsperf.results.comparison import Comparison, Row
from vsperf.results.generators_text import generators_data
from vsperf.stats.difference import Difference
from vsperf.stats.sample import Sample


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
        "gaps": [{"case": gap.label, "side": gap.side, "why": gap.why} for gap in found.gaps],
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
    }


def _difference(row: Row, place: int) -> dict[str, Any] | None:
    one: Difference | None = row.differences[place]
    if one is None:
        return None
    return {
        "change": one.change.value,
        "worse": row.worse(place + 1),
        "by": one.means.value,
        "share": one.share,
        "least": one.least,
        "most": one.most,
        "p": one.p,
        "p_is_exact": None if one.p is None else one.exact,
        "repeats_as_one": one.together,
    }
