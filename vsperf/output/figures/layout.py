"""Where everything of a drawing stands: title, legend, panels and caption below each other.

Heights are added up from measured text, so a long name makes a drawing higher and covers nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vsperf.output.figures import legend, theme
from vsperf.output.figures.boxes import Page, diagram_height, diagram_width, draw_diagram
from vsperf.output.figures.drawing import Drawing, Panel, Scale
from vsperf.output.figures.paint import paint
from vsperf.output.figures.text import plain, shortened, width, wrapped

EDGE = 10.0
LEFT = 71.0
"""Has room for the widest of what stands at ticks of a y axis, beside what the axis is called."""
RIGHT = 14.0
LEADING = 1.35
"""Height of a line of text, as a multiple of its letters."""
MARK = "SIMULATED"
LONGEST_TICK = 34
LONGEST_LABEL = 44
"""Letters along a y axis: as many as are about as high as a panel. Its unit stands at the end."""
TILT = 35
"""Degrees by which names are turned that stand too close."""


def compose(drawing: Drawing) -> Any:
    """Return a drawing as a figure of matplotlib, of the size that it needs."""
    from matplotlib.figure import Figure

    wide = diagram_width(drawing.diagram) if drawing.diagram else theme.WIDTH
    room = wide - 2 * EDGE
    title = wrapped(plain(drawing.title), theme.TITLE, _title_room(drawing, room), bold=True)
    caption = wrapped(plain(drawing.caption), theme.SMALL, room)
    blocks = [_block(panel, again) for panel, again in _with_repeats(drawing.panels)]
    heads = len(title) * theme.TITLE * LEADING + 6
    feet = len(caption) * theme.SMALL * LEADING + 6
    body = sum(block.height for block in blocks)
    body += diagram_height(drawing.diagram) if drawing.diagram else 0.0
    height = EDGE + heads + body + feet + EDGE
    page = Page(Figure(figsize=(wide / 72, height / 72)), height, wide)
    page.lines(EDGE, EDGE, title, theme.TITLE, fontweight="bold")
    if drawing.simulated:
        style: dict[str, Any] = {"fontweight": "bold", "color": theme.WARNING, "ha": "right"}
        page.text(wide - EDGE, EDGE + theme.TITLE, MARK, theme.TITLE, **style)
    top = EDGE + heads
    if drawing.diagram is not None:
        draw_diagram(page, drawing.diagram, top)
        top += diagram_height(drawing.diagram)
    for block in blocks:
        _draw(page, block, top)
        top += block.height
    page.lines(EDGE, top + 4, caption, theme.SMALL, color=theme.MUTED)
    return page.figure


@dataclass(frozen=True, slots=True)
class Block:
    """A panel with the room that all around it needs [pt]."""

    panel: Panel
    legend: list[legend.Entry]
    heading: float
    above: float
    below: float
    turned: bool

    @property
    def height(self) -> float:
        return self.heading + self.above + theme.PANEL + self.below


def _with_repeats(panels: Sequence[Panel]) -> Iterator[tuple[Panel, bool]]:
    """Yield panels, and whether the one before has the same legend."""
    before: list[str] = []
    for panel in panels:
        names = [layer.name for layer in panel.layers]
        yield panel, names == before
        before = names


def _block(panel: Panel, again: bool) -> Block:
    found = [] if again else legend.entries(panel, LEFT, theme.WIDTH - LEFT - RIGHT)
    turned = _turned(panel)
    longest = max((width(name, theme.SMALL) for name in _names(panel)), default=0.0)
    ticks = longest * math.sin(math.radians(TILT)) + theme.SMALL if turned else theme.SMALL
    return Block(
        panel=panel,
        legend=found,
        heading=theme.TEXT * LEADING + 3 if panel.title else 0.0,
        above=legend.height(found) + 2,
        below=ticks + 6 + theme.TEXT * LEADING + 8,
        turned=turned,
    )


def _title_room(drawing: Drawing, room: float) -> float:
    mark = width(MARK, theme.TITLE, bold=True) + 12 if drawing.simulated else 0.0
    return room - mark


def _names(panel: Panel) -> list[str]:
    return [shortened(plain(tick.name), LONGEST_TICK) for tick in panel.x.ticks]


def _fitting(name: str, room: float) -> str:
    """Shorten a name that is turned so that it does not leave the sheet on the left."""
    name, letters = plain(name), LONGEST_TICK
    flat = math.cos(math.radians(TILT))
    while letters > 4 and width(shortened(name, letters), theme.SMALL) * flat > room:
        letters -= 1
    return shortened(name, letters)


def _turned(panel: Panel) -> bool:
    """Whether names below the axis stand too close to be written straight."""
    names = _names(panel)
    if panel.x.scale is not Scale.NAMES or not names:
        return False
    each = (theme.WIDTH - LEFT - RIGHT) / len(names)
    return max(width(name, theme.SMALL) for name in names) > each - 5


def _draw(page: Page, block: Block, top: float) -> None:
    """Draw a panel, its legend, and what is written along its axes."""
    panel = block.panel
    if panel.title:
        page.lines(EDGE, top, [shortened(plain(panel.title), 90)], theme.TEXT, fontweight="bold")
    top += block.heading
    for entry in block.legend:
        _legend_entry(page, entry, top)
    top += block.above
    wide = theme.WIDTH - LEFT - RIGHT
    canvas = paint(page.axes(LEFT, top, wide, theme.PANEL), panel)
    bottom = top + theme.PANEL
    for place, name in canvas.y.ticks():
        high = bottom - canvas.y.share(place) * theme.PANEL
        page.text(LEFT - 5, high, shortened(plain(name), 8), theme.SMALL, ha="right", va="center")
    turned: dict[str, Any] = {"ha": "center", "va": "top"}
    if block.turned:
        turned = {"ha": "right", "va": "top", "rotation": TILT, "rotation_mode": "anchor"}
    for place, name in canvas.x.ticks():
        if -0.001 <= canvas.x.share(place) <= 1.001:
            at = LEFT + canvas.x.share(place) * wide
            fitting = _fitting(name, at) if block.turned else shortened(plain(name), LONGEST_TICK)
            page.rule((at, bottom), (at, bottom + 3))
            page.text(at, bottom + 5, fitting, theme.SMALL, **turned)
    page.text(
        LEFT + wide / 2,
        top + theme.PANEL + block.below - 6,
        plain(canvas.x.label),
        theme.TEXT,
        ha="center",
    )
    page.text(
        EDGE + theme.TEXT,
        top + theme.PANEL / 2,
        shortened(plain(canvas.y.label), LONGEST_LABEL),
        theme.TEXT,
        ha="center",
        va="center",
        rotation=90,
    )


def _legend_entry(page: Page, entry: legend.Entry, top: float) -> None:
    kind, style = legend.sample(entry)
    middle = top + entry.top + legend.ROW / 2
    end = entry.left + legend.SAMPLE
    if kind == "line":
        page.line([entry.left, (entry.left + end) / 2, end], middle, style)
    else:
        page.patch(entry.left + 3, middle - 4, legend.SAMPLE - 6, 8, style)
    for place, line in enumerate(entry.lines):
        at = middle + place * legend.ROW
        page.text(end + legend.GAP, at, line, theme.SMALL, va="center_baseline")
