"""The sheet that is drawn on, measured in points from its upper left corner; and diagrams on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vsperf.output.figures import theme
from vsperf.output.figures.drawing import Arrow, Diagram, Node
from vsperf.output.figures.text import plain, shortened, width, wrapped

LEADING = 1.35


@dataclass(frozen=True, slots=True)
class Page:
    """The sheet."""

    figure: Any
    height: float
    width: float = theme.WIDTH

    def axes(self, left: float, top: float, wide: float, high: float) -> Any:
        axes = self.figure.add_axes(
            (
                left / self.width,
                1 - (top + high) / self.height,
                wide / self.width,
                high / self.height,
            )
        )
        axes.set_facecolor("none")
        return axes

    def text(self, left: float, top: float, text: str, size: float, **style: Any) -> None:
        """Write a line; its baseline is at `top`, unless `va` says otherwise."""
        x, y = self._at(left, top)
        self.figure.text(x, y, text, fontsize=size, **{"color": theme.INK, **style})

    def lines(
        self, left: float, top: float, lines: Sequence[str], size: float, **style: Any
    ) -> None:
        """Write several lines below each other, the first one below `top`."""
        for number, line in enumerate(lines):
            self.text(left, top + (number * LEADING + 1) * size, line, size, **style)

    def rule(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw a thin line, such as a tick."""
        from matplotlib.lines import Line2D

        (x0, y0), (x1, y1) = self._at(*begin), self._at(*end)
        self.figure.add_artist(Line2D([x0, x1], [y0, y1], color=theme.MUTED, linewidth=0.8))

    def line(self, xs: Sequence[float], top: float, style: dict[str, Any]) -> None:
        """Draw a sample of a line, with its marker in the middle."""
        from matplotlib.lines import Line2D

        places = [self._at(x, top) for x in xs]
        self.figure.add_artist(
            Line2D(
                [x for x, _ in places],
                [y for _, y in places],
                **{**style, "markevery": [len(places) // 2]},
            )
        )

    def arrow(self, begin: tuple[float, float], end: tuple[float, float], *, both: bool) -> None:
        """Draw an arrow, with a head at one end or at both."""
        from matplotlib.patches import FancyArrowPatch

        self.figure.add_artist(
            FancyArrowPatch(
                self._at(*begin),
                self._at(*end),
                transform=self.figure.transFigure,
                arrowstyle="<|-|>" if both else "-|>",
                mutation_scale=8,
                color=theme.MUTED,
                linewidth=1.2,
                shrinkA=0,
                shrinkB=0,
            )
        )

    def patch(
        self, left: float, top: float, wide: float, high: float, style: dict[str, Any]
    ) -> None:
        from matplotlib.patches import Rectangle

        corner = self._at(left, top + high)
        patch = Rectangle(
            corner,
            wide / self.width,
            high / self.height,
            transform=self.figure.transFigure,
            **style,
        )
        self.figure.add_artist(patch)

    def _at(self, left: float, top: float) -> tuple[float, float]:
        return left / self.width, 1 - top / self.height


EDGE = 10.0
BOX = 96.0
"""Width of a box [pt]."""
LEAST_GAP, MOST_GAP = 40.0, 150.0
"""Between boxes, for an arrow and what is written at it."""
PADDING = 7.0
LINE = theme.SMALL * 1.3
BETWEEN_ROWS = 18.0
MOST_NOTES = 5
COLORS = {"generator": theme.SERIES[2], "switch": theme.SERIES[0], "vnf": theme.SERIES[1]}


def diagram_width(diagram: Diagram) -> float:
    """Return how wide the sheet of a diagram is."""
    columns = _columns(diagram)
    texts = [text for arrow in diagram.arrows for text in (arrow.above, arrow.below)]
    longest = max((width(plain(text), theme.SMALL) for text in texts), default=0.0) + 14
    gap = min(MOST_GAP, max(LEAST_GAP, longest))
    return max(theme.WIDTH, columns * BOX + (columns - 1) * gap + 2 * EDGE)


def diagram_height(diagram: Diagram) -> float:
    """Return how high a diagram is."""
    rows = max(node.row + node.rows for node in diagram.nodes)
    return rows * _row(diagram) + (rows - 1) * BETWEEN_ROWS + 10


def _columns(diagram: Diagram) -> int:
    return max(node.column for node in diagram.nodes) + 1


def _row(diagram: Diagram) -> float:
    """Return the height of a row: that of the fullest box."""
    return max(
        (len(_lines(node)) * LINE + theme.TEXT * 1.5 + 2 * PADDING) / node.rows
        for node in diagram.nodes
    )


def _lines(node: Node) -> list[str]:
    room = BOX - 2 * PADDING
    lines = [line for note in node.notes for line in wrapped(plain(note), theme.SMALL, room)]
    return lines if len(lines) <= MOST_NOTES else [*lines[: MOST_NOTES - 1], "…"]


def _gap(page: Page, diagram: Diagram) -> float:
    columns = _columns(diagram)
    return (page.width - 2 * EDGE - columns * BOX) / max(1, columns - 1)


def draw_diagram(page: Page, diagram: Diagram, top: float) -> None:
    """Draw a diagram below `top`."""
    high, gap = _row(diagram), _gap(page, diagram)
    places = {node.key: _draw_node(page, node, top, high, gap) for node in diagram.nodes}
    for arrow in diagram.arrows:
        middle = top + arrow.row * (high + BETWEEN_ROWS) + high / 2
        _draw_arrow(page, arrow, places[arrow.begin] + BOX, places[arrow.end], middle)


def _draw_node(page: Page, node: Node, top: float, high: float, gap: float) -> float:
    """Draw a box, and return its left edge."""
    left = EDGE + node.column * (BOX + gap)
    upper = top + node.row * (high + BETWEEN_ROWS)
    tall = node.rows * high + (node.rows - 1) * BETWEEN_ROWS
    style: dict[str, Any] = {
        "facecolor": theme.PAPER,
        "edgecolor": COLORS.get(node.kind, theme.MUTED),
        "linewidth": 1.6,
    }
    page.patch(left, upper, BOX, tall, style)
    lines = _lines(node)
    text = len(lines) * LINE + theme.TEXT * 1.5
    at = upper + (tall - text) / 2 + theme.TEXT
    middle = left + BOX / 2
    title = _fitting(node.title, theme.TEXT, BOX - 2 * PADDING, bold=True)
    page.text(middle, at, title, theme.TEXT, ha="center", fontweight="bold")
    for number, line in enumerate(lines, start=1):
        page.text(middle, at + number * LINE + 2, line, theme.SMALL, ha="center")
    return left


def _draw_arrow(page: Page, arrow: Arrow, begin: float, end: float, middle: float) -> None:
    page.arrow((begin + 3, middle), (end - 3, middle), both=arrow.both)
    room = end - begin - 6
    for text, at in ((arrow.above, middle - 5), (arrow.below, middle + theme.SMALL + 4)):
        if text:
            fitting = _fitting(text, theme.SMALL, room)
            page.text((begin + end) / 2, at, fitting, theme.SMALL, ha="center")


def _fitting(text: str, size: float, room: float, *, bold: bool = False) -> str:
    """Shorten a text until it fits."""
    text = plain(text)
    letters = len(text)
    while letters > 3 and width(shortened(text, letters), size, bold=bold) > room:
        letters -= 1
    return shortened(text, letters)
