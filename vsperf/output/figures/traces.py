"""Layers as traces of plotly.js: the same places, colours and markers as `paint`."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vsperf.output.figures import theme
from vsperf.output.figures.drawing import (
    Axis,
    Bars,
    Boxes,
    Intervals,
    Layer,
    Line,
    Look,
    Panel,
    Point,
    Points,
    Scale,
    Spans,
)
from vsperf.output.figures.paint import LOOKS, aside_of, bar_width, name_of, points_aside, unbroken
from vsperf.output.figures.scales import Placing
from vsperf.output.figures.text import plain, wrapped
from vsperf.quantities.human import End, significant

# What is said of a point when somebody points at it: names and values with their units.
#
# The library of the browser reads some HTML in what it shows, so all that comes from records is
# escaped the way it understands; between dollars it would look for a formula.

LONGEST_LINE = theme.WIDTH - 120.0
"""Of a name [pt]: the room of a legend without its sample."""
ENTITIES = {ord(one): f"&#{ord(one)};" for one in "&<>$"}


def escaped(text: str) -> str:
    """Return text that plotly shows letter by letter: no elements, no links, no entities."""
    return plain(text).translate(ENTITIES)


def in_lines(name: str) -> str:
    """Return a name in as many lines as it takes: plotly.js would go on to the right, unseen."""
    return "<br>".join(map(escaped, wrapped(name, theme.SMALL, LONGEST_LINE)))


def said(layer: Layer, point: Point, x: Placing, y: Placing, *, alone: bool) -> str:
    """Return what is said of a point: the series, where it is, its value, and how sure that is."""
    lines = [
        f"{_label(x.axis)}{value(point.x, x)}",
        f"{_label(y.axis)}{_value_of(layer, point, y)}",
    ]
    if point.low is not None or point.high is not None:
        lines += _ends(layer, point, y)
    return "<br>".join([f"<b>{in_lines(name_of(layer, alone=alone))}</b>", *map(escaped, lines)])


def span_said(layer: Spans, begin: float, end: float, x: Placing) -> str:
    """Return what is said of a stretch of the axis."""
    name = in_lines(name_of(layer, alone=True))
    return f"<b>{name}</b><br>{escaped(f'{value(begin, x)} to {value(end, x)}')}"


def value(number: float, placing: Placing, end: End | None = None) -> str:
    """Return a number as the axis counts it, with its unit, or the name of its place."""
    names = {tick.at: tick.name for tick in placing.axis.ticks}
    if placing.axis.scale is Scale.NAMES and number in names:
        return f"{names[number]} {placing.unit}".rstrip()
    if placing.axis.scale is Scale.NINES:
        return f"{100 * number:.9g} %"
    return f"{significant(number / placing.factor, 6, end):,.6g} {placing.unit}".rstrip()


def _label(axis: Axis) -> str:
    return f"{axis.label}: " if axis.label else ""


def _value_of(layer: Layer, point: Point, y: Placing) -> str:
    if not isinstance(layer, Intervals):
        return value(point.y, y)
    if point.high is None:
        return f"{value(point.y, y, End.LOWER)} or more"
    return f"{value(point.y, y, End.LOWER)} to {value(point.high, y, End.UPPER)}"


def _ends(layer: Layer, point: Point, y: Placing) -> list[str]:
    """Say what an error bar says; the ends of an interval are its value already."""
    if isinstance(layer, Intervals | Boxes):
        return []
    ends = [
        f"{word} {value(reached, y, end)}"
        for word, reached, end in (("from", point.low, End.LOWER), ("to", point.high, End.UPPER))
        if reached is not None
    ]
    return [" ".join(ends)]


# Boxes of plotly, with the quartiles that matplotlib draws.

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


SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down",
    "P": "cross", "X": "x", "h": "hexagon", "d": "diamond-tall", "_": "line-ew-open",
}  # fmt: skip
"""Markers of matplotlib, as plotly calls them."""
DASHES = ("solid", "8px,3px", "2px,3px", "8px,3px,2px,3px", "12px,3px")
PIXELS = 4 / 3
"""Of a point."""

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A panel, and where its numbers stand on the axes of plotly."""

    panel: Panel
    x: Placing
    y: Placing
    logarithmic: bool
    """Whether plotly may take logarithms itself, which is when nothing stands beside its place."""
    alone: bool
    """Whether all is simulated."""

    def across(self, number: float) -> float:
        """Return where a number stands on the x axis."""
        return self._on(self.x, number)

    def along(self, number: float) -> float:
        """Return where a number stands on the y axis."""
        return self._on(self.y, number)

    def is_log(self, placing: Placing) -> bool:
        """Whether plotly takes logarithms on this axis."""
        return self.logarithmic and placing.axis.scale is Scale.LOG

    def _on(self, placing: Placing, number: float) -> float:
        place = placing.place(number)
        return float(10**place) if self.is_log(placing) else place

    def told(self, layer: Layer, points: Sequence[Point]) -> list[str]:
        """Return what is said of each point."""
        return [said(layer, point, self.x, self.y, alone=self.alone) for point in points]


def traces(
    sheet: Sheet, layer: Layer, paint: tuple[str, int], floors: dict[float, float]
) -> Iterator[Data]:
    """Yield what a layer is drawn of; `floors` holds how high bars stand already."""
    color, number = paint
    match layer:
        case Line():
            yield _line(sheet, layer, color, number)
        case Points():
            aside = points_aside(sheet.panel, layer)
            yield _scatter(sheet, layer, layer.points, aside) | {
                "mode": "markers",
                "marker": _marker(layer, color, number, 5.5),
            }
        case Bars():
            yield _bars(sheet, layer, color, floors)
        case Intervals():
            yield from _intervals(sheet, layer, color, number)
        case Boxes():
            yield from _boxes(sheet, layer, color, number)
        case Spans():
            yield from _spans(sheet, layer)


def _scatter(sheet: Sheet, layer: Layer, points: Sequence[Point], aside: float = 0.0) -> Data:
    return {
        "type": "scatter",
        "x": [sheet.across(point.x) + aside for point in points],
        "y": [sheet.along(point.y) for point in points],
        "hoverinfo": "text",
        "hovertext": sheet.told(layer, points),
    } | ({} if isinstance(layer, Intervals | Boxes) else _error_bars(sheet, layer, points))


def _error_bars(sheet: Sheet, layer: Layer, points: Sequence[Point]) -> Data:
    if all(point.low is None and point.high is None for point in points):
        return {}
    return {
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [_beyond(sheet, point, point.high) for point in points],
            "arrayminus": [-_beyond(sheet, point, point.low) for point in points],
            "thickness": 1.3,
            "width": 3,
            "color": theme.INK if isinstance(layer, Bars) else None,
        }
    }


def _beyond(sheet: Sheet, point: Point, end: float | None) -> float:
    return 0.0 if end is None else sheet.along(end) - sheet.along(point.y)


def _marker(layer: Layer, color: str, number: int, size: float) -> Data:
    shape = SYMBOLS[LOOKS[layer.look][1] if layer.look in LOOKS else theme.marker(number)]
    hollow = layer.look in (Look.PUBLISHED, Look.DOUBTED)
    return {
        "symbol": f"{shape}-open" if hollow else shape,
        "size": size * PIXELS,
        "color": color,
        "opacity": 1,
    }


def _line(sheet: Sheet, layer: Line, color: str, number: int) -> Data:
    ceiling = layer.look is Look.CEILING
    parts = [_scatter(sheet, layer, part) for part in unbroken(sheet.x, layer.points) if part]
    style: Data = {
        "mode": "lines+markers" if layer.markers else "lines",
        "connectgaps": False,
        "line": {
            "color": color,
            "width": (1.0 if ceiling else 1.6) * PIXELS,
            "dash": DASHES[(layer.dash + ceiling) % len(DASHES)],
            "shape": "hv" if layer.steps else "linear",
        },
        "marker": _marker(layer, color, number, 5.0),
    }
    if ceiling:
        style["marker"] |= {"symbol": SYMBOLS["_"], "line": {"width": 1.3, "color": color}}
    return _joined(parts) | style


def _joined(parts: Sequence[Data]) -> Data:
    """Return one trace of several, with a gap between them."""
    if not parts:
        return {"type": "scatter", "x": [], "y": []}
    whole = dict(parts[0])
    for part in parts[1:]:
        for key in ("x", "y", "hovertext"):
            whole[key] = [*whole[key], None, *part[key]]
        if "error_y" in whole or "error_y" in part:
            whole["error_y"] = _joined_bars(whole, part)
    return whole


def _joined_bars(whole: Data, part: Data) -> Data:
    before, after = whole.get("error_y", {}), part.get("error_y", {})
    count = len(whole["x"]) - len(part["x"]) - 1
    return {**after, **before} | {
        key: [*before.get(key, [0] * count), 0, *after.get(key, [0] * len(part["x"]))]
        for key in ("array", "arrayminus")
    }


def _bars(sheet: Sheet, layer: Bars, color: str, floors: dict[float, float]) -> Data:
    beside = [one for one in sheet.panel.layers if isinstance(one, Bars) and not one.stacked]
    place = beside.index(layer) if layer in beside else 0
    count = max(1, len(beside))
    width = bar_width(sheet.x, count)
    found = _scatter(sheet, layer, layer.points, (place - (count - 1) / 2) * width)
    under = [floors.get(point.x, 0.0) if layer.stacked else 0.0 for point in layer.points]
    if layer.stacked:
        tops = zip(layer.points, under, found["y"], strict=True)
        floors.update({point.x: low + y for point, low, y in tops})
    pattern = "/" if layer.simulated else "." if layer.look is Look.PUBLISHED else ""
    marker: Data = {"color": color, "line": {"color": color, "width": PIXELS}}
    if pattern:
        marker |= {
            "color": theme.PAPER,
            "pattern": {
                "shape": pattern,
                "fgcolor": color,
                "bgcolor": theme.PAPER,
                "size": 7,
                "solidity": 0.2,
            },
        }
    return found | {"type": "bar", "width": width * 0.94, "base": under, "marker": marker}


def _intervals(sheet: Sheet, layer: Intervals, color: str, number: int) -> Iterator[Data]:
    """Draw each from its lower end to its upper one; open ones have an arrow in the layout."""
    aside = aside_in(sheet, layer)
    closed = [point for point in layer.points if point.high is not None]
    ends = [(sheet.along(point.y), sheet.along(point.high or 0.0)) for point in closed]
    yield {
        "type": "scatter",
        "mode": "lines",
        "x": [at for p in closed for at in (*[sheet.across(p.x) + aside] * 2, None)],
        "y": [end for low, high in ends for end in (low, high, None)],
        "hoverinfo": "skip",
        "opacity": 0.45,
        "showlegend": False,
        "line": {"color": color, "width": 5 * PIXELS},
    }
    yield _scatter(sheet, layer, layer.points, aside) | {
        "mode": "markers",
        "marker": _marker(layer, color, number, 5.0),
    }


def aside_in(sheet: Sheet, layer: Intervals) -> float:
    """Return how far intervals of a layer stand beside their places."""
    every = [one for one in sheet.panel.layers if isinstance(one, Intervals)]
    return aside_of(every.index(layer), len(every))


def _boxes(sheet: Sheet, layer: Boxes, color: str, number: int) -> Iterator[Data]:
    places: dict[float, list[Point]] = {}
    for point in layer.points:
        places.setdefault(point.x, []).append(point)
    for x, points in places.items():
        yield box_of(sheet.across(x), [sheet.along(point.y) for point in points], color)
    for points in places.values():
        found = _scatter(sheet, layer, points)
        found["x"] = [at + 0.12 * ((one % 3) - 1) for one, at in enumerate(found["x"])]
        marker = _marker(layer, color, number, 4.5) | {"opacity": 0.8}
        yield found | {"mode": "markers", "marker": marker}


def _spans(sheet: Sheet, layer: Spans) -> Iterator[Data]:
    low, high = sheet.y.low, sheet.y.high
    if sheet.is_log(sheet.y):
        low, high = 10**low, 10**high
    for begin, end in layer.spans:
        left, right = sheet.across(begin), sheet.across(end)
        yield {
            "type": "scatter",
            "mode": "lines",
            "x": [left, left, right, right, left],
            "y": [low, high, high, low, low],
            "fill": "toself",
            "fillcolor": theme.SPAN,
            "line": {"color": theme.WARNING, "width": 0.8},
            "hoveron": "fills",
            "hoverinfo": "text",
            "text": span_said(layer, begin, end, sheet.x),
        }
