"""The legend: a sample and a name for each layer, in rows, as many side by side as fit.

A name that is longer than a row goes on below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vsperf.output.figures import theme
from vsperf.output.figures.drawing import Bars, Intervals, Layer, Line, Look, Panel, Points, Spans
from vsperf.output.figures.paint import (
    BAR_OVER,
    LOOKS,
    OVER,
    color_of,
    name_of,
    number_of,
    simulated_only,
)
from vsperf.output.figures.text import width, wrapped

SAMPLE = 22.0
"""Width of a sample [pt],"""
GAP = 5.0
"""of the space behind it,"""
BETWEEN = 16.0
"""and of that behind its name."""
ROW = theme.SMALL * 1.55


@dataclass(frozen=True, slots=True)
class Entry:
    """A layer in the legend, and where it stands [pt] from the upper left corner."""

    layer: Layer
    name: str
    color: str
    number: int
    left: float
    top: float
    lines: tuple[str, ...]
    """Its name, as many lines as that takes: a name that is cut may be that of another, too."""

    @property
    def bottom(self) -> float:
        return self.top + ROW * len(self.lines)


def entries(panel: Panel, left: float, room: float) -> list[Entry]:
    """Return the legend of a panel, row by row."""
    found: list[Entry] = []
    x = top = 0.0
    beside = room - SAMPLE - GAP
    alone = simulated_only(panel)
    if panel.title and len(panel.layers) == 1:
        return []  # the heading says it
    for order, layer in enumerate(panel.layers):
        name = name_of(layer, alone=alone)
        if any(one.name == name for one in found):
            continue
        wide = SAMPLE + GAP + width(name, theme.SMALL)
        if x and x + wide > room:
            x, top = 0.0, found[-1].bottom
        number = number_of(panel, order)
        lines = tuple(wrapped(name, theme.SMALL, beside))
        found.append(Entry(layer, name, color_of(layer, number), number, left + x, top, lines))
        x += wide + BETWEEN
    return found


def height(found: list[Entry]) -> float:
    """Return the room that a legend needs [pt]."""
    return max((entry.bottom for entry in found), default=0.0) + 4


def sample(entry: Entry) -> tuple[str, dict[str, Any]]:
    """Return what a sample looks like: `line` or `patch`, and its settings."""
    layer = entry.layer
    if isinstance(layer, Bars | Spans):
        hatch = None
        if isinstance(layer, Bars):
            hatch = "////" if layer.simulated else "...." if _published(layer) else None
        face = theme.SPAN if isinstance(layer, Spans) else theme.PAPER if hatch else entry.color
        edge = theme.WARNING if isinstance(layer, Spans) else entry.color
        return "patch", {"facecolor": face, "edgecolor": edge, "hatch": hatch, "linewidth": 0.8}
    style: dict[str, Any] = {"color": entry.color, "markersize": 5, "linestyle": "none"}
    if isinstance(layer, Line):
        ceiling = layer.look is Look.CEILING
        dash = (layer.dash + ceiling) % len(theme.DASHES)
        style |= {"linestyle": theme.DASHES[dash], "linewidth": 1.0 if ceiling else 1.6}
        marked = layer.markers and not ceiling
        style["marker"] = theme.marker(entry.number) if marked else "None"
    elif isinstance(layer, Points) and layer.look in OVER:
        style |= BAR_OVER
    elif isinstance(layer, Points | Intervals):
        looks = LOOKS.get(layer.look)
        style["marker"] = looks[1] if looks else theme.marker(entry.number)
    else:
        style["marker"] = theme.marker(entry.number)
    if layer.look in (Look.PUBLISHED, Look.DOUBTED):
        style["markerfacecolor"] = theme.PAPER
    return "line", style


def _published(layer: Layer) -> bool:
    return layer.look is Look.PUBLISHED
