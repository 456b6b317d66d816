"""A drawing as data for plotly.js: what it takes to point at numbers, and to look closer.

The same places, colours and markers as `paint`; each panel is a plot of its own. Nothing of plotly
is imported. Colours are those of the theme, and the page puts its own in their place.
"""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.output.figures import legend, theme
from vsperf.output.figures.drawing import Bars, Boxes, Drawing, Intervals, Panel, Points, Scale
from vsperf.output.figures.layout import LEFT, LONGEST_TICK, MARK, RIGHT
from vsperf.output.figures.paint import (
    color_of,
    name_of,
    number_of,
    placings,
    points_aside,
    simulated_only,
)
from vsperf.output.figures.scales import Placing
from vsperf.output.figures.text import any_letters, plain, shortened
from vsperf.output.figures.traces import PIXELS, Data, Sheet, aside_in, escaped, in_lines
from vsperf.output.figures.traces import traces as layer_traces

AROUND = 56.0
"""Height of what stands below the axis [pt]."""


def plots(drawing: Drawing) -> list[Data]:
    """Return a plot for each panel, as data and layout; none of a diagram, which has no axes."""
    if drawing.diagram is not None:
        return []
    with any_letters():
        return [_plot(panel) for panel in drawing.panels]


def _plot(panel: Panel) -> Data:
    aside = any(
        isinstance(layer, Bars | Intervals | Boxes)
        or (isinstance(layer, Points) and points_aside(panel, layer))
        for layer in panel.layers
    )
    sheet = Sheet(panel, *placings(panel), not aside, simulated_only(panel))
    traces, named = [], set[str]()
    shown = {entry.name for entry in _legend(panel)}
    floors: dict[float, float] = {}
    for order, layer in enumerate(panel.layers):
        number = number_of(panel, order)
        name = name_of(layer, alone=sheet.alone)
        for trace in layer_traces(sheet, layer, (color_of(layer, number), number), floors):
            seen = trace.pop("showlegend", True) and name in shown - named
            named |= {name} if seen else set()
            words = in_lines(name)
            traces.append({"name": words, "legendgroup": words, "showlegend": seen, **trace})
    return {"title": plain(panel.title), "data": traces, "layout": _layout(sheet)}


def _legend(panel: Panel) -> list[legend.Entry]:
    return legend.entries(panel, LEFT, theme.WIDTH - LEFT - RIGHT)


def _layout(sheet: Sheet) -> Data:
    heads = legend.height(_legend(sheet.panel)) * 1.25
    return {
        "height": round((theme.PANEL + heads + AROUND) * PIXELS),
        "margin": {"l": 64, "r": 14, "t": round(heads * PIXELS), "b": 50},
        "font": {"size": theme.SMALL * PIXELS, "color": theme.INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": theme.PAPER, "bordercolor": theme.MUTED, "align": "left"}
        | {"font": {"color": theme.INK}},
        "barmode": "overlay",
        "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"},
        "xaxis": _axis(sheet, sheet.x) | {"showgrid": False},
        "yaxis": _axis(sheet, sheet.y),
        "annotations": [*_arrows(sheet), *_mark(sheet)],
    }


def _axis(sheet: Sheet, placing: Placing) -> Data:
    found: Data = {
        "title": {"text": escaped(placing.label), "standoff": 8},
        "type": "log" if sheet.is_log(placing) else "linear",
        "range": [placing.low, placing.high],
        "automargin": True,
        "zeroline": False,
        "showline": True,
        "linecolor": theme.MUTED,
        "ticks": "outside",
        "tickcolor": theme.MUTED,
        "ticklen": 4,
        "gridcolor": theme.GRID,
        "exponentformat": "none",
        "separatethousands": False,
    }
    ours = placing.axis.scale not in (Scale.LINEAR, Scale.LOG) or placing.axis.ticks
    if ours or (placing.axis.scale is Scale.LOG and not sheet.logarithmic):
        ticks = list(placing.ticks())
        power = sheet.is_log(placing)
        found["tickvals"] = [10**place if power else place for place, _ in ticks]
        found["ticktext"] = [escaped(shortened(plain(name), LONGEST_TICK)) for _, name in ticks]
    return found


def _arrows(sheet: Sheet) -> Iterator[Data]:
    """Point upwards from intervals that are open."""
    for order, layer in enumerate(sheet.panel.layers):
        for point in layer.points if isinstance(layer, Intervals) else ():
            if point.high is None and isinstance(layer, Intervals):
                yield {
                    "x": sheet.across(point.x) + aside_in(sheet, layer),
                    "y": sheet.along(point.y),
                    "ax": 0,
                    "ay": -16 * PIXELS,
                    "text": "",
                    "showarrow": True,
                    "arrowside": "start",
                    "arrowwidth": 1.3,
                    "arrowcolor": color_of(layer, number_of(sheet.panel, order)),
                }


def _mark(sheet: Sheet) -> Iterator[Data]:
    """Say SIMULATED across what shows nothing else, where paper is hatched."""
    if sheet.alone:
        yield {
            "xref": "x domain",
            "yref": "y domain",
            "x": 0.5,
            "y": 0.5,
            "text": MARK,
            "showarrow": False,
            "textangle": -14,
            "font": {"size": 44, "color": theme.HATCH},
        }
