"""What kept an answer about connections from being higher, in words, by its trials. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsperf.quantities.human import human_count, human_share
from vsperf.records.connections import ConnectionTrial
from vsperf.records.flags import Flag
from vsperf.records.result import CleanResult, GoalResult, Limit

SATURATED_PPM = 950_000
"""From this share of its time on, a generator that has something to do may be what is too slow."""
AWAY = 0.1
"""From this share of the time on, whoever did not run was not too slow."""


def limit_of(
    goal: GoalResult, made: Sequence[tuple[int, ConnectionTrial]], said: Callable[[int], str]
) -> tuple[Limit, str]:
    """Return what kept an answer from being higher, in the words of connections."""
    limit, lower, upper = goal.limit, goal.lower_fps, goal.upper_fps
    if limit is Limit.SETTING and lower is not None:
        return limit, f"the highest that may be offered, {said(lower)}, held"
    if limit is Limit.BUDGET:
        return limit, f"the time ended before the interval was narrow enough{known(goal, said)}"
    if limit is Limit.GENERATOR and upper is None:
        return _not_begun(made, lower, said)
    lossy = [one for one in at_load(made, upper) if one.failed]
    if upper is None or not lossy:
        return limit, f"trials do not agree{known(goal, said)}"
    mildest = min(lossy, key=lambda one: one.failed_ratio or 0)
    assert mildest.accounts is not None  # it has some that failed
    reason = (
        f"at {said(upper)} {mildest.failed:,} of {mildest.accounts.launched:,} {mildest.noun} "
        f"failed ({human_share(float(mildest.failed_ratio or 0))}): {mildest.causes_text}"
    )
    asking = mildest.counts.asking if mildest.counts else None
    if asking is not None and asking.repeated:
        reason += f"; {human_count(asking.repeated)} {mildest.pieces} were lost, and sent again"
    dropped = mildest.switch.drops if mildest.switch is not None else {}
    told = [f"{count:,} {why}" for why, count in dropped.items() if count]
    reason += f"; the switch counted {', '.join(told)}" if told else ""
    reason += _doubted(goal)
    busy = [one.busy_ppm for one in lossy]
    if limit is Limit.DUT and min(busy, default=0) >= SATURATED_PPM:
        return Limit.GENERATOR, (
            f"{reason}; the generator had no time left there, so nobody can tell whose they are"
        )
    return limit, reason


def _doubted(goal: GoalResult) -> str:
    """Say why failures at an upper bound are not the switch's, where a search has found that."""
    if goal.limit is Limit.HOST:
        return "; in clean time none of these trials would have failed"
    if goal.limit is not Limit.UNKNOWN:
        return ""
    if Flag.UPPER_NOT_REPRODUCED in goal.flags:
        return "; when it was tried again, none failed"
    if Flag.CONSTANT_LOSS in goal.flags:
        return "; about as many fail at any load"
    return "; whose failures these are nobody can tell"


def _not_begun(
    made: Sequence[tuple[int, ConnectionTrial]], lower: int | None, said: Callable[[int], str]
) -> tuple[Limit, str]:
    """Say what the generator did not begin in time, at the lowest load above an answer, and why."""
    late = [(load, one) for load, one in made if one.short and load > (lower or 0)]
    if not late:
        return Limit.UNKNOWN, "the generator did not begin all in time"
    load, one = min(late, key=lambda pair: (pair[0], pair[1].unsent))
    reason = f"at {said(load)} the generator began {one.short} in time"
    away = (one.paused_ns or 0) / max(1, one.begun_ns or 0)
    limit = Limit.GENERATOR
    if one.client is not None and one.client.no_port:
        reason += "; its addresses had no port left, and search.clients says how many there are"
    elif away >= AWAY:
        limit, share = Limit.HOST, human_share(min(1.0, away))
        reason += f"; the machine kept it from running for {share} of the time"
    return (Limit.UNKNOWN if lower is None else limit), reason


def known(goal: GoalResult | CleanResult, said: Callable[[int], str]) -> str:
    """Say which loads held and did not; empty where nobody knows any."""
    parts = []
    if goal.lower_fps is not None:
        parts.append(f"{said(goal.lower_fps)} held")
    if goal.upper_fps is not None:
        parts.append(f"{said(goal.upper_fps)} did not")
    return f"; {', '.join(parts)}" if parts else ""


def at_load(made: Sequence[tuple[int, ConnectionTrial]], load: int | None) -> list[ConnectionTrial]:
    """Return the trials at a load."""
    return [one for offered, one in made if offered == load]
