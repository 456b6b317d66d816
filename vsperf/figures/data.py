"""The numbers of drawings as rows, for whoever wants to draw them otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from vsperf.figures.drawing import Axis, Drawing, Layer, Panel, Scale, Spans

COLUMNS = (
    "plot", "drawing", "simulated", "panel", "series", "kind", "source",
    "x", "x_unit", "x_name", "y", "y_unit", "low", "high",
)  # fmt: skip
"""What each row has; what does not apply is empty."""


def rows(name: str, drawing: Drawing) -> Iterator[dict[str, Any]]:
    """Yield each point of a drawing; a diagram has none."""
    for number, panel in enumerate(drawing.panels, start=1):
        for layer in panel.layers:
            common = {
                "plot": name,
                "drawing": drawing.title,
                "simulated": layer.simulated,
                "panel": panel.title or panel.y.label or str(number),
                "series": layer.name,
                "kind": type(layer).__name__.lower(),
                "source": layer.look.value,
            }
            for point in _points(panel, layer):
                yield {**common, **point}


def _points(panel: Panel, layer: Layer) -> Iterator[dict[str, Any]]:
    units = {"x_unit": _unit(panel.x), "y_unit": _unit(panel.y)}
    if isinstance(layer, Spans):
        for begin, end in layer.spans:
            yield {"x": begin, "x_name": "", "y": None, "low": begin, "high": end, **units}
        return
    names = {tick.at: tick.name for tick in panel.x.ticks if panel.x.scale is Scale.NAMES}
    for point in layer.points:
        yield {**asdict(point), "x_name": names.get(point.x, ""), **units}


def _unit(axis: Axis) -> str:
    """Return the unit of raw numbers: a share is one of one, whatever the axis writes."""
    return "share" if axis.unit == "%" else axis.unit
