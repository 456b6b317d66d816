"""Boxes of plotly, with the quartiles that matplotlib draws."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from vsperf.figures import theme

FEWEST = 4
"""Values that have quartiles; of fewer only the middle is drawn."""
REACH = 1.5
"""Whiskers end at the farthest values that are not farther from the box, in heights of it."""


def box_of(at: float, values: Sequence[float], color: str) -> dict[str, Any]:
    """Return a box for the values at one place, or a line where they are few."""
    if len(values) < FEWEST:
        middle = statistics.median(values)
        return {
            "type": "scatter",
            "mode": "lines",
            "x": [at - 0.22, at + 0.22],
            "y": [middle, middle],
            "line": {"color": theme.INK, "width": 1.9},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    lower, middle, upper = statistics.quantiles(values, n=4, method="inclusive")
    reach = REACH * (upper - lower)
    within = [value for value in values if lower - reach <= value <= upper + reach]
    return {
        "type": "box",
        "x": [at],
        "q1": [lower],
        "median": [middle],
        "q3": [upper],
        "lowerfence": [min(within)],
        "upperfence": [max(within)],
        "width": 0.5,
        "line": {"color": color, "width": 1.3},
        "fillcolor": "rgba(0,0,0,0)",
        "hoverinfo": "skip",
        "showlegend": False,
    }
