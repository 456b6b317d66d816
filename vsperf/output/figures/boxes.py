"""Draws diagrams: boxes on a grid, and arrows between them; as wide and high as they need."""

from __future__ import annotations

from typing import Any

from vsperf.output.figures import theme
from vsperf.output.figures.drawing import Arrow, Diagram, Node
from vsperf.output.figures.paper import Page
from vsperf.output.figures.text import plain, shortened, width, wrapped

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


def width_of(diagram: Diagram) -> float:
    """Return how wide the sheet of a diagram is."""
    columns = _columns(diagram)
    texts = [text for arrow in diagram.arrows for text in (arrow.above, arrow.below)]
    longest = max((width(plain(text), theme.SMALL) for text in texts), default=0.0) + 14
    gap = min(MOST_GAP, max(LEAST_GAP, longest))
    return max(theme.WIDTH, columns * BOX + (columns - 1) * gap + 2 * EDGE)


def height_of(diagram: Diagram) -> float:
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


def draw(page: Page, diagram: Diagram, top: float) -> None:
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
