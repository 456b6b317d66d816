"""How far deployments of a switch lie apart, by all cases that were asked on several, or repeated.

A case tells little of that: two or three draws. Several tell more, as a draw is one of memory, and
its share of a rate much the same for all sizes of frames.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vsperf.analysis.answers import alone_in, cleanest, parted
from vsperf.analysis.summary import CaseRow
from vsperf.quantities.human import End, counted, human_fps, human_interval, rounded_share
from vsperf.records.flags import Severity, worst
from vsperf.records.regime import Boundary, Regime
from vsperf.records.result import Draw, GoalResult, Limit, PartialResult, View

LEVEL = 0.95
FEW = 3
"""Degrees of freedom: of fewer nobody can say where one more would lie."""

REGIMES = {View.NEAR: Regime.NEAR, View.FAR: Regime.FAR}

Ends = tuple[tuple[int, int], ...]
"""The lower and the upper bound on each deployment."""


@dataclass(frozen=True, slots=True)
class Apart:
    """What deployments of some cases tell of any other one."""

    cases: int
    least: Fraction
    """So far some lie apart at least, where their intervals do not meet,"""
    most: Fraction
    """and none farther than this."""
    scatter: float | None
    """Of the logarithm of a rate from one to the next, at LEVEL; None of too few."""

    @classmethod
    def of(cls, cases: Iterable[Ends]) -> Apart | None:
        """Return what cases tell; None where none does."""
        found = [ends for ends in cases if len(ends) > 1]
        if not found:
            return None
        least, most = zip(*map(_apart, found), strict=True)
        return cls(len(found), max(least), max(most), _scatter(found))

    def one_more(self, ends: Ends) -> tuple[float, float] | None:
        """Return where one more of a case lies in so many cases as LEVEL says, by those it had."""
        if self.scatter is None or not ends:
            return None
        middle = statistics.fmean(_logs(ends))
        margin = self.scatter * math.sqrt(1 + 1 / len(ends))
        return math.exp(middle - margin), math.exp(middle + margin)


@dataclass(frozen=True, slots=True)
class Deployed:
    """The bounds on the deployments of one case."""

    row: CaseRow
    regime: Regime | None
    """In which they were all found, where cases met both."""
    ends: Ends


def deployed_anew(rows: Sequence[CaseRow]) -> list[str]:
    """Say how far deployments of a switch lie apart; nothing of several ones, or of one case.

    Where one more lies is said of each case: this is what another run of it is held against.
    """
    switches = {(row.planned.driver("vswitch"), row.testcase) for row in rows}
    cases = deployments_of(rows) if len(switches) == 1 else []
    apart = Apart.of(one.ends for one in cases)
    if apart is None or apart.cases == 1:
        return []
    least = f"{rounded_share(apart.least, 1, End.LOWER)} at least and " if apart.least else ""
    said = (
        f"deployed anew, a switch was another one by {least}"
        f"{rounded_share(apart.most, 1, End.UPPER)} at most, by {counted(apart.cases, 'case')} of "
        f"{len(cases)} whose limit is the switch"
    )
    more = [(one, there) for one in cases if (there := apart.one_more(one.ends))]
    if not more:
        return [said]
    told = ", ".join(f"{_named(one)} {human_interval(*there, human_fps)}" for one, there in more)
    goal = more[0][0].row.goals[0].goal
    return [said, f"one more deployment has its {goal}, in {LEVEL:.0%} of cases, at {told}"]


def _named(one: Deployed) -> str:
    label = one.row.planned.label.removeprefix(f"{one.row.testcase}-")
    return label if one.regime is None else f"{label} {one.regime}"


def deployments_of(rows: Sequence[CaseRow]) -> list[Deployed]:
    """Return the bounds on deployments of each case: its own, or else those of its repeats.

    Of repeats, which are of one run, those that met one regime alone are held against others that
    met the same: the one that most of them met.
    """
    boundary = parted(row.result for row in rows)
    drawn = list[Deployed]()
    repeated = dict[tuple[str, str], dict[Regime | None, Deployed]]()
    for row in rows:
        if any(goal.draws is not None for goal in row.goals):
            drawn.append(_drawn(row, boundary))
            continue
        there = repeated.setdefault((row.view.run, row.planned.id), {})
        regime = alone_in(row.result, boundary)
        ends = (*(there[regime].ends if regime in there else ()), *_single(row.goals))
        there[regime] = Deployed(row, regime, ends)
    most = (max(there.values(), key=lambda one: len(one.ends)) for there in repeated.values())
    return [*drawn, *most]


def _single(goals: Sequence[GoalResult]) -> Ends:
    """Return the bounds of the first goal on one deployment, if they are the switch's own."""
    if not goals or goals[0].regimes or worst(goals[0].flags) is Severity.INVALID:
        return ()
    return _own_ends(cleanest(goals[0]))


def _drawn(row: CaseRow, boundary: Boundary | None) -> Deployed:
    """Return the bounds on those of the first goal, if each of them is the switch's own."""
    alone = alone_in(row.result, boundary)
    draws = next((one.believed_draws for one in row.goals if one.draws is not None), None)
    if draws is None:
        return Deployed(row, alone, ())
    ends = tuple(each for one in draws.told for each in _own_ends(one))
    regime = REGIMES.get(draws.view, alone)
    return Deployed(row, regime, ends if len(ends) == len(draws.told) else ())


def _own_ends(found: GoalResult | PartialResult | Draw) -> Ends:
    """Return the bounds on one deployment, if they are the switch's own."""
    if found.limit not in (Limit.DUT, Limit.VNF) or not found.lower_fps or not found.upper_fps:
        return ()
    return ((found.lower_fps, found.upper_fps),)


def _apart(ends: Ends) -> tuple[Fraction, Fraction]:
    """Return by how much the fastest and the slowest differ at least, and at most."""
    lowers, uppers = zip(*ends, strict=True)
    least = Fraction(max(lowers), min(uppers)) - 1
    return max(Fraction(0), least), Fraction(max(uppers), min(lowers)) - 1


def _logs(ends: Ends) -> list[float]:
    return [math.log((lower + upper) / 2) for lower, upper in ends]


def _scatter(cases: Sequence[Ends]) -> float | None:
    """Return how far deployments scatter by shares of a rate: Student, over all cases.

    What intervals leave open is in the scatter of their middles, and in that of one more.
    """
    logs = [_logs(ends) for ends in cases]
    free = sum(len(one) - 1 for one in logs)
    if free < FEW:
        return None
    squares = sum(statistics.variance(one) * (len(one) - 1) for one in logs)
    return _student(free) * math.sqrt(squares / free)


def _student(free: int) -> float:
    """Return the quantile of Student's distribution on both sides (Cornish and Fisher)."""
    z = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / free + second / free**2 + third / free**3
