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
from vsperf.analysis.difference import Scatter, scatter_of
from vsperf.analysis.summary import CaseRow
from vsperf.quantities.human import End, counted, human_fps, human_interval, rounded_share
from vsperf.records.flags import Severity, worst
from vsperf.records.regime import Boundary, Regime
from vsperf.records.result import Draw, GoalResult, Limit, PartialResult, View

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
    scatter: Scatter | None
    """Of their middles, which has in it what intervals leave open; None of too few."""

    @classmethod
    def of(cls, cases: Iterable[Ends]) -> Apart | None:
        """Return what cases tell; None where none does."""
        found = [ends for ends in cases if len(ends) > 1]
        if not found:
            return None
        least, most = zip(*map(_apart, found), strict=True)
        scatter = scatter_of(map(_middles, found))
        told = scatter if scatter is not None and scatter.freedom >= FEW else None
        return cls(len(found), max(least), max(most), told)

    def one_more(self, ends: Ends) -> tuple[float, float] | None:
        """Return where one more of a case lies, by those that it had, in 95 % of cases.

        It is known no closer than where they lie themselves: searches may end at the same loads.
        """
        if self.scatter is None or not ends:
            return None
        lower, upper = map(statistics.geometric_mean, zip(*ends, strict=True))
        middle = statistics.geometric_mean(_middles(ends))
        factor = math.exp(self.scatter.margin(len(ends), 1))
        return min(lower, middle / factor), max(upper, middle * factor)


@dataclass(frozen=True, slots=True)
class Deployed:
    """The bounds on the deployments of one case, for its first goal."""

    row: CaseRow
    regime: Regime | None
    """In which they were all found, where cases met both."""
    ends: Ends = ()

    @property
    def case(self) -> str:
        """What tells it from other cases of the testcase."""
        return self.row.planned.label.removeprefix(f"{self.row.testcase}-")


def deployed_anew(rows: Sequence[CaseRow]) -> list[str]:
    """Say how far deployments of a switch lie apart; nothing of several ones, or of one case.

    Of one run it is said where one more lies, case by case: another run is held against this.
    """
    switches = {(row.planned.driver("vswitch"), row.testcase) for row in rows}
    cases = deployments_of(rows) if len(switches) == 1 else []
    apart = Apart.of(one.ends for one in cases)
    if apart is None or apart.cases == 1:
        return []
    least = f"{rounded_share(apart.least, 1, End.LOWER)} at least and " if apart.least else ""
    by_vnf = any(row.goals and row.goals[0].limit is Limit.VNF for row in rows)
    said = (
        f"deployed anew, a switch was another one by {least}"
        f"{rounded_share(apart.most, 1, End.UPPER)} at most, by {counted(apart.cases, 'case')} of "
        f"{len(cases)} whose limit is the switch{' or a VNF' if by_vnf else ''}"
    )
    told: dict[str, list[str]] = {}
    several = len({row.view.run for row in rows}) > 1
    for one in () if several else cases:
        if there := apart.one_more(one.ends):
            name = " ".join(filter(None, (one.case, one.regime)))
            text = f"{name} {human_interval(*there, human_fps)}"
            told.setdefault(one.row.goals[0].goal, []).append(text)
    more = (
        f"one more deployment has its {goal}, in 95% of cases, at {', '.join(texts)}"
        for goal, texts in told.items()
    )
    return [said, *more]


def deployments_of(rows: Sequence[CaseRow]) -> list[Deployed]:
    """Return the bounds on deployments of each case, those of its repeats together.

    Of repeats, which are of one run, those that met one regime alone are held against others that
    met the same: the one that most of them met.
    """
    boundary = parted(row.result for row in rows)
    found = dict[tuple[str, str], dict[Regime | None, Deployed]]()
    for row in rows:
        there = found.setdefault((row.view.run, row.planned.id), {})
        one = _deployed(row, boundary)
        before = there.setdefault(one.regime, one)
        if before is not one and one.ends:
            there[one.regime] = Deployed(row, one.regime, (*before.ends, *one.ends))
    return [max(there.values(), key=lambda one: len(one.ends)) for there in found.values()]


def _deployed(row: CaseRow, boundary: Boundary | None) -> Deployed:
    """Return the bounds of the first goal on each deployment, if they are all the switch's own."""
    alone = alone_in(row.result, boundary)
    if not row.goals:
        return Deployed(row, alone)
    goal = row.goals[0]
    if goal.draws is None:
        return Deployed(row, alone, _single(goal))
    if (draws := goal.believed_draws) is None:
        return Deployed(row, alone)
    ends = tuple(each for one in draws.told for each in _own_ends(one))
    regime = REGIMES.get(draws.view, alone)
    return Deployed(row, regime, ends if len(ends) == len(draws.told) else ())


def _single(goal: GoalResult) -> Ends:
    """Return the bounds on one deployment, if they are the switch's own."""
    if goal.regimes or worst(goal.flags) is Severity.INVALID:
        return ()
    return _own_ends(cleanest(goal))


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


def _middles(ends: Ends) -> list[float]:
    return [(lower + upper) / 2 for lower, upper in ends]
