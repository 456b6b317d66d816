"""What is to be said of the numbers of a run, once for all the cases that it concerns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from vsperf.human import human_count, human_seconds
from vsperf.record.assumed import Assumption
from vsperf.record.lossless import unlikely_above
from vsperf.record.regime import Regime
from vsperf.record.result import Compliance, Standard
from vsperf.stats.columns import LOSSY_MARK
from vsperf.stats.summary import LOSSY, CaseRow, flows_differ
from vsperf.units import NANOSECONDS


def legend(
    rows: Sequence[CaseRow], measured: Sequence[CaseRow], simulated: bool, *, clean: bool = True
) -> list[str]:
    """Say what the numbers of a table mean, those from clean time among them or not."""
    lines = []
    if any(row.goals for row in rows):
        lines.append(
            "rates per direction; intervals: highest load that passed … lowest that failed"
        )
    elif measured:
        lines.append("rates per direction")
    if clean and any(goal.clean is not None for row in rows for goal in row.goals):
        lines.append("clean: only the time in which nothing kept generator or switch from running")
    lines += _where(rows) if clean else []
    frames = [count for row in measured for count in row.lossless.values()]
    if frames and (share := unlikely_above(min(frames))) is not None:
        least = "" if len(frames) == 1 else "at least "
        lines.append(
            f"no frame lost at a lower bound{_of_which(rows)}: of {least}"
            f"{human_count(min(frames))} sent there each way, so that a loss ratio above "
            f"{share:.1e} is unlikely (3/n, at 95 %)"
        )
    lines += _assumed(measured)
    references = {row.middle_latency.reference for row in rows if row.middle_latency}
    if references:
        lines.append(f"latency at {', '.join(sorted(references))}, all directions together")
    if any(row.middle_latency.lost_frames for row in rows if row.middle_latency):
        lines.append(f"{LOSSY_MARK} frames were lost at that load: {LOSSY}")
    if flows_differ(rows) and any(row.hits for row in rows):
        lines.append("caches of the switch: by which share of the lookups each was the answer")
    if simulated and measured:
        lines.append("time is that of the model")
    return lines


def _where(rows: Sequence[CaseRow]) -> list[str]:
    """Say what is near and far, and for how much of the time."""
    told = [one for row in rows for goal in row.goals for one in goal.regimes]
    if not told:
        return []
    words = []
    for regime in Regime:
        there = [one for one in told if one.regime is regime]
        shares = sorted(float(Fraction(one.share)) for one in there)
        share = " to ".join(dict.fromkeys(f"{one:.0%}" for one in (shares[0], shares[-1])))
        least, most = min(one.least_ns for one in there), max(one.most_ns for one in there)
        words.append(f"{least} to {most} ns apart there and back ({share} of the time)")
    clean = ", in clean time" if any(one.clean is not None for one in told) else ""
    where = f"the CPUs of generator and switch {', and '.join(words)}"
    return [f"near, far: from trials{clean} with {where}"]


def _assumed(rows: Sequence[CaseRow]) -> list[str]:
    """Say what answers rest on, and what they take for granted since no trial there can tell."""
    resting = [one for row in rows for one in row.resting.values()]
    if not resting:
        return []
    shortest = min(one.sending_ns for one in resting) / NANOSECONDS
    least = "" if len(resting) == 1 else "at least "
    taken = [one for one in Assumption if any(one in each.assumed for each in resting)]
    return [
        f"each answer rests on {least}{human_seconds(shortest)} of trials at its bounds: {one}"
        if one is Assumption.STEADY
        else str(one)
        for one in taken
    ]


def _of_which(rows: Sequence[CaseRow]) -> str:
    """Name the lower bounds at which not one frame was lost, unless it is all of them.

    A goal that allows loss may have one that lost frames, in a case whose other goal has none. Of
    repeats and of several runs, whose cases are called the same, it is said how many they are.
    """
    answered = [row for row in rows if row.goals]
    cases = {
        name: [row for row in answered if any(goal.goal == name for goal in row.goals)]
        for name in dict.fromkeys(goal.goal for row in answered for goal in row.goals)
    }
    held = {name: sum(name in row.lossless for row in each) for name, each in cases.items()}
    if all(held[name] == len(each) for name, each in cases.items()):
        return ""
    labels = [row.planned.label for row in answered]
    if len({*labels}) < len(labels) or all(held[name] in (0, len(cases[name])) for name in cases):
        told = [_held(name, held[name], len(each)) for name, each in cases.items() if held[name]]
        return f" of {', '.join(told)}"
    told = [
        row.planned.label
        if len(row.lossless) == len(row.goals)
        else f"{row.planned.label} ({', '.join(name.upper() for name in row.lossless)})"
        for row in answered
        if row.lossless
    ]
    more = f" and {len(told) - 3} others" if len(told) > 4 else ""
    return f" of {', '.join(told[:3] if more else told)}{more}"


def _held(name: str, held: int, cases: int) -> str:
    return name.upper() if held == cases else f"{name.upper()} in {held} of {cases} cases"


def unclean(row: CaseRow) -> list[str]:
    """Say why there is no answer from clean time or in a regime, where there is none."""
    return [
        f"no {goal.goal} from clean time: {goal.clean.reason}"
        for goal in row.goals
        if goal.clean is not None and goal.clean.limit is None
    ] + [
        f"no {goal.goal} while the CPUs were {one.regime.words}, "
        f"{float(Fraction(one.share)):.0%} of the time: {one.reason}"
        for goal in row.goals
        for one in goal.regimes
        if one.limit is None
    ]


def compliances(rows: Sequence[CaseRow]) -> dict[Compliance, list[str]]:
    """Return each way to stand to a standard with the cases that it holds for."""
    found: dict[Compliance, list[str]] = {}
    for row in rows:
        for item in row.record.compliance if row.record else ():
            found.setdefault(item, []).append(row.planned.label)
    return dict(sorted(found.items(), key=lambda pair: list(Standard).index(pair[0].standard)))
