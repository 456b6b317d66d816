"""Colours, markers and sizes of all drawings. In pages they are CSS variables, so pages may differ.

The series are told apart without any colour, too: each has a marker of its own.
"""

from __future__ import annotations

from typing import Final

SERIES: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56a0d3", "#b8860b")
"""By Okabe and Ito, the light ones a little darker, for white paper."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "h")
DASHES: Final = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (8, 2)))
INK: Final = "#1b1b1b"
MUTED: Final = "#6e6e6e"
GRID: Final = "#dcdcdc"
PAPER: Final = "#fefefe"
HATCH: Final = "#ececec"
GOOD: Final = "#008566"
BAD: Final = "#c44d00"
WARNING: Final = "#b34700"
SPAN: Final = "#f0e0c0"

VARIABLES: Final = {
    INK: "currentColor",
    MUTED: "var(--figure-muted, color-mix(in srgb, currentColor 72%, transparent))",
    GRID: "var(--figure-grid, #8884)",
    PAPER: "var(--figure-paper, transparent)",
    HATCH: "var(--figure-hatch, #8883)",
    GOOD: "var(--figure-good, #008566)",
    BAD: "var(--figure-bad, #d55e00)",
    WARNING: "var(--figure-warning, #d55e00)",
    SPAN: "var(--figure-span, #e69f0044)",
    **{color: f"var(--figure-{number}, {color})" for number, color in enumerate(SERIES, start=1)},
}
"""What a page may set → what stands for it where it does not."""

WIDTH: Final = 540.0
"""Of a drawing [pt]."""
PANEL: Final = 190.0
"""Height of the space between axes [pt]."""
TEXT: Final = 9.0
SMALL: Final = 8.0
TITLE: Final = 11.5

STYLE: Final[dict[str, object]] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "text.usetex": False,
    "axes.formatter.useoffset": False,
    "axes.unicode_minus": False,
    "font.family": "DejaVu Sans",
    "font.size": TEXT,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "hatch.linewidth": 0.6,
    "path.simplify": True,
}
"""For matplotlib; text stays text and `$` a dollar."""


def series_color(number: int) -> str:
    """Return the colour of a series; there are few, so they come again."""
    return SERIES[number % len(SERIES)]


def marker(number: int) -> str:
    """Return the marker of a series."""
    return MARKERS[number % len(MARKERS)]
