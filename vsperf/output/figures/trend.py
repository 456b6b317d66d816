"""A case over many runs: what each found, its levels, and where they changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from vsperf.analysis.answers import (
    Finding,
    all_by_regime,
    alone_in_all,
    findings_of,
    in_regime,
    more_is_better,
    names_of_draws,
    parted,
    regime_behind,
)
from vsperf.analysis.difference import Sample, answers_in
from vsperf.analysis.environment import ground_of
from vsperf.analysis.segments import Segment, differ_by_regime, segments_of
from vsperf.analysis.summary import beside_noise, too_busy_to_tell
from vsperf.output.figures.curves import UNITS
from vsperf.output.figures.drawing import (
    Axis,
    Drawing,
    Layer,
    Line,
    Look,
    Panel,
    Point,
    Points,
    Tick,
)
from vsperf.output.figures.groups import Evidence, drawn, evidence_of, not_drawn
from vsperf.output.figures.plot import Options, Plot
from vsperf.output.figures.text import shortened
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView
from vsperf.records.regime import Regime
from vsperf.records.result import SearchResult, heading

MOST = 4
"""Series that one drawing has room for, each in a panel of its own."""
MOST_TICKS = 8
LONGEST_LABEL = 12
LEAST_RUNS = 3
"""Below, there is nothing that could be called a trend."""

Key = tuple[str, str, bool]
"""Label, testbed, and whether it is a model's."""


@dataclass(frozen=True, slots=True)
class CaseNumbers:
    """What one case of one run found."""

    run: str
    began: str
    series: Key
    ground: str
    """What has to be the same for two numbers to have to do with each other."""
    finding: Finding
    result: SearchResult
    """What the number is of."""
    evidence: Evidence
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the user called the run."""


@dataclass(frozen=True)
class Series:
    """One number of a case, the oldest run first."""

    key: Key
    runs: tuple[CaseNumbers, ...]
    """The last repeat of each."""
    samples: tuple[Sample, ...]
    found: tuple[CaseNumbers, ...]
    """Every repeat of every run."""
    drawn: bool
    """Whether each run has the same over deployments, of which this is one."""

    @property
    def moved(self) -> bool:
        """Whether the machine moved its CPUs, which decides what all trials of a run came to."""
        if regime_behind(self.found[0].finding.name) is not None:
            return False
        by_ground: dict[str, list[SearchResult]] = {}
        for one in self.found:
            by_ground.setdefault(one.ground, []).append(one.result)
        if all(map(all_by_regime, by_ground.values())):
            return True
        met = [
            alone_in_all(
                (one.result for one in self.found if one.run == run.run),
                parted(by_ground[run.ground]),
            )
            for run in self.runs
        ]
        return differ_by_regime(self.segments, met)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Its levels, if nothing else made them."""
        values = [sample.median for sample in self.samples]
        answered = [sample.answered for sample in self.samples]
        return segments_of(values, [one.ground for one in self.runs], answered=answered)


def gather(view: CaseView) -> tuple[CaseNumbers, ...]:
    """Return the number of a case that matters most, and what it is in each regime."""
    result = view.result
    if result is None or (first := next(findings_of(result), None)) is None:
        return ()
    ground = ground_of(view.header.environment, simulated=view.simulated)
    regimes = (in_regime(first.name, one) for one in Regime)
    names = {first.name, *regimes, *names_of_draws(first.name).values()}
    busy = too_busy_to_tell(view.record)
    noise = beside_noise(view.record)
    return tuple(
        CaseNumbers(
            run=view.run,
            began=view.header.started_at,
            series=(view.label, view.header.testbed, view.simulated),
            ground=json.dumps([view.planned.id, ground], sort_keys=True, default=str),
            finding=replace(one, busy=busy),
            result=result,
            evidence=evidence_of(view),
            labels=view.labels,
        )
        for one in findings_of(result, noise=noise)
        if one.name in names
    )


def draw(cases: Sequence[CaseNumbers], options: Options) -> Drawing | None:
    """Draw a panel for each series that is long enough."""
    every = [one for one in _series(cases) if len(one.runs) >= LEAST_RUNS]
    shown = every[:MOST]
    if not shown:
        return None
    more = len(every) - MOST
    return drawn(
        "Results over all runs, and where they changed",
        [found.evidence for one in shown for found in one.found],
        tuple(_panel(one) for one in shown),
        "Points are medians of repeats, and lines their levels, found by jumpavg. Where a line "
        "is broken, other settings or another machine are measured from then on.",
        "Without lines: how long CPUs were near each other decides it."
        if any(one.moved for one in shown)
        else "",
        "Without lines: each is that of one deployment; those over draws are told beside it."
        if any(one.drawn for one in shown)
        else "",
        _open(sum(sample.median_is_open for one in shown for sample in one.samples)),
        _no_answers(sum(not sample.answered for one in shown for sample in one.samples)),
        not_drawn(more, "case"),
    )


def _open(count: int) -> str:
    """Say how many points may lie higher than they are drawn."""
    if not count:
        return ""
    return f"{count} of these {'is' if count == 1 else 'are'} only known to be as high or higher."


def _no_answers(count: int) -> str:
    """Say how many points no level goes by."""
    if not count:
        return ""
    which = "point is no answer" if count == 1 else "points are no answers"
    return f"{count} {which}, by a busy machine or a limit beside the switch; levels go without."


def _series(cases: Sequence[CaseNumbers]) -> Iterator[Series]:
    known: dict[tuple[Key, str, Unit], dict[str, list[CaseNumbers]]] = {}
    for one in sorted(cases, key=lambda one: (one.began, one.run)):
        number = (one.series, one.finding.name, one.finding.unit)
        known.setdefault(number, {}).setdefault(one.run, []).append(one)
    for (key, name, unit), runs in known.items():
        over = (known.get((key, one, unit), {}) for one in names_of_draws(name).values())
        drawn = {run for found in over for run in found}.issuperset(runs)
        samples = tuple(
            answers_in(Sample(tuple(one.finding for one in found))) for found in runs.values()
        )
        every = tuple(one for found in runs.values() for one in found)
        last = tuple(found[-1] for found in runs.values())
        yield Series(key, last, samples, every, drawn)


def _panel(series: Series) -> Panel:
    values = [sample.median for sample in series.samples]
    answered = [sample.answered for sample in series.samples]
    first = series.samples[0]
    label, testbed, simulated = series.key
    points = tuple(
        Point(
            place,
            value,
            *(None, None) if sample.count == 1 else (min(sample.values), max(sample.values)),
        )
        for place, (value, sample) in enumerate(zip(values, series.samples, strict=True), start=1)
    )
    layers: list[Layer] = [Points("runs", points, simulated=simulated, color=0)]
    if not (series.moved or series.drawn) and any(answered):
        layers += _levels(series.segments)
        layers += _marks(series.segments, better_up=more_is_better(first.name, first.unit))
    return Panel(
        x=Axis("run, the oldest first", ticks=_ticks(series.runs)),
        y=Axis(heading(first.name), UNITS[first.unit], from_zero=True),
        layers=tuple(layers),
        title=f"{label}, testbed {testbed}",
    )


def _levels(segments: Sequence[Segment]) -> Iterator[Line]:
    """Yield the levels of answers as one line, broken where the series is cut."""
    stretches: list[list[Segment]] = []
    for segment in segments:
        if not segment.answered:
            continue
        if segment.cut or not stretches:
            stretches.append([])
        stretches[-1].append(segment)
    for stretch in stretches:
        ends = [(place, one.mean) for one in stretch for place in (one.begin + 1, one.end)]
        points = tuple(Point(place, mean) for place, mean in dict.fromkeys(ends))
        if len(points) > 1:
            yield Line("level", points, color=1, markers=False)


def _marks(segments: Sequence[Segment], *, better_up: bool) -> Iterator[Points]:
    """Yield the first run after each change, the worse ones apart from the better ones."""
    changes = [(old, new) for old, new in pairwise(segments) if not new.cut]
    for name, look, up in (
        ("better from here on", Look.GOOD, better_up),
        ("worse from here on", Look.BAD, not better_up),
    ):
        points = [
            Point(new.begin + 1, new.mean) for old, new in changes if (new.mean > old.mean) == up
        ]
        if points:
            yield Points(name, tuple(points), look)


def _ticks(runs: Sequence[CaseNumbers]) -> tuple[Tick, ...]:
    """Name some runs by their labels, where these tell all of them apart; else by day and id."""
    step = -(-len(runs) // MOST_TICKS)
    names = _names(runs)
    return tuple(Tick(place + 1, names[place]) for place in range(0, len(runs), step))


def _names(runs: Sequence[CaseNumbers]) -> list[str]:
    for name in dict.fromkeys(name for run in runs for name in run.labels):
        values = [run.labels.get(name, "") for run in runs]
        if all(values) and len({*values}) == len(values):
            return [shortened(value, LONGEST_LABEL) for value in values]
    return [f"{run.began[5:10]} {run.run.rpartition('-')[2]}" for run in runs]


PLOT = Plot(
    name="trend",
    title="a case over many runs, with its levels and the runs since which they changed",
    needs="three runs of one case or more that have a number: `vsperf plot trend RUN RUN RUN`",
    gather=gather,
    draw=draw,
)
