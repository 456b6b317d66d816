"""What a figure shows, as data: axes with units, layers of points, and what is said below.

A drawing knows nothing of pixels, colours or formats, so tests compare drawings, `--data` prints
them, and `render` is the only place that paints. Numbers are in base units (fps, ns, a share of
one); the renderer finds the prefix.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

Number = float | int


class Scale(enum.StrEnum):
    """How an axis runs."""

    LINEAR = "linear"
    LOG = "log"
    LOG_ZERO = "log-zero"
    """Logarithmic, with a place for 0 below all others."""
    NINES = "nines"
    """Of shares below one: 0.9, 0.99 and 0.999 are equally far apart."""
    NAMES = "names"
    """One place for each tick, equally far apart, whatever their values are."""


class Look(enum.StrEnum):
    """What a layer is, for those who see the drawing; the renderer decides on the rest."""

    SERIES = "series"
    """Measured; each has a colour and a marker of its own."""
    CEILING = "ceiling"
    """What nothing can exceed, such as the line rate; a broken line without markers."""
    TARGET = "target"
    """What was asked for; a bar over each place."""
    GOOD = "good"
    """Trials that passed."""
    BAD = "bad"
    """Trials that failed."""
    NEUTRAL = "neutral"
    """Trials that decide nothing."""
    DOUBTED = "doubted"
    """Trials that nobody may build on; hollow."""
    PUBLISHED = "published"
    """Somebody else's numbers: hollow markers, hatched bars, and the source in the name."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis, and what is written there."""

    at: float
    name: str


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a panel."""

    label: str
    """What is counted, such as `throughput per direction`."""
    unit: str = ""
    """Such as `fps`, `ns`, `%`; empty of names and pure numbers."""
    scale: Scale = Scale.LINEAR
    from_zero: bool = False
    ticks: tuple[Tick, ...] = ()
    """Where something is to be written; empty where the renderer may choose."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value, and the ends of its error bar."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


def stretches(points: Iterable[Point | None]) -> Iterator[tuple[Point, ...]]:
    """Yield points that lie side by side, so that no line leads over one that is not known."""
    for known, together in groupby(points, key=lambda point: point is not None):
        if known:
            yield tuple(point for point in together if point is not None)


@dataclass(frozen=True, slots=True)
class _OfPoints:
    """What layers of points have in common."""

    name: str
    points: tuple[Point, ...]
    look: Look = Look.SERIES
    simulated: bool = False
    color: int | None = None
    """Shared by layers that belong together; the renderer takes the next one otherwise."""


@dataclass(frozen=True, slots=True)
class Line(_OfPoints):
    """Points in order, joined."""

    dash: int = 0
    """Tells lines of one colour apart: 0 is whole."""
    steps: bool = False
    markers: bool = True


@dataclass(frozen=True, slots=True)
class Points(_OfPoints):
    """Points on their own."""


@dataclass(frozen=True, slots=True)
class Bars(_OfPoints):
    """A bar for each point; bars of several layers stand beside each other, or on each other."""

    stacked: bool = False


STACKED = "Parts stand on each other in the order of the legend, the first one at the bottom."
"""What a caption says of bars that stand on each other: their colours alone tell nobody enough."""


@dataclass(frozen=True, slots=True)
class Intervals(_OfPoints):
    """From `low` to `high` of each point: the value lies in between; None where it is open."""


@dataclass(frozen=True, slots=True)
class Boxes(_OfPoints):
    """All values at one place: each drawn as a point, and their quartiles as a box."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Stretches of the x axis in which something went on, such as an event."""

    name: str
    spans: tuple[tuple[float, float], ...]
    look: Look = Look.NEUTRAL
    simulated: bool = False


Layer = Line | Points | Bars | Intervals | Boxes | Spans


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes with what is drawn between them."""

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a diagram, on a grid of columns and rows."""

    key: str
    """Unique within the diagram."""
    title: str
    kind: str
    """generator, switch or VNF."""
    column: int
    row: int
    rows: int = 1
    """How many rows it spans."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one node of a diagram to the next one in a row, and back."""

    begin: str
    end: str
    row: int
    both: bool
    """Whether frames go both ways; backwards alone is never drawn."""
    above: str = ""
    below: str = ""


@dataclass(frozen=True, slots=True)
class Diagram:
    """Parts and the ways between them; it has no axes."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure."""

    title: str
    caption: str
    """What it rests on: how many, how long, what error bars are."""
    panels: tuple[Panel, ...] = ()
    diagram: Diagram | None = None
    simulated: bool = False
    """Whether any of its numbers come from a model; the renderer says so in large letters."""

    @property
    def layers(self) -> Iterator[Layer]:
        return (layer for panel in self.panels for layer in panel.layers)
