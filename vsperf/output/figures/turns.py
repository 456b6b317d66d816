"""Switches that took turns: how each stands to the first, round by round, and how turns begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vsperf.output.figures.drawing import (
    Axis,
    Drawing,
    Line,
    Look,
    Panel,
    Point,
    Points,
    Scale,
    Tick,
)
from vsperf.output.figures.groups import Evidence, drawn, evidence_of, not_drawn
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.records.files.view import CaseView
from vsperf.records.turn_guard import Guard, guard_of
from vsperf.records.turn_ratios import Compared, compared, metrics_of
from vsperf.records.turns import CONTROL, FIRST, Metric, Named, Terms, answering

MOST = 40
"""Rounds that one panel has room for."""
ALL = "all"
OF = {
    Metric.RATE: "rate",
    Metric.LATENCY: "median latency",
    Metric.P99: "99th percentile of latency",
    Metric.LOSS: "frames brought through",
}
"""What a panel shows of each side."""


@dataclass(frozen=True, slots=True)
class InTurns:
    """What the rounds of a case say."""

    label: str
    first: Named
    rounds: tuple[int, ...]
    """Indexes of those that an answer is made of, in order."""
    sides: tuple[tuple[Named, Compared], ...]
    """Each but the first, the control before all others; once for each metric that is told."""
    guard: Guard | None
    evidence: Evidence
    full_rings: bool = False


def gather(view: CaseView) -> tuple[InTurns, ...]:
    """Return what rounds of a case say; nothing of a case without any that do."""
    if not (rounds := answering(view.rounds)):
        return ()
    terms = Terms.of(view.asked.section("search"))
    first, *others = rounds[0].sides
    found = (
        (side, told)
        for metric in metrics_of(rounds, terms)
        for side in sorted(others, key=lambda side: side.letter != CONTROL)
        if (told := compared(rounds, side.letter, terms=terms, metric=metric)) is not None
    )
    indexes = tuple(one.index for one in rounds)
    guard, evidence = guard_of(rounds, terms), evidence_of(view)
    full = terms.full_rings
    made = InTurns(view.label, first, indexes, tuple(found), guard, evidence, full_rings=full)
    return (made,) if made.sides else ()


def draw(samples: Sequence[InTurns], options: Options) -> Drawing | None:
    """Draw ratios by round with the answer behind them, and the begin of turns beside the rest."""
    (case,) = samples
    control = any(side.letter == CONTROL for side, _ in case.sides)
    return drawn(
        f"Switches in turns, {case.label}",
        [case.evidence],
        tuple(_panels(case)),
        f"Each as a share of what {case.first.named} came to in neighbouring turns. Bars of a "
        "round are its own interval at 95 %; behind them stands the answer, with its own over "
        "rounds (95 %, all looks together).",
        "Rings were filled while switches stood, and emptied by them." if case.full_rings else "",
        f"{CONTROL} is {FIRST} deployed once more: it is to hold 100 %." if control else "",
        "Everything was made anew for each round.",
        not_drawn(len(case.rounds) - MOST, "round"),
        f"The {case.guard.text}." if case.guard is not None else "",
    )


def _panels(case: InTurns) -> Iterator[Panel]:
    simulated = case.evidence.simulated
    letters = dict.fromkeys((case.first.letter, *(side.letter for side, _ in case.sides)))
    colors = {letter: color for color, letter in enumerate(letters)}
    places = {index: place for place, index in enumerate(case.rounds[:MOST])}
    ticks = [Tick(place, str(place + 1)) for place in places.values()]
    last = Tick(len(ticks), ALL)
    even = tuple(Point(place, 1.0) for place in range(len(ticks) + 1))
    for metric in dict.fromkeys(told.metric for _, told in case.sides):
        layers = (
            Points(side.named, points, simulated=simulated, color=colors[side.letter])
            for side, told in case.sides
            if told.metric is metric and (points := _points(told, places, last.at))
        )
        yield Panel(
            x=Axis("round", "", Scale.NAMES, ticks=(*ticks, last)),
            y=Axis(f"{OF[metric]} as a share of that of {case.first.letter}", "%"),
            layers=(Line("no change", even, Look.CEILING, markers=False), *layers),
            title="each round, and all of them",
        )
    if case.guard is not None:
        yield _begins(case.guard, colors, simulated=simulated)


def _points(told: Compared, places: dict[int, int], last: float) -> tuple[Point, ...]:
    """Return the ratio of each round, and behind them the answer, as far as there is one."""
    rounds = [
        Point(places[one.index], one.ratio, one.lower, one.upper)
        for one in told.rounds
        if one.index in places
    ]
    if not told.decided:
        return tuple(rounds)
    lower, upper = told.ends
    return (*rounds, Point(last, told.ratio, lower or None, upper))


def _begins(guard: Guard, colors: Mapping[str, int], *, simulated: bool) -> Panel:
    """Draw the slots behind the guard, each at its middle, as shares of the rest of a turn."""
    longest_ns = max(one.slots[-1].until_ns for one in guard.begins)
    ends = (Point(0, 1.0), Point(longest_ns, 1.0))
    lines = (
        Line(
            one.side.named,
            tuple(
                Point(slot.until_ns - slot.length_ns / 2, slot.ratio, slot.lower, slot.upper)
                for slot in one.slots
            ),
            simulated=simulated,
            color=colors.get(one.side.letter),
        )
        for one in guard.begins
    )
    return Panel(
        x=Axis("time since the guard", "ns", from_zero=True),
        y=Axis("rate as a share of the rest of a turn", "%"),
        layers=(Line("the rest of a turn", ends, Look.CEILING, markers=False), *lines),
        title="how turns begin",
    )


PLOT = Plot(
    name="turns",
    title="switches in turns: each beside the first, by round and in all, and how turns begin",
    needs="a case whose switches take turns: `vsperf run phy2phy_paired`",
    scope=Scope.CASE,
    gather=gather,
    draw=draw,
)
