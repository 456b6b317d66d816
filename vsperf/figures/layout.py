"""Where everything of a drawing stands: title, legend, panels and caption below each other.

Heights are added up from measured text, so a long name makes a drawing higher and covers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vsperf.figures import theme
from vsperf.figures.drawing import Drawing, Panel, Scale
from vsperf.figures.paint import Canvas, paint
from vsperf.figures.text import plain, shortened, width, wrapped

EDGE = 10.0
LEFT = 56.0
RIGHT = 14.0
LEADING = 1.35
"""Height of a line of text, as a multiple of its letters."""
HANDLE = 34.0
"""Room of a sample in a legend, with the spaces around it."""
X_LABEL = 16.0
MARK = "SIMULATED"
LONGEST_TICK = 28


@dataclass(frozen=True, slots=True)
class Strip:
    """A part of a drawing that takes the whole width, from its top downwards [pt]."""

    top: float
    height: float


def compose(drawing: Drawing) -> Any:
    """Return a drawing as a figure of matplotlib, of the size that it needs."""
    from matplotlib.figure import Figure

    room = theme.WIDTH - 2 * EDGE
    title = wrapped(plain(drawing.title), theme.TITLE, _title_room(drawing, room), bold=True)
    caption = wrapped(plain(drawing.caption), theme.SMALL, room)
    below = [_below(panel) for panel in drawing.panels]
    entries = [_entries(panel) for panel in drawing.panels]
    legends = [_legend_height(names) for names in entries]
    headings = [theme.TEXT * LEADING + 2 if panel.title else 0.0 for panel in drawing.panels]
    heads = len(title) * theme.TITLE * LEADING + 4
    feet = len(caption) * theme.SMALL * LEADING + 6
    body = sum(legends) + sum(headings) + sum(theme.PANEL + low for low in below)
    height = EDGE + heads + body + feet + EDGE
    figure = Figure(figsize=(theme.WIDTH / 72, height / 72))
    page = _Page(figure, height)
    page.text(EDGE, EDGE, title, theme.TITLE, bold=True)
    if drawing.simulated:
        page.mark(EDGE)
    top = EDGE + heads
    for panel, low, legend, heading in zip(drawing.panels, below, legends, headings, strict=True):
        if panel.title:
            page.text(EDGE, top, [shortened(plain(panel.title), 90)], theme.TEXT, bold=True)
        top += heading
        axes = page.axes(LEFT, top + legend, theme.WIDTH - LEFT - RIGHT, theme.PANEL)
        canvas = paint(axes, panel)
        _label(canvas, panel)
        page.legend(canvas, top, _columns([*_entries(panel)]))
        top += legend + theme.PANEL + low
    page.text(EDGE, top + 4, caption, theme.SMALL, muted=True)
    return figure


def _title_room(drawing: Drawing, room: float) -> float:
    mark = width(MARK, theme.TITLE, bold=True) + 12 if drawing.simulated else 0.0
    return room - mark


def _names(panel: Panel) -> list[str]:
    return [shortened(plain(tick.name), LONGEST_TICK) for tick in panel.x.ticks]


def _turned(panel: Panel) -> bool:
    """Whether names below the axis stand too close to be written straight."""
    names = _names(panel)
    if panel.x.scale is not Scale.NAMES or not names:
        return False
    each = (theme.WIDTH - LEFT - RIGHT) / len(names)
    return max(width(name, theme.SMALL) for name in names) > each - 5


def _below(panel: Panel) -> float:
    """Return the room that ticks and label need below a panel."""
    ticks = theme.SMALL * LEADING + 4
    if _turned(panel):
        ticks = max(width(name, theme.SMALL) for name in _names(panel)) * 0.58 + 14
    return ticks + X_LABEL + 8


def _entries(panel: Panel) -> list[str]:
    return [layer.name for layer in panel.layers]


def _legend_height(names: list[str]) -> float:
    if not _columns(names):
        return 6.0
    rows = -(-len(names) // _columns(names))
    return rows * theme.SMALL * 1.5 + 8


def _columns(names: list[str]) -> int:
    """Return how many names of a legend fit side by side; none is needed for a single one."""
    if not names:
        return 0
    longest = max(width(shortened(plain(n), 56) + " (SIMULATED)", theme.SMALL) for n in names)
    return max(1, min(len(names), int((theme.WIDTH - LEFT - RIGHT) / (longest + HANDLE))))


def _label(canvas: Canvas, panel: Panel) -> None:
    """Write at the axes what they count."""
    axes = canvas.axes
    axes.tick_params(labelsize=theme.SMALL, length=3)
    axes.set_xlabel(canvas.x.label, fontsize=theme.TEXT, labelpad=3)
    axes.set_ylabel(canvas.y.label, fontsize=theme.TEXT, labelpad=4)
    if panel.x.ticks:
        places = [canvas.x.place(tick.at) for tick in panel.x.ticks]
        turned: dict[str, Any] = {}
        if _turned(panel):
            turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(places, _names(panel), **turned)
        axes.minorticks_off()
    if panel.y.ticks:
        places = [canvas.y.place(tick.at) for tick in panel.y.ticks]
        axes.set_yticks(places, [shortened(plain(t.name), 12) for t in panel.y.ticks])


@dataclass(frozen=True, slots=True)
class _Page:
    """A figure of matplotlib, measured in points from its upper left corner."""

    figure: Any
    height: float

    def axes(self, left: float, top: float, wide: float, high: float) -> Any:
        place = (
            left / theme.WIDTH,
            1 - (top + high) / self.height,
            wide / theme.WIDTH,
            high / self.height,
        )
        axes = self.figure.add_axes(place)
        axes.set_facecolor("none")
        return axes

    def text(
        self,
        left: float,
        top: float,
        lines: list[str],
        size: float,
        *,
        bold: bool = False,
        muted: bool = False,
    ) -> None:
        for number, line in enumerate(lines):
            self.figure.text(
                left / theme.WIDTH,
                1 - (top + (number * LEADING + 1) * size) / self.height,
                line,
                fontsize=size,
                fontweight="bold" if bold else "normal",
                color=theme.MUTED if muted else theme.INK,
            )

    def mark(self, top: float) -> None:
        """Say that the numbers come from a model."""
        self.figure.text(
            1 - EDGE / theme.WIDTH,
            1 - (top + theme.TITLE) / self.height,
            MARK,
            fontsize=theme.TITLE,
            fontweight="bold",
            color=theme.WARNING,
            ha="right",
        )

    def legend(self, canvas: Canvas, top: float, columns: int) -> None:
        handles, labels = canvas.axes.get_legend_handles_labels()
        if not columns or not handles:
            return
        self.figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(LEFT / theme.WIDTH, 1 - top / self.height),
            ncols=columns,
            fontsize=theme.SMALL,
            frameon=False,
            borderpad=0,
            borderaxespad=0,
            handlelength=2.6,
            handletextpad=0.5,
            columnspacing=1.4,
            labelspacing=0.5,
        )
