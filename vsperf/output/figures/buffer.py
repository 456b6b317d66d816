"""What back-to-back frames say of the buffer: its time against frame size, and run by run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from vsperf.output.figures.drawing import (
    Axis,
    Bars,
    Drawing,
    Layer,
    Line,
    Panel,
    Point,
    Scale,
    Tick,
)
from vsperf.output.figures.facts import Facts, trusted
from vsperf.output.figures.groups import (
    Evidence,
    Traits,
    drawn,
    evidence_of,
    groups_of,
    medians,
    most_of,
    size_axis,
    traits_of,
)
from vsperf.output.figures.plot import Options, Plot
from vsperf.output.figures.published import beside
from vsperf.records.files.view import CaseView

CORRECTED, IMPLIED = "buffer_time", "implied_buffer_time"
SLOW = "_slow_bursts"
NAMES = {
    CORRECTED: "corrected for frames forwarded meanwhile",
    IMPLIED: "as if none were forwarded",
    f"{CORRECTED}{SLOW}": "by bursts below the line rate, corrected",
    f"{IMPLIED}{SLOW}": "by bursts below the line rate, as if none were forwarded",
}
MOST_GROUPS = 4
MOST_RUNS = 40
TIME = Axis("time that the buffer holds", "ns", Scale.LINEAR, from_zero=True)


@dataclass(frozen=True, slots=True)
class Buffer:
    """What one case found."""

    traits: Traits
    run: str
    started_at: str
    size: float
    size_name: str
    times_ns: tuple[tuple[str, float], ...]
    bound: bool
    """Whether what ended the bursts was not the switch."""
    evidence: Evidence


def gather(view: CaseView) -> tuple[Buffer, ...]:
    """Return the buffer times of a case; nothing of other methods."""
    facts = Facts(view)
    if facts.size is None or not facts.believed or view.result is None:
        return ()
    found = [
        one
        for one in view.result.figures
        if one.name in NAMES and one.value is not None and trusted(one.flags)
    ]
    if not found:
        return ()
    return (
        Buffer(
            traits_of(view),
            view.run,
            view.header.started_at,
            float(facts.size.mean),
            facts.size_name,
            tuple((one.name, one.value) for one in found if one.value is not None),
            any(one.open_ended for one in found),
            evidence_of(view),
        ),
    )


def draw(samples: Sequence[Buffer], options: Options) -> Drawing | None:
    """Draw bars for each frame size: with the correction of RFC 9004, and without it."""
    if not samples:
        return None
    groups, more = most_of(groups_of(samples, by=options.by, without=("size",)), MOST_GROUPS)
    shown = [one for group in groups for one in group.samples]
    if not any(ns for one in shown for _, ns in one.times_ns):
        return None  # there is no buffer to speak of
    layers: list[Layer] = []
    for name, words in NAMES.items():
        for group in groups:
            times = ((one.size, dict(one.times_ns).get(name)) for one in group.samples)
            points = tuple(medians(times))
            label = words if len(groups) == 1 else f"{group.name}, {words}"
            simulated = any(one.evidence.simulated for one in group.samples)
            if points:
                layers.append(Bars(label, points, simulated=simulated, color=len(layers)))
    published = beside(options.beside, "buffer")
    layers += published.bars(len(layers))
    sizes = [(one.size, one.size_name) for one in shown]
    sizes += [(point.x, f"{point.x:g}B") for bar in published.bars(0) for point in bar.points]
    bounds = sum(one.bound for one in shown)
    return drawn(
        "Buffer time by back-to-back frames",
        [one.evidence for one in shown],
        (Panel(size_axis(sizes), TIME, tuple(layers)),),
        _lower_ends(bounds),
        "Bars of several repeats are their medians; error bars reach from least to greatest."
        if _repeated(shown)
        else "",
        more,
        published.source,
    )


def _lower_ends(bounds: int) -> str:
    """Say how many of the times may be longer; nothing where none may."""
    if not bounds:
        return ""
    are = "is a lower end" if bounds == 1 else "are lower ends"
    return f"{bounds} of these {are}: not the switch ended the bursts."


def _repeated(samples: Sequence[Buffer]) -> bool:
    places = [(one.size, one.run) for one in samples]
    return len(set(places)) < len(places)


def _has(one: Buffer, names: Sequence[str]) -> bool:
    return any(name in names for name, _ in one.times_ns)


def draw_runs(samples: Sequence[Buffer], options: Options) -> Drawing | None:
    """Draw the corrected buffer time run by run, a line for each frame size."""
    every = sorted({(one.started_at, one.run) for one in samples})
    if len(every) < 2:
        return None
    runs = [run for _, run in every[-MOST_RUNS:]]
    corrected = (CORRECTED, f"{CORRECTED}{SLOW}")
    last = [one for one in samples if one.run in runs and _has(one, corrected)]
    groups, more = most_of(groups_of(last, by=options.by, without=("run", "testcase")))
    shown = [one for group in groups for one in group.samples]
    if not shown:
        return None
    layers = list[Layer]()
    for group, name in product(groups, corrected):
        times: dict[int, list[float]] = {}
        for one in group.samples:
            for ns in (ns for known, ns in one.times_ns if known == name):
                times.setdefault(runs.index(one.run), []).append(ns)
        points = tuple(Point(at, statistics.median(ns)) for at, ns in sorted(times.items()))
        simulated = any(one.evidence.simulated for one in group.samples)
        label = group.name if name == CORRECTED else f"{group.name}, bursts below the line rate"
        if points:
            layers.append(Line(label, points, simulated=simulated, color=len(layers)))
    ticks = tuple(Tick(place, f"{run[:10]} {run[-4:]}") for place, run in enumerate(runs))
    return drawn(
        "Buffer time by back-to-back frames, run by run",
        [one.evidence for one in shown],
        (Panel(Axis("run", "", Scale.NAMES, ticks=ticks), TIME, tuple(layers)),),
        "Corrected for frames that are forwarded while the burst arrives.",
        "Points are medians of repeats." if _repeated(shown) else "",
        f"The last {MOST_RUNS} of {len(every)} runs." if len(every) > MOST_RUNS else "",
        more,
    )


PLOT = Plot(
    name="buffer",
    title="buffer time by back-to-back frames against frame size",
    needs="two frame sizes of a case of the method back2back: `phy2phy_back2back`",
    gather=gather,
    draw=draw,
)
RUNS = Plot(
    name="buffer-runs",
    title="buffer time by back-to-back frames, run by run",
    needs="two runs or repeats of a case of the method back2back: `phy2phy_back2back`",
    gather=gather,
    draw=draw_runs,
)
