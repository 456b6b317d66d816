"""What collectors saw: each quantity over time, under the trials that it belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from vsperf.output.figures.drawing import Axis, Drawing, Layer, Line, Panel, Point, Scale, Spans
from vsperf.output.figures.groups import Evidence, drawn, evidence_of
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.output.figures.stalls import Happened, moment_s, spans_of
from vsperf.quantities.human import human_count
from vsperf.records.files.series import series_of
from vsperf.records.files.view import CaseView
from vsperf.records.series import Nature, Quantity, Sample, SeriesHeader
from vsperf.records.trial import Trial

MOST_POINTS = 300
"""Of a line; more are put together."""
MOST_PANELS = 8
EACH = 4
"""Panels of a collector, where there are several."""
TELLING = ("running_ns", "queued_ns", "interrupts", "steal_ns", "involuntary")
"""Quantities that come before the others of their collector: what kept threads from their work. The
collector with most of them says most to most readers."""
MOST_LINES = 6
"""Of a panel: those with the greatest values."""
MOST_SPANS = 16
NS = 1e9


@dataclass(slots=True)
class Trace:
    """One quantity of one thing, as points in time; as many as can be seen, whatever there were."""

    points: list[tuple[float, float]] = field(default_factory=list)
    size: int = 1
    """Values that make a point."""
    _sum: float = 0.0
    _count: int = 0
    _at: float = 0.0

    def add(self, at: float, value: float) -> None:
        """Take a value; where there are too many points, two become one."""
        self._sum, self._count, self._at = self._sum + value, self._count + 1, self._at + at
        if self._count < self.size:
            return
        self.points.append((self._at / self._count, self._sum / self._count))
        self._sum, self._count, self._at = 0.0, 0, 0.0
        if len(self.points) > MOST_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            self.points = [((a + c) / 2, (b + d) / 2) for (a, b), (c, d) in pairs]
            self.size *= 2

    @property
    def most(self) -> float:
        return max((value for _, value in self.points), default=0.0)


@dataclass(frozen=True, slots=True)
class Panelled:
    """A quantity with its lines, by what they are about."""

    collector: str
    quantity: Quantity
    traces: dict[str, Trace]


@dataclass(frozen=True, slots=True)
class Collected:
    """What was collected around a case."""

    label: str
    panels: tuple[Panelled, ...]
    spans: tuple[tuple[float, float], ...]
    """When trials were, since the first look."""
    left_out: int
    """Panels for which there is no room."""
    events: tuple[Happened, ...]
    """What was done to the switch meanwhile, since the first look."""
    evidence: Evidence


def gather(view: CaseView) -> tuple[Collected, ...]:
    """Return what light collectors saw; one that had a trial for itself has no course."""
    panels: list[list[Panelled]] = []
    spans: dict[int, tuple[float, float]] = {}
    for stored in series_of(view.folder, view.key, max(1, view.attempt)):
        if not stored.header.heavy:
            own = _panels(stored.header, stored.samples(since=view.died + 1), spans)
            moved = [one for one in own if any(t.most for t in one.traces.values())]
            panels.append(sorted(moved, key=lambda one: one.quantity.name not in TELLING))
    panels.sort(key=lambda own: -sum(one.quantity.name in TELLING for one in own))
    each = EACH if len(panels) > 1 else MOST_PANELS
    shown = [one for own in panels for one in own[:each]]
    if not shown:
        return ()
    began = min(begin for begin, _ in spans.values())
    return (
        Collected(
            view.label,
            tuple(_since(one, began) for one in shown[:MOST_PANELS]),
            tuple((begin - began, end - began) for begin, end in spans.values()),
            sum(map(len, panels)) - len(shown[:MOST_PANELS]),
            tuple(_events(view.standing_trials, spans, began)),
            evidence_of(view),
        ),
    )


def _panels(
    header: SeriesHeader, samples: Iterable[Sample], spans: dict[int, tuple[float, float]]
) -> Iterator[Panelled]:
    """Yield what a file shows, in the order of its quantities."""
    before: dict[tuple[str, str], tuple[int, Sample]] = {}
    found: dict[str, dict[str, Trace]] = {}
    for sample in samples:
        begin, end = spans.get(sample.trial, (float(sample.at_ns), 0.0))
        spans[sample.trial] = (min(begin, sample.at_ns), max(end, sample.at_ns))
        for name, value in sample.values.items():
            quantity = header.quantity(name)
            if quantity is None:
                continue
            line = f"{sample.of} {_rest(quantity, name)}".strip()
            trace = found.setdefault(quantity.name, {}).setdefault(line, Trace())
            then = before.get((sample.of, name))
            before[sample.of, name] = (sample.trial, sample)
            if quantity.nature is Nature.GAUGE:
                trace.add(sample.at_ns, value)
            elif then is not None and then[0] == sample.trial:
                _add_rate(trace, then[1], sample, name)
    for quantity in header.quantities:
        if quantity.name in found:
            yield Panelled(header.collector, quantity, found[quantity.name])


def _rest(quantity: Quantity, name: str) -> str:
    """Return what a name adds to that of a quantity that stands for many."""
    return name.removeprefix(quantity.name[:-1]) if quantity.name.endswith("*") else ""


def _add_rate(trace: Trace, then: Sample, now: Sample, name: str) -> None:
    """Add how fast a counter grew between two looks of one trial."""
    span_ns, grown = now.at_ns - then.at_ns, now.values[name] - then.values[name]
    if span_ns > 0 and grown >= 0:
        trace.add((then.at_ns + now.at_ns) / 2, grown * NS / span_ns)


def _events(
    trials: Iterable[Trial], spans: Mapping[int, tuple[float, float]], began: float
) -> Iterator[Happened]:
    """Yield what was done in the middle of trials that were looked at."""
    for trial in trials:
        began_s = moment_s(trial.started_at)
        if trial.event is not None and trial.index in spans and began_s is not None:
            at = began_s * NS - began
            yield trial.event.name, at + trial.event.began_ns, at + trial.event.ended_ns


def _since(one: Panelled, began: float) -> Panelled:
    for trace in one.traces.values():
        trace.points = [(at - began, value) for at, value in trace.points]
    return one


def draw(samples: Sequence[Collected], options: Options) -> Drawing | None:
    """Draw a panel for each quantity, with trials as stretches of time."""
    (case,) = samples
    count = len(case.spans)
    apart = count <= MOST_SPANS
    return drawn(
        f"Collected meanwhile, {case.label}",
        [case.evidence],
        tuple(_panel(case, one) for one in case.panels),
        f"{human_count(count)} {'trial' if count == 1 else 'trials'} with series, shaded and "
        "apart from each other unless there are many. "
        "Counters are drawn as what they grew by in a second, within each trial.",
        "" if apart else "Between trials lines only lead on: nothing was looked at there.",
        _left_out(case.left_out),
    )


def _left_out(quantities: int) -> str:
    if not quantities:
        return ""
    are = "quantity is" if quantities == 1 else "quantities are"
    return f"{quantities} more {are} in the files."


def _stretches(
    points: Sequence[tuple[float, float]], spans: Sequence[tuple[float, float]]
) -> Iterator[list[tuple[float, float]]]:
    """Yield the points of each trial: nobody looked between two, so no line may lead there."""
    begins = sorted(begin for begin, _ in spans)
    for _, together in groupby(points, key=lambda point: bisect_right(begins, point[0])):
        yield list(together)


def _panel(case: Collected, one: Panelled) -> Panel:
    share = one.quantity.unit == "ns" and one.quantity.nature is Nature.COUNTER
    scale = 1 / NS if share else 1.0
    order = sorted(one.traces.items(), key=lambda item: -item[1].most)[:MOST_LINES]
    layers: list[Layer] = []
    apart = len(case.spans) <= MOST_SPANS
    if apart:
        layers.append(Spans("trial", case.spans))
    layers += spans_of(case.events)
    layers += [
        Line(
            of,
            tuple(Point(at, value * scale) for at, value in points),
            markers=len(points) < 3,
            color=number,
            dash=number,
        )
        for number, (of, trace) in enumerate(order)
        for points in _stretches(trace.points, case.spans if apart else ())
    ]
    rate = one.quantity.nature is Nature.COUNTER
    unit = "" if one.quantity.unit == "1" else one.quantity.unit
    name = one.quantity.name.rstrip("_*").removesuffix("_ns").replace("_", " ") or "value"
    return Panel(
        x=Axis("time since the first look", "ns", Scale.LINEAR, from_zero=True),
        y=Axis(
            name if share or not rate else f"{name} in a second",
            "%" if share else unit,
            Scale.LINEAR,
            from_zero=True,
        ),
        layers=tuple(layers),
        title=f"{one.collector}: {one.quantity.meaning}" if one.quantity.meaning else one.collector,
    )


PLOT = Plot(
    name="series",
    title="what collectors saw over the time of a case, under its trials",
    needs="a case with a collector: `--set collect=proc`",
    scope=Scope.CASE,
    gather=gather,
    draw=draw,
)
