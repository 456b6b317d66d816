"""Paints layers between axes with matplotlib. All that is drawn of numbers is drawn here."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vsperf.figures import theme
from vsperf.figures.drawing import (
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
from vsperf.figures.scales import Placing, placing
from vsperf.figures.text import plain, shortened

LONGEST_NAME = 56
HEADROOM = 1.06
TROUBLE_BAR = 0.8
"""Of the room between two names is taken by bars."""
LOOKS = {Look.GOOD: (theme.GOOD, "o"), Look.BAD: (theme.BAD, "X"), Look.NEUTRAL: (theme.MUTED, "d")}


@dataclass(frozen=True, slots=True)
class Canvas:
    """Axes that are painted on, and where numbers stand on them."""

    axes: Any
    x: Placing
    y: Placing
    all_simulated: bool


def paint(axes: Any, panel: Panel) -> Canvas:
    """Paint a panel on axes of matplotlib; return them with how they place numbers."""
    layers = panel.layers
    x = placing(panel.x, (value for layer in layers for value in _xs(layer)))
    y = placing(panel.y, (value for layer in layers for value in _ys(layer)))
    told = [layer for layer in layers if layer.look not in (Look.CEILING, Look.PUBLISHED)]
    simulated = bool(told) and all(layer.simulated for layer in told)
    canvas = Canvas(axes, x, y, simulated)
    _scale(canvas, panel)
    bars = [layer for layer in layers if isinstance(layer, Bars) and not layer.stacked]
    floors: dict[float, float] = {}
    number = 0
    for order, layer in enumerate(layers):
        color, at = _color(layer, number), number if _numbered(layer) is None else _numbered(layer)
        number += layer.look is Look.SERIES and _numbered(layer) is None
        match layer:
            case Line():
                _line(canvas, layer, color, at or 0)
            case Points():
                _points(canvas, layer, color, at or 0)
            case Bars():
                place = bars.index(layer) if layer in bars else 0
                _bars(canvas, layer, color, (place, max(1, len(bars))), floors)
            case Intervals():
                _intervals(canvas, layer, color, at or 0)
            case Boxes():
                _boxes(canvas, layer, color, order)
            case Spans():
                _spans(canvas, layer)
    _finish(canvas, panel)
    return canvas


def name_of(layer: Layer, canvas: Canvas) -> str:
    """Return what the legend calls a layer."""
    name = shortened(plain(layer.name), LONGEST_NAME)
    hidden = canvas.all_simulated or not layer.simulated
    return name if hidden else f"{name} (SIMULATED)"


def _numbered(layer: Layer) -> int | None:
    return None if isinstance(layer, Spans) else layer.color


def _color(layer: Layer, number: int) -> str:
    if layer.look in LOOKS:
        return LOOKS[layer.look][0]
    own = _numbered(layer)
    if own is not None:
        return theme.series_color(own)
    return theme.series_color(number) if layer.look is Look.SERIES else theme.MUTED


def _xs(layer: Layer) -> list[float]:
    if isinstance(layer, Spans):
        return [end for span in layer.spans for end in span]
    return [point.x for point in layer.points]


def _ys(layer: Layer) -> list[float]:
    if isinstance(layer, Spans):
        return []
    return [
        value
        for point in layer.points
        for value in (point.y, point.low, point.high)
        if value is not None
    ]


def _scale(canvas: Canvas, panel: Panel) -> None:
    if panel.x.scale is Scale.LOG:
        canvas.axes.set_xscale("log")
    if panel.y.scale is Scale.LOG:
        canvas.axes.set_yscale("log")


def _placed(canvas: Canvas, points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return (
        [canvas.x.place(point.x) for point in points],
        [canvas.y.place(point.y) for point in points],
    )


def _error_bars(canvas: Canvas, points: Sequence[Point]) -> list[list[float]] | None:
    if all(point.low is None and point.high is None for point in points):
        return None
    below = [0.0 if p.low is None else canvas.y.place(p.y) - canvas.y.place(p.low) for p in points]
    above = [
        0.0 if p.high is None else canvas.y.place(p.high) - canvas.y.place(p.y) for p in points
    ]
    return [[max(0.0, one) for one in below], [max(0.0, one) for one in above]]


def _line(canvas: Canvas, layer: Line, color: str, number: int) -> None:
    xs, ys = _placed(canvas, layer.points)
    published = layer.look is Look.PUBLISHED
    ceiling = layer.look is Look.CEILING
    style: dict[str, Any] = {
        "color": color,
        "linewidth": 1.0 if ceiling or published else 1.6,
        "linestyle": theme.DASHES[(layer.dash + ceiling + published) % len(theme.DASHES)],
        "drawstyle": "steps-post" if layer.steps else "default",
        "label": name_of(layer, canvas),
        "zorder": 2 if ceiling else 3,
    }
    if layer.markers and not ceiling:
        style |= {"marker": theme.marker(number), "markersize": 5}
    if published:
        style |= {"markerfacecolor": theme.PAPER, "markeredgecolor": color}
    if layer.simulated and not canvas.all_simulated:
        from matplotlib.patheffects import withTickedStroke

        style["path_effects"] = [withTickedStroke(spacing=6, angle=60, length=0.5)]
    canvas.axes.errorbar(
        xs, ys, yerr=_error_bars(canvas, layer.points), capsize=2.5, elinewidth=1, **style
    )


def _points(canvas: Canvas, layer: Points, color: str, number: int) -> None:
    xs, ys = _placed(canvas, layer.points)
    shape = LOOKS[layer.look][1] if layer.look in LOOKS else theme.marker(number)
    hollow = layer.look is Look.PUBLISHED
    canvas.axes.errorbar(
        xs,
        ys,
        yerr=_error_bars(canvas, layer.points),
        linestyle="none",
        marker=shape,
        markersize=5.5,
        color=color,
        markerfacecolor=theme.PAPER if hollow else color,
        capsize=2.5,
        elinewidth=1,
        label=name_of(layer, canvas),
        zorder=4,
    )


def _bars(
    canvas: Canvas,
    layer: Bars,
    color: str,
    place: tuple[int, int],
    floors: dict[float, float],
) -> None:
    number, count = place
    xs, ys = _placed(canvas, layer.points)
    width = TROUBLE_BAR / count
    lefts = [x + (number - (count - 1) / 2) * width for x in xs]
    under = [floors.get(x, 0.0) if layer.stacked else 0.0 for x in xs]
    if layer.stacked:
        floors.update({x: low + y for x, low, y in zip(xs, under, ys, strict=True)})
    hatch = "////" if layer.simulated else "...." if layer.look is Look.PUBLISHED else None
    canvas.axes.bar(
        lefts,
        ys,
        width=width * 0.94,
        bottom=under,
        yerr=_error_bars(canvas, layer.points),
        capsize=2.5,
        color=theme.PAPER if hatch else color,
        edgecolor=color,
        linewidth=1.0,
        hatch=hatch,
        error_kw={"elinewidth": 1, "ecolor": theme.INK},
        label=name_of(layer, canvas),
        zorder=3,
    )


def _intervals(canvas: Canvas, layer: Intervals, color: str, number: int) -> None:
    """Draw each from its lower end to its upper one; an arrow where it is open."""
    closed = [point for point in layer.points if point.high is not None]
    xs = [canvas.x.place(point.x) for point in closed]
    lows = [canvas.y.place(point.y) for point in closed]
    highs = [canvas.y.place(point.high or 0.0) for point in closed]
    canvas.axes.vlines(xs, lows, highs, color=color, linewidth=5, zorder=3, alpha=0.45)
    ends, values = _placed(canvas, layer.points)
    canvas.axes.plot(
        ends,
        values,
        linestyle="none",
        marker=theme.marker(number),
        color=color,
        markersize=5,
        label=name_of(layer, canvas),
        zorder=4,
    )
    opened = [point for point in layer.points if point.high is None]
    xs, ys = _placed(canvas, opened)
    for x, y in zip(xs, ys, strict=True):
        canvas.axes.annotate(
            "",
            (x, y),
            (0, 16),
            textcoords="offset points",
            arrowprops={"arrowstyle": "<-", "color": color, "shrinkA": 0, "shrinkB": 0},
        )


def _boxes(canvas: Canvas, layer: Boxes, color: str, order: int) -> None:
    by_place: dict[float, list[float]] = {}
    for point in layer.points:
        by_place.setdefault(canvas.x.place(point.x), []).append(canvas.y.place(point.y))
    for at, values in by_place.items():
        if len(values) >= 4:
            canvas.axes.boxplot(
                [values],
                positions=[at],
                widths=0.5,
                showfliers=False,
                manage_ticks=False,
                boxprops={"color": color},
                whiskerprops={"color": color},
                capprops={"color": color},
                medianprops={"color": theme.INK, "linewidth": 1.4},
            )
        else:
            middle = statistics.median(values)
            canvas.axes.hlines(middle, at - 0.22, at + 0.22, color=theme.INK, linewidth=1.4)
    xs, ys = [], []
    for at, values in by_place.items():
        xs += [at + 0.12 * ((number % 3) - 1) for number in range(len(values))]
        ys += values
    canvas.axes.plot(
        xs,
        ys,
        linestyle="none",
        marker=theme.marker(order),
        color=color,
        markersize=4.5,
        alpha=0.8,
        label=name_of(layer, canvas),
        zorder=4,
    )


def _spans(canvas: Canvas, layer: Spans) -> None:
    for number, (begin, end) in enumerate(layer.spans):
        canvas.axes.axvspan(
            canvas.x.place(begin),
            canvas.x.place(end),
            facecolor=theme.SPAN,
            edgecolor=theme.WARNING,
            linewidth=0.6,
            label=name_of(layer, canvas) if number == 0 else None,
            zorder=1,
        )


def _finish(canvas: Canvas, panel: Panel) -> None:
    """Set limits, hatch what is simulated, and draw the grid."""
    from matplotlib.patches import Rectangle

    axes = canvas.axes
    if panel.y.from_zero:
        highest = max((canvas.y.place(v) for layer in panel.layers for v in _ys(layer)), default=1)
        axes.set_ylim(0, highest * HEADROOM if highest > 0 else 1)
    if panel.x.from_zero:
        axes.set_xlim(left=0)
    if panel.x.scale is Scale.NAMES:
        axes.set_xlim(-0.5, len(panel.x.ticks) - 0.5)
    if canvas.all_simulated:
        whole = Rectangle(
            (0, 0),
            1,
            1,
            transform=axes.transAxes,
            facecolor="none",
            edgecolor=theme.HATCH,
            hatch="///",
            linewidth=0,
            zorder=0,
        )
        axes.add_patch(whole)
    axes.grid(axis="y", color=theme.GRID, linewidth=0.7, zorder=0)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
