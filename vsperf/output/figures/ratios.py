"""What changed from the first run to others, as ratios with the intervals in which they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vsperf.analysis.answers import (
    CONTROLS,
    Finding,
    findings_of,
    in_regime,
    names_of_draws,
    of_all_trials,
    parted,
)
from vsperf.analysis.difference import (
    Sample,
    Scatter,
    answers_in,
    difference_of,
    samples_of,
    scatters_of,
)
from vsperf.analysis.environment import ground_of_case
from vsperf.analysis.summary import beside_noise, too_busy_to_tell
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
from vsperf.output.figures.facts import Facts
from vsperf.output.figures.groups import Evidence, drawn, evidence_of, not_drawn
from vsperf.output.figures.plot import Options, Plot
from vsperf.output.figures.published import source_of, told_of
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView
from vsperf.records.regime import Boundary, Regime
from vsperf.records.result import SearchResult, heading
from vsperf.records.run import labels_text

MOST = 20
"""Numbers that one drawing has room for."""
MOST_SIDES = 7
Place = tuple[str, str, Unit]


@dataclass(frozen=True, slots=True)
class CaseNumbers:
    """What one case of one run found."""

    side: str
    """Runs with the same labels are one; a run without labels stands for itself."""
    label: str
    simulated: bool
    ground: str
    """What two results must have in common to be compared."""
    result: SearchResult | None
    evidence: Evidence
    switch: str = ""
    """What its switch is called."""
    apart: str = ""
    """Its label without the switch."""
    busy: bool = False
    """Whether its machine was too busy to tell."""
    noise: bool = False
    """Whether noise was asked for beside it."""


def gather(view: CaseView) -> tuple[CaseNumbers, ...]:
    """Return the numbers of a case."""
    side = labels_text(view.labels) or view.run
    ground = ground_of_case(view.header, view.planned)
    switch, apart = view.planned.driver("vswitch") or "", view.planned.label_without("vswitch")
    evidence = evidence_of(view, "" if _numbers(view.result) else "no number")
    return (
        CaseNumbers(
            side,
            view.label,
            view.simulated,
            ground,
            view.result,
            evidence,
            switch,
            apart,
            busy=too_busy_to_tell(view.record),
            noise=beside_noise(view.record),
        ),
    )


def missing(view: CaseView) -> str:
    """Return why a case has no number that has a ratio; empty if it has one."""
    if too_busy_to_tell(view.record):
        return "too busy to tell"
    numbers = _numbers(view.result, noise=beside_noise(view.record))
    if any(not one.no_answer for one in numbers):
        return ""
    return Facts(view).unbelieved or next((one.no_answer for one in numbers), "no answer")


def _numbers(
    result: SearchResult | None, boundary: Boundary | None = None, *, noise: bool = False
) -> tuple[Finding, ...]:
    """Return the numbers of a result; `boundary` parts regimes, as all cases together tell."""
    found = () if result is None else findings_of(result, boundary=boundary, noise=noise)
    return tuple(one for one in found if one.name not in CONTROLS)


def draw(cases: Sequence[CaseNumbers], options: Options) -> Drawing | None:
    """Draw each number as a share of what the first run found that has it.

    Or what the first switch came to: where that is asked for, and of one run that has several.
    A model and reality are never put side by side: the kind that comes first is drawn, if there is
    something to compare.
    """
    first = "run"
    if _by_switch(cases, options):
        cases = [replace(one, side=one.switch, label=one.apart) for one in cases]
        first = "switch"
    kinds = dict.fromkeys(one.simulated for one in cases)
    every = (
        _drawn([one for one in cases if one.simulated == kind], cases, first, options.beside)
        for kind in kinds
    )
    return next((drawing for drawing in every if drawing is not None), None)


def _by_switch(cases: Sequence[CaseNumbers], options: Options) -> bool:
    """Whether switches are compared, and not runs."""
    if options.by:
        return bool({"switch", "vswitch"} & set(options.by))
    in_turns = any(one.apart != one.label for one in cases)
    return in_turns and len({one.side for one in cases}) == 1


def _drawn(
    kind: Sequence[CaseNumbers], cases: Sequence[CaseNumbers], noun: str, beside: Sequence[str]
) -> Drawing | None:
    comparable = _comparable(kind)
    sides = dict(list(_sides(comparable).items())[:MOST_SIDES])
    places = list(dict.fromkeys(key for side in sides.values() for key in side))
    shared = [
        key
        for key in places
        if sum(key in side for side in sides.values()) > 1
        and not (_told_closer(key, sides) or _elsewhere(key, sides))
    ]
    shown = shared[:MOST]
    layers = list(_layers(sides, shown, simulated=any(one.simulated for one in comparable)))
    if not layers:
        return None
    others = _published(shown, beside, len(sides)) if noun == "switch" else []
    ends = tuple(Point(number, 1.0) for number in range(len(shown)))
    ticks = tuple(Tick(number, _name(key, shown)) for number, key in enumerate(shown))
    more = len(shared) - MOST
    first = next(iter(sides))
    return drawn(
        f"Change from the first {noun}, number by number",
        [one.evidence for one in comparable],
        (
            Panel(
                Axis("case and number", "", Scale.NAMES, ticks=ticks),
                Axis(f"share of the first {noun}, 100 % = same", "%"),
                (Line("no change", ends, Look.CEILING, markers=False), *layers, *others),
            ),
        ),
        f"Each as a share of what the first {noun} came to, {first}: 100 % is no change, and what "
        "`vsperf compare` calls +75 % is 175 %. Bars reach as far as the "
        "ratio can be: at 95 %, by ranks of repeats where there are enough, else by the bounds "
        "of the searches, widened by how far repeats lie apart where that is known.",
        not_drawn(more, "number"),
        "Cases of other frames, topologies, hosts or kinds are left out."
        if len(comparable) < len(cases)
        else "",
        source_of(beside, "ratios") if others else "",
    )


def _layers(
    sides: dict[str, dict[Place, Sample]], shown: Sequence[Place], *, simulated: bool
) -> Iterator[Points]:
    """Yield the ratios of each side to the first that has the number."""
    scatters = _scatters(sides)
    bases = {key: next(name for name in sides if key in sides[name]) for key in shown}
    for color, (name, side) in enumerate(sides.items()):
        ratios = (
            _ratio(place, sides[bases[key]][key], side[key], scatters)
            for place, key in enumerate(shown)
            if key in side and bases[key] != name
        )
        points = tuple(point for point in ratios if point is not None)
        if points:
            yield Points(name, points, simulated=simulated, color=color)


def _published(shown: Sequence[Place], beside: Sequence[str], color: int) -> list[Points]:
    """Return what others published of the same numbers of a switch to the first one."""
    found: dict[str, list[Point]] = {}
    for place, (label, name, _) in enumerate(shown):
        for one in told_of(label.partition("-")[0], "ratios", beside):
            if one.metric == name:
                found.setdefault(f"{one.of} ({one.short})", []).append(Point(place, one.value))
    return [
        Points(name, tuple(points), Look.PUBLISHED, color=color + number)
        for number, (name, points) in enumerate(found.items())
    ]


def _comparable(cases: Sequence[CaseNumbers]) -> list[CaseNumbers]:
    """Return the cases that have to do with the first of the same name."""
    grounds: dict[str, str] = {}
    return [one for one in cases if grounds.setdefault(one.label, one.ground) == one.ground]


def _told_closer(key: Place, sides: dict[str, dict[Place, Sample]]) -> bool:
    """Whether each side has this number of a regime, or over deployments.

    Then how long it was near decides all trials, and what a deployment is like a single one.
    """
    label, name, unit = key
    regimes = [(label, in_regime(name, one), unit) for one in Regime]
    drawn = [(label, one, unit) for one in names_of_draws(name).values()]
    having = [side for side in sides.values() if key in side]
    by_regime = all(any(one in side for one in regimes) for side in having)
    return by_regime or any(all(one in side for side in having) for one in drawn)


def _elsewhere(key: Place, sides: dict[str, dict[Place, Sample]]) -> bool:
    """Whether each side was in a regime, and not all in the same one; so were its deployments."""
    label, name, unit = key
    goal = of_all_trials(name)
    met = [
        {one for one in Regime if (label, in_regime(goal, one), unit) in side}
        for side in sides.values()
        if key in side
    ]
    return all(met) and not set.intersection(*met)


def _sides(cases: Sequence[CaseNumbers]) -> dict[str, dict[Place, Sample]]:
    """Return the samples of each side, in the order in which they were given."""
    by_case: dict[str, dict[str, list[Finding]]] = {}
    boundary = parted(one.result for one in cases if one.result is not None)
    for one in cases:
        own = by_case.setdefault(one.side, {}).setdefault(one.label, [])
        found = _numbers(one.result, boundary, noise=one.noise)
        own.extend(replace(each, busy=one.busy) for each in found)
    return {
        side: {
            (label, name, unit): answers_in(sample)
            for label, findings in labels.items()
            for (name, unit), sample in samples_of(findings).items()
        }
        for side, labels in by_case.items()
    }


def _scatters(sides: dict[str, dict[Place, Sample]]) -> dict[str, Scatter]:
    """Return how far repeats and deployments lie apart, for each number over all cases."""
    cases: dict[tuple[str, str], dict[tuple[str, Unit], Sample]] = {}
    for side, samples in sides.items():
        for (label, name, unit), sample in samples.items():
            cases.setdefault((side, label), {})[name, unit] = sample
    return scatters_of(cases.values())


def _ratio(
    place: int, base: Sample, other: Sample, scatters: Mapping[str, Scatter]
) -> Point | None:
    """Return a ratio with its ends; None where it is no number."""
    found = difference_of(base, other, scatters.get(base.name))
    if found.share is None:
        return None
    low, high = (None if end is None else 1 + end for end in (found.least, found.most))
    return Point(place, 1 + found.share, low, high)


def _name(key: Place, places: Sequence[Place]) -> str:
    """Return the case and the number; the testcase is left out where it is always the same."""
    testcases = {label.partition("-")[0] for label, _, _ in places}
    label = key[0] if len(testcases) > 1 else key[0].partition("-")[2] or key[0]
    return f"{label} {heading(key[1])}"


PLOT = Plot(
    name="ratios",
    title="what changed from the first run to others, with confidence intervals",
    needs="two runs of one case, or one run of several switches, with an answer on each side: "
    "`vsperf plot ratios RUN RUN`. A lower bound (≥) has no ratio, nor has a number of a machine "
    "that was too busy to tell, or one that is told by regime or over deployments; `vsperf compare "
    "RUN RUN` has them side by side",
    gather=gather,
    draw=draw,
    missing=missing,
)
