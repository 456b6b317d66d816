"""What a case says of frames per second: the one number that plots of throughput share."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from vsperf.output.figures.drawing import Axis, Line, Point, Scale
from vsperf.output.figures.facts import Facts, trusted
from vsperf.output.figures.groups import Evidence, Group, Traits, evidence_of, traits_of
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView
from vsperf.records.result import SearchResult

FIXED = "through at a fixed load"
CLEAN = "in clean time"
CLEAN_MEANING = "Clean time is that in which nothing kept generator or switch from running."
RATE_AXIS = Axis("throughput per direction", "fps", Scale.LINEAR, from_zero=True)


@dataclass(frozen=True, slots=True)
class Rate:
    """What one case found."""

    traits: Traits
    id: str
    """Of the case; repeats have the same."""
    size: float
    size_name: str
    flows: int | None
    workers: int | None
    """Polling threads of the switch."""
    fps: float | None
    """None where there is no number that could be drawn; the evidence says why."""
    low: float | None
    """Ends of the interval; None where there is none."""
    high: float | None
    open_ended: bool
    """Whether it is only known to be as high or higher."""
    fixed: bool
    """Whether it is what came through at a load that was given, and nobody searched."""
    link_bps: int | None
    """Of the slowest link; None where one is no cable."""
    cap_fps: float | None
    evidence: Evidence
    target_fps: float | None = None
    """What it was asked to reach by a criterion; None where none asks for it."""
    clean: tuple[float, float | None] | None = None
    """Ends of the answer from clean time; None where there is none."""
    unit: Unit = Unit.FPS
    """Of all its numbers: frames in a second, or connections, packets or requests."""


def gather(view: CaseView, unit: Unit = Unit.FPS) -> tuple[Rate, ...]:
    """Return the main rate of a case; nothing where it was not asked for one in this unit."""
    facts = Facts(view)
    result = view.result
    if facts.size is None:
        return ()
    main = next(_rates(result, unit), None) if result is not None else None
    if main is None and result is not None and not result.empty:
        return ()  # it answers something else
    why = _left_out(facts, main)
    measure, fps, low, high, open_ended = main or ("", None, None, None, False)
    return (
        Rate(
            traits=traits_of(view, measure=measure),
            id=view.planned.id,
            size=float(facts.size.mean),
            size_name=facts.size_name,
            flows=view.asked.flows,
            workers=facts.workers,
            fps=None if why else fps,
            low=low,
            high=high,
            open_ended=open_ended,
            fixed=measure == FIXED,
            link_bps=facts.link_bps,
            cap_fps=facts.cap_fps,
            evidence=evidence_of(view, left_out=why),
            target_fps=facts.target_fps(measure),
            clean=None if why or result is None else _clean(result, measure),
            unit=unit,
        ),
    )


Main = tuple[str, float | None, float | None, float | None, bool]


def _rates(result: SearchResult, unit: Unit) -> Iterator[Main]:
    """Yield what a case says of a rate, the one that matters most first."""
    for figure in result.figures:
        if figure.unit is unit:
            number = figure.lower if figure.open_ended else figure.value
            number = number if trusted(figure.flags) else None
            yield figure.name, number, figure.lower, figure.upper, figure.open_ended
    for goal in result.goals:
        value = goal.lower_fps if trusted(goal.flags) else None
        yield goal.goal, value, goal.lower_fps, goal.upper_fps, goal.upper_fps is None
    if len(result.loads) == 1:
        load = result.loads[0]
        yield FIXED, load.throughput_fps, None, None, False


def _clean(result: SearchResult, measure: str) -> tuple[float, float | None] | None:
    goal = next((one for one in result.goals if one.goal == measure), None)
    clean = goal.clean if goal is not None else None
    if clean is None or clean.lower_fps is None or not trusted(clean.flags):
        return None
    return clean.lower_fps, clean.upper_fps


def missing(view: CaseView) -> str:
    """Return why a case that was asked for a rate has none to draw; empty if it has."""
    return next((one.evidence.left_out for one in gather(view)), "")


def _left_out(facts: Facts, main: Main | None) -> str:
    """Return why a case has no number to draw; empty if it has."""
    if facts.unbelieved:
        return facts.unbelieved
    if main is None:
        return "nothing found"
    if main[1] is None:
        return "no lower bound" if main[2] is None else "not to be believed, by its flags"
    return ""


def shown_of(samples: Iterable[Rate]) -> list[Rate]:
    """Return the rates to draw: those that were searched, or if there are none, the others."""
    known = [one for one in samples if one.fps is not None]
    return [one for one in known if not one.fixed] or known


def left_out(samples: Iterable[Rate]) -> list[Rate]:
    """Return the cases that have no number to draw."""
    return [one for one in samples if one.evidence.left_out]


def line_of(group: Group, number: int, place: Callable[[Rate], float]) -> Line:
    """Return one line of rates: repeats at a place are one point, their median."""
    points = []
    for at, members in sorted(by_place(group.samples, place).items()):
        rates = [one.fps for one in members if one.fps is not None]
        alone = len(rates) == 1
        low, high = (members[0].low, members[0].high) if alone else (min(rates), max(rates))
        points.append(Point(at, statistics.median(rates), low, high))
    simulated = any(one.evidence.simulated for one in group.samples)
    return Line(group.name, tuple(points), simulated=simulated, color=number)


def clean_lines(groups: Sequence[Group], place: Callable[[Rate], float]) -> Iterator[Line]:
    """Yield a broken line beside each of which clean time says something else."""
    for number, group in enumerate(groups):
        known = [(one, one.clean) for one in group.samples if one.clean is not None]
        if any(clean != (one.low, one.high) for one, clean in known):
            samples = tuple(replace(one, fps=low, low=low, high=high) for one, (low, high) in known)
            clean_group = Group(f"{group.name}, {CLEAN}", samples)
            yield replace(line_of(clean_group, number, place), dash=1)


def by_place(samples: Sequence[Rate], place: Callable[[Rate], float]) -> dict[float, list[Rate]]:
    """Return the samples of each place of an axis."""
    found: dict[float, list[Rate]] = {}
    for one in samples:
        found.setdefault(place(one), []).append(one)
    return found


def remarks(
    shown: Sequence[Rate], groups: Sequence[Group], place: Callable[[Rate], float]
) -> tuple[str, ...]:
    """Say what points and error bars mean, and which values are only lower ends."""
    repeats = max(
        len(members) for group in groups for members in by_place(group.samples, place).values()
    )
    bars = ""
    if repeats > 1:
        bars = f"Points are medians of up to {repeats} repeats; bars reach from least to greatest."
    elif any(one.high is not None for one in shown):
        bars = "Points are the highest load that passed; bars reach to the lowest that failed."
    count = sum(one.open_ended for one in shown)
    verb = "is" if count == 1 else "are"
    opened = f"{count} of these {verb} only known to be as high or higher." if count else ""
    return (bars, opened)
