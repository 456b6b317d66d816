"""The seconds of long trials: what arrived, what was lost, latency, and what stood still when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from vsperf.output.figures.drawing import Axis, Drawing, Layer, Line, Panel, Point, Scale, stretches
from vsperf.output.figures.groups import Evidence, drawn
from vsperf.output.figures.latency_case import latency_axis
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.output.figures.stalls import Happened, spans_of
from vsperf.quantities.human import human_count
from vsperf.records.files.view import CaseView
from vsperf.records.trial import DirectionSample, Purpose, Second

MOST_POINTS = 300
"""Of a line; more seconds are put together."""
NS = 1e9


@dataclass(slots=True)
class Stretch:
    """One second, or several that follow each other."""

    begin_ns: int
    end_ns: int
    received: dict[str, int] = field(default_factory=dict)
    lost: int | None = None
    refused: int | None = None
    p50_ns: int | None = None
    p99_ns: int | None = None
    kept_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """A case, second by second."""

    label: str
    stretches: tuple[Stretch, ...]
    seconds: int
    size: int
    """So many of them at most make a point."""
    events: tuple[Happened, ...]
    """What it was, when it began and when it ended [ns]."""
    evidence: Evidence


def gather(view: CaseView) -> tuple[Course, ...]:
    """Return the seconds of a case; nothing where none were recorded."""
    if len(view.seconds) < 2:
        return ()
    size = -(-len(view.seconds) // MOST_POINTS)
    stretches, count = _stretches(view.seconds, size)
    long = [one for one in view.standing_trials if one.purpose is not Purpose.PATH_CHECK]
    return (
        Course(
            view.label,
            tuple(stretches),
            count,
            size,
            tuple(_events(view)),
            Evidence(
                view.run,
                trials=max(1, len(long)),
                shortest_ns=min((one.duration_ns for one in long), default=None),
                longest_ns=max((one.duration_ns for one in long), default=None),
                simulated=view.simulated,
            ),
        ),
    )


def _stretches(seconds: Iterable[Second], size: int) -> tuple[list[Stretch], int]:
    """Return points of so many seconds, and how many seconds these are; counters turn into growth.

    A trial that was repeated counts from 0 again: of several, the last one is what the answer is
    of, and no line may lead from one to the other.
    """
    found: list[Stretch] = []
    before: dict[str, DirectionSample] = {}
    count = 0
    for second in seconds:
        if found and second.sample.elapsed_ns <= found[-1].end_ns:
            found, before, count = [], {}, 0
        if count % size == 0:
            began = found[-1].end_ns if found else 0
            found.append(Stretch(began, began))
        _add(found[-1], second, before)
        found[-1].end_ns = second.sample.elapsed_ns
        count += 1
    return found, count


def _add(stretch: Stretch, second: Second, before: dict[str, DirectionSample]) -> None:
    for way in second.sample.directions:
        then = before.get(way.name)
        grown = way.received_frames - (then.received_frames if then else 0)
        stretch.received[way.name] = stretch.received.get(way.name, 0) + grown
        if way.lost_frames is not None:
            known = (then and then.lost_frames) or 0
            stretch.lost = (stretch.lost or 0) + way.lost_frames - known
        if way.refused_frames is not None:
            known = (then and then.refused_frames) or 0
            stretch.refused = (stretch.refused or 0) + way.refused_frames - known
        before[way.name] = way
        if way.latency is not None:
            stretch.p50_ns = max(stretch.p50_ns or 0, way.latency.p50_ns)
            stretch.p99_ns = max(stretch.p99_ns or 0, way.latency.p99_ns)
    if second.threads:
        kept = sum(thread.kept_ns for thread in second.threads)
        stretch.kept_ns = (stretch.kept_ns or 0) + kept


def _events(view: CaseView) -> Iterator[Happened]:
    """Yield what was done to the switch, and when a soak found frames lost."""
    for trial in view.standing_trials:
        if trial.event is not None:
            yield trial.event.name, trial.event.began_ns, trial.event.ended_ns
    for curve in view.result.curves if view.result is not None else ():
        names = [column.name for column in curve.columns]
        if curve.name == "losses" and "for" in names:
            for point in curve.points:
                begin, length = point[0] or 0.0, point[1 + names.index("for")] or 0.0
                yield "frames lost", begin, begin + length


def draw(samples: Sequence[Course], options: Options) -> Drawing | None:
    """Draw a panel for each thing that was counted, with what happened as stretches of time."""
    (course,) = samples
    panels = [
        _panel(course, _received(course), RECEIVED),
        _panel(course, _missed(course), LOST),
        _panel(course, _latency(course), None),
        _panel(course, _one(course, "kept from running", _kept), KEPT),
    ]
    return drawn(
        f"Second by second, {course.label}",
        [course.evidence],
        tuple(panel for panel in panels if panel is not None),
        f"{human_count(course.seconds)} samples, one about each second"
        + (f", {course.size} to a point." if course.size > 1 else "."),
        "Latency is that of the worse direction. What a port did not take it may take later.",
    )


RECEIVED = Axis("received", "fps", Scale.LINEAR, from_zero=True)
LOST = Axis("missed in a second", "frames", Scale.LINEAR, from_zero=True)
KEPT = Axis("kept from running in a second", "ns", Scale.LINEAR, from_zero=True)
Value = Callable[[Stretch], float | None]


def _panel(course: Course, lines: Sequence[Line], y: Axis | None) -> Panel | None:
    if not lines:
        return None
    every = [point.y for line in lines for point in line.points]
    layers: list[Layer] = [*spans_of(course.events, simulated=course.evidence.simulated)]
    x = Axis("time since the trial began", "ns", Scale.LINEAR, from_zero=True)
    return Panel(x=x, y=y or latency_axis(every), layers=(*layers, *lines))


def _received(course: Course) -> list[Line]:
    names = dict.fromkeys(name for one in course.stretches for name in one.received)
    return [
        Line(
            name,
            tuple(
                Point(_middle(one), one.received[name] / _seconds(one))
                for one in course.stretches
                if name in one.received
            ),
            simulated=course.evidence.simulated,
            markers=False,
            color=number,
            dash=number,
        )
        for number, name in enumerate(names)
    ]


def _latency(course: Course) -> list[Line]:
    return [
        *_one(course, "latency p50", lambda one: one.p50_ns),
        *(
            replace(line, color=1, dash=1)
            for line in _one(course, "latency p99", lambda o: o.p99_ns)
        ),
    ]


def _missed(course: Course) -> list[Line]:
    """Return what was lost and what the port did not take; nothing if that was nowhere anything."""
    refused = [
        replace(one, color=1, dash=1) for one in _one(course, "refused by the port", _refused)
    ]
    lines = [*_one(course, "lost on the way", _lost), *refused]
    return lines if any(point.y for line in lines for point in line.points) else []


def _one(course: Course, name: str, value: Value) -> list[Line]:
    """Return a line for each stretch of time in which a value is known: none in an outage."""
    found = ((one, value(one)) for one in course.stretches)
    told = (None if number is None else Point(_middle(one), number) for one, number in found)
    simulated = course.evidence.simulated
    return [
        Line(name, points, simulated=simulated, markers=len(points) == 1, color=0)
        for points in stretches(told)
    ]


def _lost(one: Stretch) -> float | None:
    return None if one.lost is None else one.lost / _seconds(one)


def _refused(one: Stretch) -> float | None:
    return None if one.refused is None else one.refused / _seconds(one)


def _kept(one: Stretch) -> float | None:
    return None if one.kept_ns is None else one.kept_ns / _seconds(one)


def _seconds(one: Stretch) -> float:
    return max(1, one.end_ns - one.begin_ns) / NS


def _middle(one: Stretch) -> float:
    return (one.begin_ns + one.end_ns) / 2


PLOT = Plot(
    name="seconds",
    title="second by second in long trials: received, lost, latency, kept from running, events",
    needs="trials of 10 s or more, of which each second is kept, such as `phy2phy_soak`",
    scope=Scope.CASE,
    gather=gather,
    draw=draw,
    rank=4,
)
