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
from vsperf.quantities.human import End, counted, rounded_share
from vsperf.records.flags import Severity, worst
from vsperf.records.regime import Regime
from vsperf.records.result import Draw, GoalResult, Limit, PartialResult

LEVEL = 0.95
FEW = 4
"""Degrees of freedom: of fewer nobody can say where one more would lie."""

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
    within: float | None
    """Of the middle of those of a case one more lies no farther, in so many cases as LEVEL says;
    None of too few."""

    @classmethod
    def of(cls, cases: Iterable[Ends]) -> Apart | None:
        """Return what cases tell; None where none does."""
        found = [ends for ends in cases if len(ends) > 1]
        if not found:
            return None
        least, most = zip(*map(_apart, found), strict=True)
        return cls(len(found), max(least), max(most), _within(found))


def deployed_anew(rows: Sequence[CaseRow]) -> str:
    """Say how far deployments of a switch lie apart; nothing of several ones, or of one case."""
    switches = {(row.planned.driver("vswitch"), row.testcase) for row in rows}
    cases = _cases(rows) if len(switches) == 1 else []
    apart = Apart.of(cases)
    if apart is None or apart.cases == 1:
        return ""
    least, more = "", ""
    if apart.least:
        least = f"{rounded_share(apart.least, 1, End.LOWER)} at least and "
    if apart.within is not None:
        share = rounded_share(apart.within, 1, End.UPPER)
        more = f"; one more lies within {share} of the middle of these in {LEVEL:.0%} of cases"
    return (
        f"deployed anew, a switch was another one by {least}"
        f"{rounded_share(apart.most, 1, End.UPPER)} at most, by {counted(apart.cases, 'case')} of "
        f"{len(cases)} whose limit is the switch{more}"
    )


def _cases(rows: Sequence[CaseRow]) -> list[Ends]:
    """Return the bounds on deployments of each case: its own, or else those of its repeats.

    Of repeats, which are of one run, those that met one regime alone are held against others that
    met the same: the one that most of them met.
    """
    boundary = parted(row.result for row in rows)
    drawn, repeated = list[Ends](), dict[tuple[str, str], dict[Regime | None, Ends]]()
    for row in rows:
        if any(goal.draws is not None for goal in row.goals):
            drawn.append(drawn_ends(row.goals))
            continue
        there = repeated.setdefault((row.view.run, row.planned.id), {})
        regime = alone_in(row.result, boundary)
        there[regime] = (*there.get(regime, ()), *_single(row.goals))
    return [*drawn, *(max(there.values(), key=len) for there in repeated.values())]


def _single(goals: Sequence[GoalResult]) -> Ends:
    """Return the bounds of the first goal on one deployment, if they are the switch's own."""
    if not goals or goals[0].regimes or worst(goals[0].flags) is Severity.INVALID:
        return ()
    return _own_ends(cleanest(goals[0]))


def drawn_ends(goals: Sequence[GoalResult]) -> Ends:
    """Return the bounds on deployments of the first goal, if each of them is the switch's own."""
    draws = next((one.believed_draws for one in goals if one.draws is not None), None)
    told = () if draws is None else draws.told
    ends = tuple(each for one in told for each in _own_ends(one))
    return ends if len(ends) == len(told) > 1 else ()


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


def _within(cases: Sequence[Ends]) -> float | None:
    """Return how far one more lies from the middle of the fewest: Student, by shares of a rate.

    What intervals leave open is in the scatter of their middles, and in that of one more.
    """
    logs = [[math.log((lower + upper) / 2) for lower, upper in ends] for ends in cases]
    free = sum(len(one) - 1 for one in logs)
    if free < FEW:
        return None
    squares = sum(statistics.variance(one) * (len(one) - 1) for one in logs)
    fewest = min(len(one) for one in logs)
    return math.expm1(_student(free) * math.sqrt(squares / free * (1 + 1 / fewest)))


def _student(free: int) -> float:
    """Return the quantile of Student's distribution on both sides (Cornish and Fisher)."""
    z = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / free + second / free**2 + third / free**3
