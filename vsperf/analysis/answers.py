"""Answers as words: what a goal, a load or a figure came to; never one bare number."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vsperf.analysis.summary import CaseRow, latencies
from vsperf.quantities.human import (
    End,
    human_fps,
    human_interval,
    human_ns,
    human_share,
    rounded_share,
)
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.regime import Boundary, Regime, boundary_among, boundary_of
from vsperf.records.result import (
    NO_ANSWER,
    Draw,
    Figure,
    GoalResult,
    Limit,
    LoadResult,
    PartialResult,
    RegimeResult,
    SearchResult,
    View,
    heading,
)
from vsperf.records.run import Outcome
from vsperf.records.trial import Trial

INVALID = "invalid"
"""What stands where there is a number that is not to be believed."""


def interval(goal: GoalResult) -> str:
    """Write the answer to a goal: an interval or a limit, never one bare number."""
    if worst(goal.flags) is Severity.INVALID:
        return INVALID
    if goal.lower_fps is None:
        nothing = "<" if Flag.AT_MINIMUM in goal.flags else "? …"
        if goal.upper_fps is not None:
            return f"{nothing} {human_fps(goal.upper_fps, End.UPPER)}"
    return human_interval(goal.lower_fps, goal.upper_fps, human_fps)


def another(goal: GoalResult) -> GoalResult | None:
    """Return the answer to a goal from clean time, if there is one and it is another."""
    if goal.clean is None or goal.clean.limit is None:
        return None
    told = {"lower_fps", "upper_fps", "limit"}
    if goal.model_dump(include=told) == goal.clean.model_dump(include=told):
        return None
    return goal.model_copy(update=goal.clean.model_dump(exclude={"share"}))


def by_regime(goal: GoalResult) -> list[tuple[RegimeResult, GoalResult]]:
    """Return the answers to a goal by regime, as far as there are any."""
    told = {"share", "regime", "least_ns", "most_ns", "clean"}
    return [
        (one, goal.model_copy(update=one.model_dump(exclude=told)))
        for one in goal.regimes
        if one.limit is not None
    ]


IN_VIEW = {View.ALL: "", View.CLEAN: "clean ", View.NEAR: "near ", View.FAR: "far "}


def over_draws(goal: GoalResult) -> str:
    """Write how far deployments lie apart; empty where fewer than two of them have an answer."""
    draws = goal.believed_draws
    if draws is None or draws.lower_fps is None:
        return ""
    ends = {"lower_fps": draws.lower_fps, "upper_fps": draws.upper_fps, "flags": ()}
    told = interval(goal.model_copy(update=ends))
    made = len(draws.told)
    fewer = "" if made == draws.asked else f" of {draws.asked}"
    return f"{IN_VIEW[draws.view]}{told} over {made}{fewer}"


def by_draw(goal: GoalResult) -> list[tuple[Draw, str]]:
    """Return the answers to a goal by deployment, with their intervals, or none."""
    return [
        (one, interval(goal.model_copy(update={**_ends(one), "flags": ()})) if one.limit else "")
        for one in (goal.draws.made if goal.draws is not None else ())
    ]


def _ends(draw: Draw) -> dict[str, int | None]:
    return {"lower_fps": draw.lower_fps, "upper_fps": draw.upper_fps}


def answers(goal: GoalResult) -> list[str]:
    """Write the answer to a goal: all time, clean time if it is another, by regime, over draws."""
    clean, spread = another(goal), over_draws(goal)
    return [
        interval(goal),
        *([] if clean is None else [f"clean {interval(clean)}"]),
        *(f"{there.regime} {interval(one)}" for there, one in by_regime(goal)),
        *([spread] if spread else []),
    ]


def headlines(result: SearchResult) -> list[str]:
    """Write what a method found, one line for each goal and load, and the first figure."""
    return [
        *(
            f"{goal.goal} {'; '.join(filter(None, (interval(goal), over_draws(goal))))}"
            for goal in result.goals
        ),
        *(f"{human_fps(load.load_fps)}: {_became(load)}" for load in result.loads),
        *(f"{heading(figure.name)} {figure.text}" for figure in result.figures[:1]),
    ]


def _became(load: LoadResult) -> str:
    return f"lost {most_lost(load)}" if load.believed else INVALID


def missed_on_a_busy_host(row: CaseRow) -> str | None:
    """Say why a case is FAIL, and not INVALID, though its host was too busy; None elsewhere.

    A goal is missed by loss that is the switch's own, and its reason says which that was. Where the
    time ended it says that, and the loss is that at the load that failed.
    """
    record = row.record
    if record is None or record.outcome is not Outcome.FAIL or not row.too_busy:
        return None
    missed = {check.criterion.split()[0] for check in record.checks if check.met is False}
    told = [f"{goal.goal}: {goal.reason}{_own(goal)}" for goal in row.goals if goal.goal in missed]
    return f"FAIL and not INVALID, busy as the host was: {'; '.join(told)}" if told else None


def _own(goal: GoalResult) -> str:
    """Say which loss was the switch's own where the time ended: by another none is missed."""
    several = goal.draws is not None and goal.draws.lower_fps is not None
    if goal.upper_fps is None or several or not goal.cut_short:
        return ""
    return f"; what was lost at {human_fps(goal.upper_fps)} was the switch's own"


def reasons(row: CaseRow) -> list[str]:
    """Say why each interval of a case ends where it does."""
    found = []
    for goal in row.goals:
        found.append(f"{goal.goal}: {goal.reason}")
        clean = another(goal)
        if clean is not None and goal.clean is not None:
            share = share_text(Fraction(goal.clean.share))
            found.append(f"{goal.goal} in {share} clean time: {clean.reason}")
        found += [
            f"{goal.goal} {there.regime}, in {share_text(Fraction(there.share))} of the time: "
            f"{there.reason}"
            for there, _ in by_regime(goal)
        ]
        found += [
            f"{goal.goal} on deployment {draw.deployment}: {told or NO_ANSWER}; {draw.reason}"
            for draw, told in by_draw(goal)
        ]
    return found


def loss_text(ratio: Fraction | str) -> str:
    """Write a loss ratio in percent; where a frame came through, it is not all."""
    return human_share(Fraction(ratio))


def most_lost(load: LoadResult) -> str:
    """Write what was lost of a load at worst, as the line of that trial has it."""
    return loss_text(load.worst_loss_ratio)


def longest_away(load: LoadResult) -> str | None:
    """Write how long frames stayed away at worst, as its reason does; None where they stayed."""
    away = [outage for outage in load.outages_ns if outage is not None]
    if not away or len(away) < len(load.outages_ns):
        return None
    return human_ns(max(away), None if min(away) == max(away) else End.UPPER)


def share_text(share: Fraction | None, end: End | None = None) -> str:
    """Write a share in percent, coarsely; for people who compare."""
    return "–" if share is None else rounded_share(share, 1, end)


# The numbers that a result answers with, each with the interval in which the truth lies.

LOSSES = frozenset(
    (
        *("loss", "lost", "repeated", "failed", "waiting", "unsent", "growth", "drift", "memory"),
        *("draw", "switches", "latency", "p99"),
    )
)
"""A figure with such a word in its name is better where it is less."""
CONTROLS = (
    *("control", "latency_control", "p99_control", "delivery_control"),
    *("sent", "overload_share"),
)
"""Figures by which others are believed, or not: none is better or worse. What a program could send
says what a loss is a share of, and an overload that could be offered what a recovery is from: more
of it is no merit of a switch."""
LASTING = "buffer"
"""A time with this word in its name is better where it is more: a buffer that lasts holds more."""
DIFFERENCES = ("drift", "difference", "growth")
"""A figure whose name says so may lie below 0, which no time, rate or count does."""


SHORT = frozenset(
    (
        *(Limit.GENERATOR, Limit.SERVER, Limit.HOST, Limit.BUDGET),
        *(Limit.UNCOUNTED, Limit.UNKNOWN),
    )
)
"""What keeps a search from its end, and is not the switch: above such a bound it can do anything.
That the line rate passed, or all that the user allowed, is an answer."""
NOT_ITS_LOSS = SHORT - {Limit.BUDGET}
"""Where a load failed by one of these, or nobody can tell by whom, it bounds nothing that the
switch can do. Where the time ended it does: in time that was mostly not clean it is UNKNOWN."""


class Basis(enum.StrEnum):
    """What the interval of a finding rests on."""

    SEARCH = "search"
    """Loads that held, and loads that did not."""
    SPREAD = "spread"
    """The least and the greatest of what was measured several times within one case."""
    NOTHING = "nothing"
    """Nobody knows how far a single number can be off."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of one case."""

    name: str
    """Such as ndr; what it was measured at stands in it where the same name has several."""
    unit: Unit
    value: float
    low: float
    """The truth is not below it."""
    high: float
    """The truth is not above it; infinite where nobody knows."""
    limit: Limit | None = None
    """What kept it from being better."""
    basis: Basis = Basis.SEARCH
    run: str = ""
    """Which found it; empty where that is of no concern."""
    busy: bool = False
    """Whether its machine was too busy to tell."""

    @property
    def open_ended(self) -> bool:
        """Whether it is only known to be as high or higher."""
        return math.isinf(self.high)

    @property
    def is_bound(self) -> bool:
        """Whether it says how far somebody looked, and not what the switch can do."""
        return self.open_ended and self.limit in SHORT

    @property
    def no_answer(self) -> str:
        """Why it is no answer; empty where it is one."""
        if self.busy:
            return "too busy to tell"
        return f"lower bound, limit {self.limit}" if self.is_bound else ""


def more_is_better(name: str, unit: Unit) -> bool:
    """Return which way a finding gets better; by whole words: a lossless load is no loss."""
    words = re.split(r"[ _]", name)
    return (unit is not Unit.NANOSECONDS or LASTING in words) and LOSSES.isdisjoint(words)


def may_be_negative(name: str) -> bool:
    """Return whether a number may lie below 0."""
    return any(word in name for word in DIFFERENCES)


def parted(results: Iterable[SearchResult]) -> Boundary | None:
    """Return what is near and what is far in several results; None where all met one regime."""
    found = list(results)
    told = [one for result in found for goal in result.goals for one in goal.regimes]
    near = [one.most_ns for one in told if one.regime is Regime.NEAR]
    far = [one.least_ns for one in told if one.regime is Regime.FAR]
    if near and far:
        return Boundary(max(near), min(far)) if max(near) < min(far) else None
    return boundary_among(one.round_trips_ns for one in found if one.round_trips_ns is not None)


ALONE = "alone"
"""Stands for the one regime that somebody met, whichever it was."""


def alone(name: str) -> str:
    """Return the name of a number that is from one regime alone."""
    return f"{name} {ALONE}"


def spans_of(results: Iterable[SearchResult]) -> dict[str, tuple[int, int]]:
    """Return the shortest and the longest round trip by regime, or of the only one."""
    found = list(results)
    told = [one for result in found for goal in result.goals for one in goal.regimes]
    spans: dict[str, list[tuple[int, int]]] = {}
    for there in told:
        spans.setdefault(there.regime.value, []).append((there.least_ns, there.most_ns))
    known = [one.round_trips_ns for one in found if one.round_trips_ns is not None]
    if not told and known and len(known) == len(found):
        boundary = parted(found)
        for one in known:
            regime = None if boundary is None else boundary.holding(*one)
            spans.setdefault(ALONE if regime is None else regime.value, []).append(one)
    return {
        name: (min(one[0] for one in each), max(one[1] for one in each))
        for name, each in spans.items()
    }


def spans_met(
    result: SearchResult, trials: Callable[[], Iterable[Trial]]
) -> dict[str, tuple[int, int]]:
    """Return those of one case; of a method without goals that met both regimes its trials tell."""
    if spans := spans_of([result]):
        return spans
    both = boundary_of(one for one in trials() if one.valid)
    if both is None:
        return {}
    ends = {Regime.NEAR: both.near_ns, Regime.FAR: both.far_ns}
    return {regime.value: (end, end) for regime, end in ends.items()}


def spans_in(case: CaseView) -> dict[str, tuple[int, int]]:
    """Return those of a stored case, whose trials are read only where nothing else tells."""
    return {} if case.result is None else spans_met(case.result, lambda: case.standing_trials)


def alone_in(result: SearchResult, boundary: Boundary | None) -> Regime | None:
    """Return the one regime that a result is from, by what others say is near and far."""
    if boundary is None or result.round_trips_ns is None:
        return None
    return boundary.holding(*result.round_trips_ns)


def alone_in_all(
    results: Iterable[SearchResult | None], boundary: Boundary | None
) -> Regime | None:
    """Return the one regime that several repeats are from, if it is the same of all."""
    met = {None if one is None else alone_in(one, boundary) for one in results}
    return met.pop() if len(met) == 1 else None


def all_by_regime(results: Iterable[SearchResult]) -> bool:
    """Whether each result tells what it was in, near or far, and not all in the same one."""
    found = list(results)
    boundary = parted(found)
    return boundary is not None and all(
        any(goal.regimes for goal in one.goals) or alone_in(one, boundary) is not None
        for one in found
    )


def cleanest(goal: GoalResult) -> GoalResult | PartialResult:
    """Return the answer from clean time, or from all time where there is none: as by regime."""
    clean = goal.clean
    return goal if clean is None or clean.limit is None else clean


def findings_of(
    result: SearchResult,
    *,
    curve: bool = False,
    boundary: Boundary | None = None,
    noise: bool = False,
) -> Iterator[Finding]:
    """Yield the numbers of a result in the order of its answers.

    One that there is not, or that is not to be believed, is left out. Those by regime have its name
    behind their own, so that nothing is held against another one; so have those of several
    deployments, each of which is a draw. What is from one regime alone is that regime's, where the
    `boundary` between them is known from others. Loads that were gone through one by one are told
    by the figures that follow from them; `curve` has each of them as well.
    What the machine did beside `noise` that was asked for is part of the question.
    """
    for goal in result.goals:
        yield from finding_of(goal.goal, goal, noise=noise)
    for goal in result.goals:
        for one in goal.regimes:
            yield from finding_of(in_regime(goal.goal, one.regime), one, noise=noise)
    if (regime := alone_in(result, boundary)) is not None:
        for goal in result.goals:
            yield from finding_of(in_regime(goal.goal, regime), cleanest(goal), noise=noise)
    for goal in result.goals:
        yield from _of_draws(goal)
    for measured in _measured(result, noise=noise, curve=curve):
        yield measured
        if regime is not None and measured.name not in CONTROLS:
            yield replace(measured, name=in_regime(measured.name, regime))


def _measured(result: SearchResult, *, noise: bool, curve: bool) -> Iterator[Finding]:
    """Yield what was measured, and not searched for."""
    for figure in result.figures:
        if figure.value is not None and worst(figure.flags) is not Severity.INVALID:
            yield _of_figure(figure, figure.value, noise)
    for load in result.loads if curve or not result.figures else ():
        yield from _of_load(load, noise)


def in_regime(name: str, regime: Regime) -> str:
    """Return the name of a finding that was made in a regime."""
    return f"{name} {regime}"


DRAWN = " over draws"
"""How the name of a finding ends of which each deployment has one."""


def names_of_draws(name: str) -> dict[View, str]:
    """Return the names that an answer has by what its draws are from."""
    plain = {
        View.ALL: name,
        View.CLEAN: f"{name} clean",
        View.NEAR: in_regime(name, Regime.NEAR),
        View.FAR: in_regime(name, Regime.FAR),
    }
    return {view: f"{text}{DRAWN}" for view, text in plain.items()}


def undrawn(name: str) -> tuple[str, ...]:
    """Return the names of answers of single deployments whose scatter draws of a name show."""
    if not name.endswith(DRAWN):
        return ()
    text = name.removesuffix(DRAWN)
    goal = text.partition(" ")[0]
    return tuple(dict.fromkeys((goal, text)))


def _of_draws(goal: GoalResult) -> Iterator[Finding]:
    draws = goal.believed_draws
    if draws is None or draws.lower_fps is None:
        return
    name = names_of_draws(goal.goal)[draws.view]
    for one in draws.told:
        low = float(one.lower_fps or 0)
        high = _high(one.upper_fps, one.limit, noise=False)
        yield Finding(name, Unit.FPS, low, low, high, one.limit)


def regime_in(name: str) -> Regime | None:
    """Return the regime that the name of a finding says."""
    return next((one for one in Regime if name.endswith(f" {one}")), None)


def regime_behind(name: str) -> Regime | None:
    """Return the regime that a finding was made in, or the deployments that it is over."""
    return regime_in(name.removesuffix(DRAWN))


def of_all_trials(name: str) -> str:
    """Return of which number one is that was made in a regime, or over draws."""
    text = next(iter(undrawn(name)), name)
    regime = regime_in(text)
    return text if regime is None else text.removesuffix(f" {regime}")


def finding_of(
    name: str, found: GoalResult | PartialResult, *, noise: bool = False
) -> Iterator[Finding]:
    """Yield the answer to a goal by a name; nothing where there is none to be believed."""
    if Flag.LEFT_TO_REGIMES in found.flags:
        return  # a single trial may have passed there; what regimes came to follows
    if found.lower_fps is not None and worst(found.flags) is not Severity.INVALID:
        high = _high(found.upper_fps, found.limit, noise)
        yield Finding(name, Unit.FPS, found.lower_fps, found.lower_fps, high, found.limit)


def _high(upper: float | None, limit: Limit | None, noise: bool) -> float:
    """Return what the switch does not exceed, as it lost there itself; infinite where nobody knows.

    Beside noise that was asked for, what the host kept it from is what was to be found.
    """
    asked = noise and limit is Limit.HOST
    return math.inf if upper is None or (limit in NOT_ITS_LOSS and not asked) else upper


def at_load(load_fps: int) -> str:
    """Return how the name of a finding says at which load it was found."""
    return f"at {load_fps} fps"


def _of_load(load: LoadResult, noise: bool) -> Iterator[Finding]:
    """Yield what came through and what was lost; what others lost is no loss of the switch."""
    if load.limit is Limit.UNKNOWN or not load.believed:
        return
    at, loss = at_load(load.load_fps), float(Fraction(load.worst_loss_ratio))
    names, came, limit = (f"through {at}", f"loss {at}"), load.throughput_fps, load.limit
    if loss and math.isinf(_high(came, limit, noise)):
        yield Finding(names[0], Unit.FPS, came, came, math.inf, limit)
        yield Finding(names[1], Unit.RATIO, loss, 0, loss, limit)
    else:
        yield _single(names[0], Unit.FPS, came, limit)
        yield _single(names[1], Unit.RATIO, loss, limit)


def _of_figure(figure: Figure, value: float, noise: bool) -> Finding:
    name, unit, limit = figure.name, figure.unit, figure.limit
    if figure.lower is not None:
        high = _high(figure.upper, limit, noise)
        told = figure.lower if math.isinf(high) else value
        return Finding(name, unit, told, figure.lower, high, limit)
    spread = figure.spread
    if spread is not None and spread.runs > 1:
        return Finding(name, unit, value, spread.minimum, spread.maximum, limit, Basis.SPREAD)
    return _single(name, unit, value, limit)


def _single(name: str, unit: Unit, value: float, limit: Limit | None) -> Finding:
    return Finding(name, unit, value, value, value, limit, Basis.NOTHING)


# Latency percentiles as findings: they lie in the trials of a case, and not in its result.


def latencies_of(
    trials: Sequence[Trial], result: SearchResult, boundary: Boundary | None = None
) -> Iterator[Finding]:
    """Yield the percentiles of each load that latency was measured at; by regime as others are."""
    regime = alone_in(result, boundary)
    for latency in latencies(trials, result):
        for percent, value in latency.shown_ns.items():
            name = f"p{percent:g} at {latency.at}"
            yield _single(name, Unit.NANOSECONDS, value, None)
            if regime is not None:
                yield _single(in_regime(name, regime), Unit.NANOSECONDS, value, None)
