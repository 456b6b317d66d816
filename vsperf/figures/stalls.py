"""When the machine stood still: stalls of the generator and silences of the path, over a case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from vsperf.figures.drawing import Axis, Drawing, Layer, Look, Panel, Point, Points, Scale, Spans
from vsperf.figures.evidence import Evidence, caption, evidence_of_trials
from vsperf.figures.plot import Options, Plot, Scope
from vsperf.record.trial import Purpose, Trial
from vsperf.store.view import CaseView

NS = 1e9
AWAY, SILENT, GAP = "generator kept from running", "path silent", "longest gap of a trial"
LOOKS = {AWAY: 0, SILENT: 1, GAP: 2}
MOST = 4000
"""Stalls that are drawn, the longest first."""


@dataclass(frozen=True, slots=True)
class Stalls:
    """All stalls of a case by what stood still: (time since its first trial, length) [ns]."""

    label: str
    found: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]
    events: tuple[tuple[str, float, float], ...]
    ends_ns: float
    evidence: Evidence


def gather(view: CaseView) -> tuple[Stalls, ...]:
    """Return the stalls of a case; nothing where nobody looked."""
    trials = [one for one in view.trials if one.purpose is not Purpose.PATH_CHECK]
    if not trials:
        return ()
    begins = [_moment(one.started_at) for one in trials]
    first = next((moment for moment in begins if moment is not None), None)
    if first is None:
        return ()
    found: dict[str, list[tuple[float, float]]] = {AWAY: [], SILENT: [], GAP: []}
    events: list[tuple[str, float, float]] = []
    looked, ends_ns = False, 0.0
    for trial, moment in zip(trials, begins, strict=True):
        if moment is None:
            continue
        at = (moment - first) * NS
        ends_ns = max(ends_ns, at + trial.elapsed_ns)
        looked = looked or trial.slots is not None or trial.generator is not None
        for kind, when, length in _stalls(trial):
            found[kind].append((at + when, length))
        if trial.event is not None:
            events.append((trial.event.name, at + trial.event.began_ns, at + trial.event.ended_ns))
    if not looked or not any(found.values()):
        return ()
    kept = {
        kind: tuple(sorted(sorted(ones, key=lambda one: -one[1])[:MOST]))
        for kind, ones in found.items()
    }
    evidence = evidence_of_trials(view, trials)
    return (Stalls(view.label, tuple(kept.items()), tuple(events), ends_ns, evidence),)


def _stalls(trial: Trial) -> Iterator[tuple[str, float, float]]:
    if trial.slots is not None:
        for slot in trial.slots.noted:
            when = slot.index * trial.slots.width_ns
            if slot.away_ns > 0:
                yield AWAY, when, slot.away_ns
            if slot.silent_ns > 0:
                yield SILENT, when, slot.silent_ns
    elif trial.generator is not None and trial.generator.longest_gap_ns > 0:
        yield GAP, trial.elapsed_ns / 2, trial.generator.longest_gap_ns


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def draw(samples: Sequence[Stalls], options: Options) -> Drawing | None:
    """Draw the length of each stall at its time."""
    (case,) = samples
    layers: list[Layer] = [
        Spans(name, tuple((begin, end) for one, begin, end in case.events if one == name))
        for name in dict.fromkeys(name for name, _, _ in case.events)
    ]
    layers += [
        Points(
            f"{kind} ({len(stalls)})",
            tuple(Point(when, length) for when, length in stalls),
            Look.SERIES,
            simulated=case.evidence.simulated,
            color=LOOKS[kind],
        )
        for kind, stalls in case.found
        if stalls
    ]
    return Drawing(
        title=f"Stalls over time, {case.label}",
        caption=caption(
            [case.evidence],
            "Where trials are counted in slots of time, a stall is one of more than 100 µs within "
            "a slot; of other trials only the longest gap of the generator is known.",
        ),
        panels=(
            Panel(
                x=Axis("time since the first trial began", "ns", Scale.LINEAR, from_zero=True),
                y=Axis("length of the stall", "ns", Scale.LOG),
                layers=tuple(layers),
            ),
        ),
        simulated=case.evidence.simulated,
    )


PLOT = Plot(
    name="stalls",
    title="time line of a case's stalls: generator kept from running, path silent",
    scope=Scope.CASE,
    gather=gather,
    draw=draw,
)
