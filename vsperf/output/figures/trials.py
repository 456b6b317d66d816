"""The trials of one case: the trace of its search, and loss against load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vsperf.analysis.answers import another
from vsperf.output.figures.drawing import Axis, Drawing, Line, Look, Panel, Point, Points, Scale
from vsperf.output.figures.facts import TARGET, Facts
from vsperf.output.figures.groups import Evidence, drawn, evidence_of_trials
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.output.figures.rates import CLEAN
from vsperf.quantities.human import End, human_fps, human_share
from vsperf.records.files.view import CaseView
from vsperf.records.trial import Purpose

MOST_POINTS = 2_000
"""Trials that are drawn; a page holds them all, and somebody's record any number."""
SPREAD = 8
"""Loads that lie further above the middle one than this want a logarithmic axis."""
NEAR = 0.05
"""Of an answer: trials that lie within so much of it cover each other on an axis from zero, and so
are drawn once more."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One trial, in the numbers that are drawn."""

    index: int
    load_fps: int
    loss_ratio: float
    valid: bool


@dataclass(frozen=True, slots=True)
class Search:
    """What a case tried, and what it came to."""

    label: str
    trials: tuple[Tried, ...]
    """All of them, or some that are evenly apart."""
    made: int
    """How many there were."""
    allowed: float
    """The greatest loss ratio that a goal allows."""
    bounds: tuple[tuple[str, int], ...]
    """Name of a goal, and its lower bound; that of clean time, too, where it is another answer."""
    evidence: Evidence
    targets: tuple[tuple[str, float], ...] = ()
    """Name of a goal, and what a criterion asks of it."""


def gather(view: CaseView) -> tuple[Search, ...]:
    """Return the trials that a search went by; nothing where there were none."""
    made = [trial for trial in view.standing_trials if trial.purpose is Purpose.SEARCH]
    if not made:
        return ()
    goals = view.result.goals if view.result is not None else ()
    tried = tuple(
        Tried(one.index, one.load_fps, float(one.loss_ratio), one.valid)
        for one in made[:: -(-len(made) // MOST_POINTS)]
    )
    found = [(one.goal, one) for one in goals]
    found += [(f"{one.goal} {CLEAN}", clean) for one in goals if (clean := another(one))]
    bounds = tuple((name, one.lower_fps) for name, one in found if one.lower_fps is not None)
    allowed = max((float(Fraction(one.loss_ratio)) for one in goals), default=0.0)
    facts = Facts(view)
    targets = tuple(
        (one.goal, fps) for one in goals if (fps := facts.target_fps(one.goal)) is not None
    )
    evidence = evidence_of_trials(view, made)
    return (Search(view.label, tried, len(made), allowed, bounds, evidence, targets),)


def draw_search(samples: Sequence[Search], options: Options) -> Drawing | None:
    """Draw the load of each trial in the order they were made; a single one needs no drawing."""
    (case,) = samples
    if len({one.load_fps for one in case.trials}) < 2:
        return None
    first, last = case.trials[0].index, case.trials[-1].index

    def panel(shown: Search, loads: Axis, title: str = "") -> Panel:
        bounds = [
            Line(
                f"{name} {human_fps(fps, End.LOWER)}",
                (Point(first, fps), Point(last, fps)),
                Look.CEILING,
                dash=number,
            )
            for number, (name, fps) in enumerate(case.bounds)
        ]
        targets = [
            Line(
                f"{TARGET}: {name} {human_fps(fps, End.LOWER)}",
                (Point(first, fps), Point(last, fps)),
                Look.TARGET,
                markers=False,
            )
            for name, fps in case.targets
        ]
        return Panel(
            x=Axis("trial of the case, in the order they were made"),
            y=loads,
            layers=(*bounds, *targets, *_by_verdict(shown, lambda one: (one.index, one.load_fps))),
            title=title,
        )

    return drawn(
        f"Trace of the search, {case.label}",
        [case.evidence],
        (panel(case, _loads(case)), *(panel(one, NEAR_LOADS, TITLE) for one in _near(case))),
        "Lost is what the worse direction lost.",
        _thinned(case),
    )


def draw_loss(samples: Sequence[Search], options: Options) -> Drawing | None:
    """Draw the loss of each trial against its load."""
    (case,) = samples
    if len({one.load_fps for one in case.trials}) < 2:
        return None

    def panel(shown: Search, loads: Axis, title: str = "") -> Panel:
        return Panel(
            x=loads,
            y=Axis("loss", "%", Scale.LOG_ZERO),
            layers=tuple(_by_verdict(shown, lambda one: (one.load_fps, one.loss_ratio))),
            title=title,
        )

    return drawn(
        f"Loss against load, {case.label}",
        [case.evidence],
        (panel(case, _loads(case)), *(panel(one, NEAR_LOADS, TITLE) for one in _near(case))),
        "Loss of the worse direction; the axis is logarithmic, with a place for none.",
        _thinned(case),
    )


NEAR_LOADS = Axis("load per direction", "fps", Scale.LINEAR)
TITLE = f"within {NEAR:.0%} of an answer"


def _near(case: Search) -> Iterator[Search]:
    """Yield the trials near the answers, where on the whole axis they would cover each other."""
    near = tuple(
        one
        for one in case.trials
        if any(abs(one.load_fps - fps) <= NEAR * fps for _, fps in case.bounds)
    )
    if len({one.load_fps for one in near}) > 1 and 2 * len(near) >= len(case.trials):
        yield replace(case, trials=near)


def _thinned(case: Search) -> str:
    """Say that there were more trials than are drawn, where there were."""
    shown = len(case.trials)
    return f"Of {case.made:,} trials {shown:,} are drawn." if shown < case.made else ""


def _loads(case: Search) -> Axis:
    """Return the axis of loads; one far above the others must not press these onto each other."""
    loads = sorted(one.load_fps for one in case.trials)
    wide = loads[-1] > SPREAD * max(1, loads[len(loads) // 2])
    return Axis(
        "load per direction", "fps", Scale.LOG if wide else Scale.LINEAR, from_zero=not wide
    )


def _by_verdict(case: Search, place: Callable[[Tried], tuple[float, float]]) -> Iterator[Points]:
    """Yield the trials that lost nothing, little, too much, and those that do not count."""
    little = [one for one in case.trials if one.valid and 0 < one.loss_ratio <= case.allowed]
    kinds = (
        ("no frame lost", Look.GOOD, [o for o in case.trials if o.valid and not o.loss_ratio]),
        (f"lost up to {human_share(case.allowed)}", Look.NEUTRAL, little),
        (
            f"lost more than {human_share(case.allowed)}" if case.allowed else "frames lost",
            Look.BAD,
            [one for one in case.trials if one.valid and one.loss_ratio > case.allowed],
        ),
        ("invalid, does not count", Look.DOUBTED, [o for o in case.trials if not o.valid]),
    )
    for name, look, trials in kinds:
        if trials:
            points = tuple(Point(*place(one)) for one in trials)
            yield Points(name, points, look, simulated=case.evidence.simulated)


SEARCH = Plot(
    name="search",
    title="trace of the search of a case: the load of each trial, and its verdict",
    needs="a search with trials at two loads or more, such as `phy2phy_tput`",
    scope=Scope.CASE,
    gather=gather,
    draw=draw_search,
    rank=3,
)
LOSS = Plot(
    name="loss",
    title="loss against load of a case",
    needs="trials at two loads or more, such as `phy2phy_loss`",
    scope=Scope.CASE,
    gather=gather,
    draw=draw_loss,
    rank=5,
    of_given_loads=True,
)
