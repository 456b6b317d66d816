"""What is said of a point when somebody points at it: names and values with their units.

The library of the browser reads some HTML in what it shows, so all that comes from records is
escaped the way it understands; between dollars it would look for a formula.
"""

from __future__ import annotations

from vsperf.figures.drawing import Axis, Boxes, Intervals, Layer, Point, Scale, Spans
from vsperf.figures.paint import name_of
from vsperf.figures.scales import Placing
from vsperf.figures.text import plain

ENTITIES = {ord(one): f"&#{ord(one)};" for one in "&<>$"}


def escaped(text: str) -> str:
    """Return text that plotly shows letter by letter: no elements, no links, no entities."""
    return plain(text).translate(ENTITIES)


def said(layer: Layer, point: Point, x: Placing, y: Placing, *, alone: bool) -> str:
    """Return what is said of a point: the series, where it is, its value, and how sure that is."""
    lines = [
        f"{_label(x.axis)}{value(point.x, x)}",
        f"{_label(y.axis)}{_value_of(layer, point, y)}",
    ]
    if point.low is not None or point.high is not None:
        lines += _ends(layer, point, y)
    return "<br>".join([f"<b>{escaped(name_of(layer, alone=alone))}</b>", *map(escaped, lines)])


def span_said(layer: Spans, begin: float, end: float, x: Placing) -> str:
    """Return what is said of a stretch of the axis."""
    name = escaped(name_of(layer, alone=True))
    return f"<b>{name}</b><br>{escaped(f'{value(begin, x)} to {value(end, x)}')}"


def value(number: float, placing: Placing) -> str:
    """Return a number as the axis counts it, with its unit, or the name of its place."""
    names = {tick.at: tick.name for tick in placing.axis.ticks}
    if placing.axis.scale is Scale.NAMES and number in names:
        return f"{names[number]} {placing.unit}".rstrip()
    if placing.axis.scale is Scale.NINES:
        return f"{100 * number:.9g} %"
    return f"{number / placing.factor:,.6g} {placing.unit}".rstrip()


def _label(axis: Axis) -> str:
    return f"{axis.label}: " if axis.label else ""


def _value_of(layer: Layer, point: Point, y: Placing) -> str:
    if not isinstance(layer, Intervals):
        return value(point.y, y)
    if point.high is None:
        return f"{value(point.y, y)} or more"
    return f"{value(point.y, y)} to {value(point.high, y)}"


def _ends(layer: Layer, point: Point, y: Placing) -> list[str]:
    """Say what an error bar says; the ends of an interval are its value already."""
    if isinstance(layer, Intervals | Boxes):
        return []
    ends = [
        f"{word} {value(end, y)}"
        for word, end in (("from", point.low), ("to", point.high))
        if end is not None
    ]
    return [" ".join(ends)]
