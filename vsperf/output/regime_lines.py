"""Where the CPUs were while cases were measured, in lines below their table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from vsperf.analysis.answers import alone_in, by_regime, parted
from vsperf.analysis.summary import CaseRow
from vsperf.quantities.human import human_span, rounded_share
from vsperf.records.flags import Flag
from vsperf.records.regime import Regime


def regime_lines(rows: Sequence[CaseRow]) -> list[str]:
    """Say what is near and far, and for how much of the time, where a row is of either."""
    answered = [goal for row in rows for goal in row.goals if by_regime(goal)]
    told = [one for goal in answered for one in goal.regimes]
    if not told:
        return _alone(rows)
    words = []
    for regime in Regime:
        there = [one for one in told if one.regime is regime]
        shares = (float(Fraction(one.share)) for one in there)
        share = human_span(shares, lambda one, end: rounded_share(one, 0, end))
        least, most = min(one.least_ns for one in there), max(one.most_ns for one in there)
        words.append(f"{least} to {most} ns apart there and back ({share} of the time)")
    clean = ", in clean time" if any(one.clean is not None for one in told) else ""
    where = f"the CPUs of generator and switch {', and '.join(words)}"
    return [f"near, far: from trials{clean} with {where}", *_alone(rows)]


def _alone(rows: Sequence[CaseRow]) -> list[str]:
    """Say which regime it was, of cases that met one alone: near or far, if others tell.

    Trials that do not count may have been made in another one, where a flag says that CPUs moved.
    """
    boundary = parted(row.result for row in rows)
    groups: dict[tuple[Regime | None, bool], list[CaseRow]] = {}
    for row in rows:
        if row.result.round_trips_ns is not None:
            moved = row.record is not None and Flag.CORES_MOVED in row.record.flags
            groups.setdefault((alone_in(row.result, boundary), moved), []).append(row)
    lines = []
    for (regime, moved), group in groups.items():
        spans = [row.result.round_trips_ns for row in group if row.result.round_trips_ns]
        least, most = min(span[0] for span in spans), max(span[1] for span in spans)
        labels = [row.planned.label for row in group]
        more = f" and {len(labels) - 3} others" if len(labels) > 4 else ""
        of = (
            f" in {', '.join(labels[:3] if more else labels)}{more}"
            if len(group) < len(rows)
            else ""
        )
        by = " by the trials that count" if moved else ""
        where = "apart" if regime is None else f"apart, {regime.words}"
        lines.append(
            f"one regime{by}{of}: the CPUs of generator and switch were {least} to {most} ns "
            f"{where}, there and back"
        )
    return lines
