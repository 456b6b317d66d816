"""When the machine stood still: stalls of the generator and silences of the path, over a case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress

from vsperf.output.figures.drawing import (
    Axis,
    Drawing,
    Layer,
    Look,
    Panel,
    Point,
    Points,
    Scale,
    Spans,
)
from vsperf.output.figures.groups import Evidence, drawn, evidence_of_trials
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.records.files.view import CaseView
from vsperf.records.trial import Purpose

# What was done to the switch while frames were sent, as stretches of a drawing's time.

Happened = tuple[str, float, float]
"""The name of an event, its begin and its end."""


def moment_s(text: str) -> float | None:
    """Return a time of a record in seconds since 1970; None for one that is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def spans_of(events: Iterable[Happened], *, simulated: bool = False) -> list[Spans]:
    """Return events as layers, one for each name, in the order in which they came."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, begin, end in events:
        found.setdefault(name, []).append((begin, end))
    return [Spans(name, tuple(times), simulated=simulated) for name, times in found.items()]


NS = 1e9
AWAY, SILENT, GAP = "generator kept from running", "path silent", "longest gap of a trial"
LOOKS = {AWAY: 0, SILENT: 1, GAP: 2}
FILLS = 0.9
"""A stall of so much of a slot goes on beyond it, if there is one in the next."""
Stall = tuple[float, float]
"""When it began, since the first trial did, and how long it was [ns]."""
PARTS = 150
"""Of a case's time: the eye tells no more apart, and a page of many cases has to be small."""


@dataclass(frozen=True, slots=True)
class Stalls:
    """The stalls of a case that are drawn, by what stood still."""

    label: str
    found: tuple[tuple[str, int, tuple[Stall, ...]], ...]
    """What stood still, how often, and of each part of the time the longest stall."""
    events: tuple[Happened, ...]
    evidence: Evidence


def gather(view: CaseView) -> tuple[Stalls, ...]:
    """Return the stalls of a case; nothing where nobody looked."""
    trials = [one for one in view.standing_trials if one.purpose is not Purpose.PATH_CHECK]
    if not trials:
        return ()
    begins = [moment_s(one.started_at) for one in trials]
    first = next((moment for moment in begins if moment is not None), None)
    if first is None:
        return ()
    found: dict[str, list[Stall]] = {AWAY: [], SILENT: [], GAP: []}
    events: list[Happened] = []
    looked, ends_ns = False, 0.0
    for trial, moment in zip(trials, begins, strict=True):
        if moment is None:
            continue
        at = (moment - first) * NS
        ends_ns = max(ends_ns, at + trial.elapsed_ns)
        looked = looked or trial.slots is not None or trial.generator is not None
        if trial.slots is not None:
            width, noted = trial.slots.width_ns, trial.slots.columns
            for kind, lengths in ((AWAY, noted.away_ns), (SILENT, noted.silent_ns)):
                stalls = compress(zip(noted.index, lengths, strict=True), lengths)
                found[kind] += [(at + ns, length) for ns, length in _joined(stalls, width)]
        elif trial.generator is not None and trial.generator.longest_gap_ns:
            found[GAP].append((at + trial.elapsed_ns / 2, trial.generator.longest_gap_ns))
        if trial.event is not None:
            events.append((trial.event.name, at + trial.event.began_ns, at + trial.event.ended_ns))
    if not looked or not any(found.values()):
        return ()
    kept = tuple((kind, len(ones), _longest(ones, ends_ns)) for kind, ones in found.items())
    return (Stalls(view.label, kept, tuple(events), evidence_of_trials(view, trials)),)


def _joined(stalls: Iterable[tuple[int, int]], width_ns: int) -> Iterator[Stall]:
    """Yield the stalls of a trial by when they began; one that fills slots goes on into the next.

    Counted by slots, none would be longer than one.
    """
    begun, length, last, before = 0, 0, -2, 0
    for index, ns in stalls:
        if length and index == last + 1 and max(ns, before) >= FILLS * width_ns:
            length += ns
        else:
            if length:
                yield begun * width_ns, length
            begun, length = index, ns
        last, before = index, ns
    if length:
        yield begun * width_ns, length


def _longest(stalls: Sequence[Stall], ends_ns: float) -> tuple[Stall, ...]:
    """Return the longest stall of each part of the time; all of them where there are few."""
    if len(stalls) <= PARTS:
        return tuple(sorted(stalls))
    longest: dict[int, Stall] = {}
    for stall in stalls:
        part = int(stall[0] / ends_ns * PARTS) if ends_ns else 0
        if part not in longest or stall[1] > longest[part][1]:
            longest[part] = stall
    return tuple(sorted(longest.values()))


def draw(samples: Sequence[Stalls], options: Options) -> Drawing | None:
    """Draw the length of each stall at its time."""
    (case,) = samples
    layers: list[Layer] = [*spans_of(case.events)]
    layers += [
        Points(
            f"{kind} ({count})",
            tuple(Point(when, length) for when, length in stalls),
            Look.SERIES,
            simulated=case.evidence.simulated,
            color=LOOKS[kind],
        )
        for kind, count, stalls in case.found
        if stalls
    ]
    return drawn(
        f"Stalls over time, {case.label}",
        [case.evidence],
        (
            Panel(
                Axis("time since the first trial began", "ns", Scale.LINEAR, from_zero=True),
                Axis("length of the stall", "ns", Scale.LOG),
                tuple(layers),
            ),
        ),
        "Where trials are counted in slots of time, a stall is one of more than 100 µs, as "
        "long as it fills slots in a row; of other trials only the longest gap of the "
        "generator is known.",
        _thinned(case),
    )


def _thinned(case: Stalls) -> str:
    """Say how many stalls are drawn of how many, where that is not all of them."""
    fewer = [
        f"{len(stalls)} of {count} of {kind}"
        for kind, count, stalls in case.found
        if count > len(stalls)
    ]
    whose = f": {', '.join(fewer)}" if fewer else ""
    return f"Of each {PARTS}th of the time the longest is drawn{whose}." if fewer else ""


PLOT = Plot(
    name="stalls",
    title="time line of a case's stalls: generator kept from running, path silent",
    needs="trials by tgen on a machine that kept generator or path from running",
    scope=Scope.CASE,
    gather=gather,
    draw=draw,
)
