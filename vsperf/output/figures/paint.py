"""Paints layers between axes with matplotlib. All that is drawn of numbers is drawn here."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vsperf.output.figures import theme
from vsperf.output.figures.drawing import (
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
from vsperf.output.figures.scales import Placing, placing
from vsperf.output.figures.text import plain, shortened

LONGEST_NAME = 280
"""Letters of a name in the legend, which are some three lines."""
BAR, WIDEST = 0.8, 48.0
"""Of the room between two names is taken by bars, but a bar is not wider than so much [pt]."""
LOOKS = {
    Look.TARGET: (theme.WARNING, "_"),
    Look.GOOD: (theme.GOOD, "o"),
    Look.BAD: (theme.BAD, "X"),
    Look.NEUTRAL: (theme.SERIES[0], "d"),
    Look.DOUBTED: (theme.MUTED, "v"),
}
BAR_OVER = {"marker": "_", "markersize": 18, "markeredgewidth": 1.6, "zorder": 2}
"""A ceiling that is known at places only, or a target."""
OVER = (Look.CEILING, Look.TARGET)


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
    canvas = Canvas(axes, *placings(panel), simulated_only(panel))
    bars = [layer for layer in layers if isinstance(layer, Bars) and not layer.stacked]
    intervals = [layer for layer in layers if isinstance(layer, Intervals)]
    floors: dict[float, float] = {}
    for order, layer in enumerate(layers):
        number = number_of(panel, order)
        color = color_of(layer, number)
        match layer:
            case Line():
                _line(canvas, layer, color, number)
            case Points():
                _points(canvas, layer, (color, number), points_aside(panel, layer))
            case Bars():
                place = bars.index(layer) if layer in bars else 0
                _bars(canvas, layer, color, (place, max(1, len(bars))), floors)
            case Intervals():
                aside = aside_of(intervals.index(layer), len(intervals))
                _intervals(canvas, layer, (color, number), aside)
            case Boxes():
                _boxes(canvas, layer, color, number)
            case Spans():
                _spans(canvas, layer)
    _finish(canvas)
    return canvas


def placings(panel: Panel) -> tuple[Placing, Placing]:
    """Return how both axes of a panel place their numbers."""
    layers = panel.layers
    x = placing(panel.x, (value for layer in layers for value in _xs(layer)))
    y = placing(panel.y, [value for layer in layers for value in _ys(layer)] + _stacks(layers))
    return x, y


def simulated_only(panel: Panel) -> bool:
    """Whether all that was measured here comes from a model."""
    told = [one for one in panel.layers if one.look not in (*OVER, Look.PUBLISHED)]
    return bool(told) and all(layer.simulated for layer in told)


def name_of(layer: Layer, *, alone: bool) -> str:
    """Return what the legend calls a layer; `alone` where all layers are simulated."""
    name = shortened(plain(layer.name), LONGEST_NAME)
    return name if alone or not layer.simulated else f"{name} (SIMULATED)"


def number_of(panel: Panel, order: int) -> int:
    """Return the number of a layer's colour and marker: its own, or the next one."""
    layer = panel.layers[order]
    if not isinstance(layer, Spans) and layer.color is not None:
        return layer.color
    before = panel.layers[:order]
    return sum(one.look is Look.SERIES and not isinstance(one, Spans) for one in before)


def color_of(layer: Layer, number: int) -> str:
    """Return the colour of a layer."""
    if layer.look in LOOKS:
        return LOOKS[layer.look][0]
    own = not isinstance(layer, Spans) and layer.color is not None
    return theme.series_color(number) if own or layer.look is Look.SERIES else theme.MUTED


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


def _stacks(layers: Sequence[Layer]) -> list[float]:
    """Return how high bars stand that stand on each other."""
    sums: dict[float, float] = {}
    for layer in layers:
        for point in layer.points if isinstance(layer, Bars) and layer.stacked else ():
            sums[point.x] = sums.get(point.x, 0.0) + point.y
    return list(sums.values())


def _placed(canvas: Canvas, points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return (
        [canvas.x.place(point.x) for point in points],
        [canvas.y.place(point.y) for point in points],
    )


def aside_of(place: int, count: int) -> float:
    """Return how far intervals stand beside their place, the one with this number of so many."""
    return min(0.14, BAR / count) * (place - (count - 1) / 2)


def points_aside(panel: Panel, layer: Points) -> float:
    """Return how far points stand beside a name, so that their error bars do not cover others'."""
    alike = [one for one in panel.layers if isinstance(one, Points) and _has_bars(one)]
    if panel.x.scale is not Scale.NAMES or layer not in alike:
        return 0.0
    return aside_of(alike.index(layer), len(alike))


def _has_bars(layer: Points) -> bool:
    return any(point.low is not None or point.high is not None for point in layer.points)


def _error_bars(canvas: Canvas, points: Sequence[Point]) -> list[list[float]] | None:
    if all(point.low is None and point.high is None for point in points):
        return None
    below = [0.0 if p.low is None else canvas.y.place(p.y) - canvas.y.place(p.low) for p in points]
    above = [
        0.0 if p.high is None else canvas.y.place(p.high) - canvas.y.place(p.y) for p in points
    ]
    return [[max(0.0, one) for one in below], [max(0.0, one) for one in above]]


def _line(canvas: Canvas, layer: Line, color: str, number: int) -> None:
    ceiling = layer.look is Look.CEILING
    style: dict[str, Any] = {
        "color": color,
        "linewidth": 1.0 if ceiling else 1.6,
        "linestyle": theme.DASHES[(layer.dash + ceiling) % len(theme.DASHES)],
        "drawstyle": "steps-post" if layer.steps else "default",
        "zorder": 2 if ceiling else 3,
    }
    if layer.markers:
        style |= {"marker": "_" if ceiling else theme.marker(number), "markersize": 5}
    hatched = layer.simulated and not canvas.all_simulated
    for points in unbroken(canvas.x, layer.points):
        xs, ys = _placed(canvas, points)
        long = len({*zip(xs, ys, strict=True)}) > 1  # what has no length has no strokes
        effects = _hatching() if hatched and long else None
        canvas.axes.plot(xs, ys, path_effects=effects, **style)
        if (bars := _error_bars(canvas, points)) is not None:
            canvas.axes.errorbar(
                xs, ys, yerr=bars, fmt="none", ecolor=color, capsize=2.5, elinewidth=1, zorder=3
            )


def _hatching() -> list[Any]:
    """Return what makes a line one of simulated numbers, where others are not."""
    from matplotlib.patheffects import withTickedStroke

    return [withTickedStroke(spacing=6, angle=60, length=0.5)]


def unbroken(x: Placing, points: Sequence[Point]) -> Iterator[list[Point]]:
    """Yield points that lie side by side: between names that were left out nothing is known."""
    named = x.axis.scale is Scale.NAMES
    together: list[Point] = []
    for point in points:
        far = together and x.place(point.x) - x.place(together[-1].x) > 1
        if named and far:
            yield together
            together = []
        together.append(point)
    yield together


def _points(canvas: Canvas, layer: Points, paint: tuple[str, int], aside: float) -> None:
    color, number = paint
    places, ys = _placed(canvas, layer.points)
    xs = [place + aside for place in places]
    shape = LOOKS[layer.look][1] if layer.look in LOOKS else theme.marker(number)
    hollow = layer.look in (Look.PUBLISHED, Look.DOUBTED)
    if layer.look in OVER:
        canvas.axes.plot(xs, ys, linestyle="none", color=color, **BAR_OVER)
        return
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
    width = bar_width(canvas.x, count)
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
        zorder=3,
    )


def bar_width(x: Placing, count: int) -> float:
    """Return how wide a bar is, of so many at one place."""
    one_pt = (x.high - x.low) / (theme.WIDTH - 76)
    return min(BAR / count, WIDEST * one_pt)


def _intervals(canvas: Canvas, layer: Intervals, paint: tuple[str, int], aside: float) -> None:
    """Draw each from its lower end to its upper one; an arrow where it is open.

    `aside` is how far it stands beside its place, so that several do not cover each other.
    """
    color, number = paint
    closed = [point for point in layer.points if point.high is not None]
    xs = [canvas.x.place(point.x) + aside for point in closed]
    lows = [canvas.y.place(point.y) for point in closed]
    highs = [canvas.y.place(point.high or 0.0) for point in closed]
    canvas.axes.vlines(xs, lows, highs, color=color, linewidth=5, zorder=3, alpha=0.45)
    ends, values = _placed(canvas, layer.points)
    canvas.axes.plot(
        [end + aside for end in ends],
        values,
        linestyle="none",
        marker=theme.marker(number),
        color=color,
        markersize=5,
        zorder=4,
    )
    opened = [point for point in layer.points if point.high is None]
    xs, ys = _placed(canvas, opened)
    for x, y in zip(xs, ys, strict=True):
        canvas.axes.annotate(
            "",
            (x + aside, y),
            (0, 16),
            textcoords="offset points",
            arrowprops={"arrowstyle": "<-", "color": color, "shrinkA": 0, "shrinkB": 0},
        )


def _boxes(canvas: Canvas, layer: Boxes, color: str, number: int) -> None:
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
        xs += [at + 0.12 * ((one % 3) - 1) for one in range(len(values))]
        ys += values
    canvas.axes.plot(
        xs,
        ys,
        linestyle="none",
        marker=theme.marker(number),
        color=color,
        markersize=4.5,
        alpha=0.8,
        zorder=4,
    )


def _spans(canvas: Canvas, layer: Spans) -> None:
    for begin, end in layer.spans:
        canvas.axes.axvspan(
            canvas.x.place(begin),
            canvas.x.place(end),
            facecolor=theme.SPAN,
            edgecolor=theme.WARNING,
            linewidth=0.6,
            zorder=1,
        )


def _finish(canvas: Canvas) -> None:
    """Set limits, hatch what is simulated, and draw the grid; text is the layout's."""
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Rectangle

    axes, x, y = canvas.axes, canvas.x, canvas.y
    axes.set_xlim(x.low, x.high)
    axes.set_ylim(y.low, y.high)
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
    rows = [[(x.low, place), (x.high, place)] for place, _ in y.ticks()]
    axes.add_collection(LineCollection(rows, colors=theme.GRID, linewidths=0.7, zorder=0.5))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.xaxis.set_visible(False)
    axes.yaxis.set_visible(False)
