"""The latencies of one case: percentiles on an axis of nines, and against load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vsperf.errors import StoreError
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
    stretches,
)
from vsperf.output.figures.facts import TARGET, Facts, LatencyTarget
from vsperf.output.figures.groups import MOST, Evidence, Traits, drawn, not_drawn, traits_of
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.quantities.human import human_count, human_fps
from vsperf.records.files.view import CaseView
from vsperf.records.histogram import merge, percentiles_ns, summary
from vsperf.records.result import latency_trials
from vsperf.records.trial import Trial

# The latencies of a case, at each load that it measured them at.

SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
"""Of the frames: those whose latency is printed."""
STEPS = 10
"""Points of a curve between one nine and the next."""
MOST_NINES = 7
TOLD = "Latencies of all directions together, each from when its frame left the generator."
WIDE = 20
"""Latencies that differ by more than this are drawn on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Latency:
    """What all frames of the trials at one load had, directions together."""

    reference: str
    """What the load is a share of, such as `50% of ndr`."""
    load_fps: int
    lost_frames: int
    """In these trials: where there are any, these are the latencies of those that arrived."""
    durations_ns: tuple[int, ...]
    """Of the trials."""
    frames: int
    minimum_ns: float
    mean_ns: float
    maximum_ns: float
    curve: tuple[tuple[float, float], ...]
    """Share of the frames → the latency that they did not exceed; only as far as there are
    frames enough."""

    def at(self, share: float) -> float | None:
        """Return the latency that a share of the frames did not exceed; None of too few frames."""
        return next((ns for found, ns in self.curve if abs(found - share) < 1e-12), None)


@dataclass(frozen=True, slots=True)
class Case:
    """All latencies of one case."""

    label: str
    traits: Traits
    size: float | None
    size_name: str
    believed: bool
    """Whether its numbers may stand beside those of others."""
    latencies: tuple[Latency, ...]
    evidence: Evidence
    targets: tuple[LatencyTarget, ...] = ()


def gather(view: CaseView) -> tuple[Case, ...]:
    """Return the latencies of a case; nothing where none was measured."""
    found = latencies(latency_trials(view.standing_trials, view.result))
    if not found:
        return ()
    facts = Facts(view)
    durations = [ns for one in found for ns in one.durations_ns]
    return (
        Case(
            label=view.label,
            traits=traits_of(view),
            size=float(facts.size.mean) if facts.size is not None else None,
            size_name=facts.size_name,
            believed=facts.believed,
            latencies=found,
            evidence=Evidence(
                view.run,
                trials=len(durations),
                shortest_ns=min(durations),
                longest_ns=max(durations),
                simulated=view.simulated,
            ),
            targets=facts.latency_targets,
        ),
    )


def latencies(trials: Sequence[Trial]) -> tuple[Latency, ...]:
    """Return the latencies of trials by the load they were measured at, the least first."""
    found: dict[tuple[str, int], list[Trial]] = {}
    for trial in trials:
        reference = (trial.reference or "").partition(",")[0]
        found.setdefault((reference, trial.load_fps), []).append(trial)
    every = (_latency(*place, members) for place, members in found.items())
    return tuple(sorted((one for one in every if one), key=lambda one: one.load_fps))


def _latency(reference: str, load_fps: int, trials: Sequence[Trial]) -> Latency | None:
    try:
        merged = merge(way.latency_histogram for one in trials for way in one.directions)
        whole = summary(merged)
        if merged is None or whole is None:
            return None
        shares = list(_shares(whole.count))
        found = percentiles_ns(merged, [100 * share for share in shares])
    except StoreError:
        return None  # a damaged histogram is nobody's latency
    curve = tuple((share, float(ns)) for share, ns in zip(shares, found.values(), strict=True))
    return Latency(
        reference=reference,
        load_fps=load_fps,
        lost_frames=sum(one.lost_frames for one in trials),
        durations_ns=tuple(one.duration_ns for one in trials),
        frames=whole.count,
        minimum_ns=float(whole.minimum_ns),
        mean_ns=whole.mean_ns,
        maximum_ns=float(whole.maximum_ns),
        curve=curve,
    )


def _shares(frames: int) -> Iterator[float]:
    """Yield shares that are equally far apart in nines, as far as one frame lies beyond them."""
    named = set(SHARES)
    steps = {1 - 10 ** (-step / STEPS) for step in range(MOST_NINES * STEPS + 1)}
    close = {one for one in steps if any(abs(one - other) < 1e-9 for other in named)}
    yield from sorted(share for share in (steps - close) | named if share * frames <= frames - 1)


def latency_axis(values: Sequence[float]) -> Axis:
    """Return an axis that shows both the shortest and the longest of these latencies."""
    wide = bool(values) and min(values) > 0 and max(values) > WIDE * min(values)
    if wide:
        return Axis("latency", "ns", Scale.LOG)
    return Axis("latency", "ns", Scale.LINEAR, from_zero=True)


def share_name(share: float) -> str:
    """Write a share as people call a percentile: p50, p99.9."""
    return f"p{100 * share:.6g}"


NINES = (0.0, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999)
SHOWN = (0.5, 0.99, 0.999)
"""Percentiles that are drawn against load."""


def draw_percentiles(samples: Sequence[Case], options: Options) -> Drawing | None:
    """Draw a line for each load: the latency that so many of the frames did not exceed."""
    (case,) = samples
    some = _some(case.latencies)
    layers = tuple(
        Line(
            _load(one),
            tuple(Point(share, ns) for share, ns in one.curve),
            simulated=case.evidence.simulated,
            color=number,
            markers=False,
            dash=number,
        )
        for number, one in enumerate(some)
    )
    targets = tuple(
        Points(
            f"{TARGET}, at {one.load}" if one.load else TARGET,
            (Point(one.share, one.ns),),
            Look.TARGET,
        )
        for one in case.targets
    )
    values = [point.y for layer in (*layers, *targets) for point in layer.points]
    farthest = max((point.x for layer in (*layers, *targets) for point in layer.points), default=0)
    frames = min(one.frames for one in case.latencies)
    return drawn(
        f"Latency percentiles, {case.label}",
        [case.evidence],
        (
            Panel(
                Axis(
                    "share of the frames that took no longer",
                    "",
                    Scale.NINES,
                    ticks=tuple(_nines(farthest)),
                ),
                latency_axis(values),
                (*layers, *targets),
            ),
        ),
        f"At least {human_count(frames)} latencies at each load.",
        TOLD,
        "Each nine to the right is ten times rarer.",
        not_drawn(len(case.latencies) - len(some), "load"),
    )


def _some(latencies: Sequence[Latency]) -> tuple[Latency, ...]:
    """Return as many as lines can be told apart, evenly from the least load to the greatest."""
    last = len(latencies) - 1
    if last < MOST:
        return tuple(latencies)
    return tuple(latencies[round(place * last / (MOST - 1))] for place in range(MOST))


def _nines(farthest: float) -> Iterator[Tick]:
    for share in (*NINES[:1], 0.5, *NINES[1:]):
        if share <= farthest:
            yield Tick(share, f"{100 * share:.7g}%")


def _load(one: Latency) -> str:
    rate = human_fps(one.load_fps)
    lossy = ", frames lost" if one.lost_frames else ""
    return f"{one.reference}, {rate}{lossy}" if one.reference else f"{rate}{lossy}"


def draw_loads(samples: Sequence[Case], options: Options) -> Drawing | None:
    """Draw latency against load; nothing where there is but one load."""
    (case,) = samples
    if len({one.load_fps for one in case.latencies}) < 2:
        return None
    layers = tuple(_lines(case))
    values = [point.y for layer in layers for point in layer.points]
    return drawn(
        f"Latency against load, {case.label}",
        [case.evidence],
        (
            Panel(
                Axis("load per direction", "fps", Scale.LINEAR, from_zero=True),
                latency_axis(values),
                layers,
            ),
        ),
        TOLD,
        _lossy(case.latencies),
    )


def _lossy(found: Sequence[Latency]) -> str:
    """Say where frames were lost: latency is of those that arrived."""
    places = [one.reference or human_fps(one.load_fps) for one in found if one.lost_frames]
    if not places:
        return ""
    return f"Frames were lost at {', '.join(places)}: there it is the latency of the others."


def _lines(case: Case) -> Iterator[Line]:
    values: dict[str, list[tuple[int, float | None]]] = {
        "min": [(one.load_fps, one.minimum_ns) for one in case.latencies],
        "mean": [(one.load_fps, one.mean_ns) for one in case.latencies],
        **{share_name(s): [(one.load_fps, one.at(s)) for one in case.latencies] for s in SHOWN},
        "max": [(one.load_fps, one.maximum_ns) for one in case.latencies],
    }
    for number, (name, found) in enumerate(values.items()):
        told = (None if ns is None else Point(load_fps, ns) for load_fps, ns in found)
        for points in stretches(told):
            yield Line(name, points, simulated=case.evidence.simulated, color=number)


PERCENTILES = Plot(
    name="percentiles",
    title="latency percentiles of a case on an axis of nines, a line for each load",
    needs="a case with latency trials, such as `phy2phy_tput`",
    scope=Scope.CASE,
    gather=gather,
    draw=draw_percentiles,
    rank=6,
)
LOADS = Plot(
    name="latency-load",
    title="latency of a case against load",
    needs="a case with latency trials at two loads or more, such as `phy2phy_tput`",
    scope=Scope.CASE,
    gather=gather,
    draw=draw_loads,
    of_many_loads=True,
)
