"""Frames per second against frame size, below what nothing can exceed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vsperf.figures.drawing import Axis, Drawing, Layer, Line, Look, Panel, Point, Scale
from vsperf.figures.evidence import Evidence, caption, evidence_of
from vsperf.figures.facts import Facts, trusted
from vsperf.figures.groups import Group, Traits, groups_of, traits_of
from vsperf.figures.plot import Options, Plot, Scope
from vsperf.figures.sizes import size_axis
from vsperf.record.result import SearchResult
from vsperf.store.view import CaseView
from vsperf.unit import Unit

CLOSE = 0.02
"""Caps of a generator that lie this close to each other are one."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What one case found, for one frame size."""

    traits: Traits
    size: float
    size_name: str
    fps: float | None
    low: float | None
    """Ends of the interval; None where there is none."""
    high: float | None
    open_ended: bool
    """Whether it is only known to be as high or higher."""
    line_rate_fps: float | None
    cap_fps: float | None
    evidence: Evidence


def gather(view: CaseView) -> tuple[Rate, ...]:
    """Return the main rate of a case; nothing where it was not asked for one."""
    facts = Facts(view)
    result = view.result
    if facts.size is None:
        return ()
    main = next(_rates(result), None) if result is not None else None
    if main is None and result is not None and not result.empty:
        return ()  # it answers something else
    why = _left_out(view, facts, main)
    measure, fps, low, high, open_ended = main or ("", None, None, None, False)
    return (
        Rate(
            traits=traits_of(view, measure=measure),
            size=float(facts.size.mean),
            size_name=facts.size_name,
            fps=None if why else fps,
            low=low,
            high=high,
            open_ended=open_ended,
            line_rate_fps=facts.line_rate_fps,
            cap_fps=facts.cap_fps,
            evidence=evidence_of(view, left_out=why),
        ),
    )


Main = tuple[str, float | None, float | None, float | None, bool]


def _rates(result: SearchResult) -> Iterator[Main]:
    """Yield what a case says of frames per second, the one that matters most first."""
    for goal in result.goals:
        value = goal.lower_fps if trusted(goal.flags) else None
        yield goal.goal, value, goal.lower_fps, goal.upper_fps, goal.upper_fps is None
    for figure in result.figures:
        if figure.unit is Unit.FPS:
            number = figure.lower if figure.open_ended else figure.value
            number = number if trusted(figure.flags) else None
            yield figure.name, number, figure.lower, figure.upper, figure.open_ended
    if len(result.loads) == 1:
        load = result.loads[0]
        yield "through at a fixed load", load.throughput_fps, None, None, False


def _left_out(view: CaseView, facts: Facts, main: Main | None) -> str:
    """Return why a case has no number to draw; empty if it has."""
    if view.record is None:
        return "not finished"
    if not facts.believed:
        return view.record.outcome.value
    return "no load passed" if main is None or main[1] is None else ""


def draw(samples: Sequence[Rate], options: Options) -> Drawing | None:
    """Draw one line for each switch or run, and the ceilings above them."""
    shown = [one for one in samples if one.fps is not None]
    if not shown:
        return None
    groups = groups_of(shown, by=options.by)
    layers: list[Layer] = [*_ceilings(groups)]
    layers += [_line(group, number) for number, group in enumerate(groups)]
    repeats = max(_most_repeats(group) for group in groups)
    open_ended = sum(one.open_ended for one in shown)
    return Drawing(
        title="Frames per second against frame size",
        caption=caption(
            [one.evidence for one in samples],
            _bars_mean(shown, repeats),
            _open_mean(open_ended),
        ),
        panels=(
            Panel(
                x=size_axis((one.size, one.size_name) for one in shown),
                y=Axis("throughput per direction", "fps", Scale.LINEAR, from_zero=True),
                layers=tuple(layers),
            ),
        ),
        simulated=any(one.evidence.simulated for one in shown),
    )


def _bars_mean(shown: Sequence[Rate], repeats: int) -> str:
    if repeats > 1:
        return f"Points are medians of up to {repeats} repeats; bars reach from least to greatest."
    if any(one.high is not None for one in shown):
        return "Points are the highest load that passed; bars reach to the lowest that failed."
    return ""


def _open_mean(count: int) -> str:
    """Say how many values are only lower ends; arrows would hide the points of small drawings."""
    verb = "is" if count == 1 else "are"
    return f"{count} of these {verb} only known to be as high or higher." if count else ""


def _line(group: Group, number: int) -> Line:
    points = []
    for size, members in sorted(_by_size(group.samples).items()):
        rates = [one.fps for one in members if one.fps is not None]
        alone = len(rates) == 1
        low, high = (members[0].low, members[0].high) if alone else (min(rates), max(rates))
        points.append(Point(size, statistics.median(rates), low, high))
    simulated = any(one.evidence.simulated for one in group.samples)
    return Line(group.name, tuple(points), simulated=simulated, color=number)


def _most_repeats(group: Group) -> int:
    return max(len(members) for members in _by_size(group.samples).values())


def _by_size(samples: Sequence[Rate]) -> dict[float, list[Rate]]:
    found: dict[float, list[Rate]] = {}
    for one in samples:
        found.setdefault(one.size, []).append(one)
    return found


def _ceilings(groups: Sequence[Group]) -> Iterator[Line]:
    """Yield the line rate once, and the cap of each generator that differs from the others."""
    every = [one for group in groups for one in group.samples]
    rates = {(one.size, one.line_rate_fps) for one in every if one.line_rate_fps is not None}
    for speed, points in _speeds(rates):
        yield Line(f"line rate{speed}", points, Look.CEILING, markers=False)
    drawn: list[dict[float, float]] = []
    for number, group in enumerate(groups):
        caps = {
            size: statistics.median([one.cap_fps for one in members if one.cap_fps is not None])
            for size, members in _by_size(group.samples).items()
            if any(one.cap_fps is not None for one in members)
        }
        if not caps or any(_same(caps, other) for other in drawn):
            continue
        drawn.append(caps)
        points = tuple(Point(size, cap) for size, cap in sorted(caps.items()))
        yield Line(
            f"cap of the generator, {group.name}", points, Look.CEILING, color=number, dash=1
        )


def _speeds(rates: set[tuple[float, float]]) -> Iterator[tuple[str, tuple[Point, ...]]]:
    """Yield a line for each speed of links, with its speed if there are several."""
    by_speed: dict[int, list[Point]] = {}
    for size, fps in sorted(rates):
        by_speed.setdefault(round(fps * (size + 20) * 8), []).append(Point(size, fps))
    for bps, points in by_speed.items():
        name = f" of {bps / 1e9:g} Gbit/s"
        yield name, tuple(points)


def _same(caps: dict[float, float], other: dict[float, float]) -> bool:
    return all(
        size in other and abs(cap - other[size]) <= CLOSE * other[size]
        for size, cap in caps.items()
    )


PLOT = Plot(
    name="throughput",
    title="frames per second against frame size, below line rate and cap of the generator",
    scope=Scope.CASES,
    gather=gather,
    draw=draw,
)
