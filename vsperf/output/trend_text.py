"""A trend in words and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from vsperf.analysis.environment import Contrast
from vsperf.analysis.trend import Step, Trend
from vsperf.output.compare_text import common_prefix, first_of, value_text
from vsperf.output.table import Cell, Column, Table
from vsperf.quantities.human import counted, human_share
from vsperf.records.files.view import CaseView
from vsperf.records.meaning import how_far
from vsperf.records.result import amount, heading

SHOWN = 6
"""Differences that are told of a change."""
LAST = 2
"""Changes of a series that stand in a table of several, the last ones."""


def trend_table(trend: Trend, limit: int) -> Table:
    """Return the last runs of a series, a change in the row of the first run after it."""
    steps = {step.place: step for step in trend.steps}
    first = max(0, len(trend.points) - limit)
    rows = []
    for place, point in enumerate(trend.points[first:], start=first):
        change: str | Cell = point.no_answer
        if (step := steps.get(place)) is not None:
            told = filter(None, (step_text(trend, step), point.no_answer))
            change = Cell("; ".join(told), _mark(trend, step))
        rows.append(
            (
                point.run,
                point.case.header.started_at[:16].replace("T", " "),
                value_text(point.sample),
                str(point.sample.count),
                change,
            )
        )
    heads: tuple[Column[Any], ...] = (
        Column("run"),
        Column("begun (UTC)", below=True),
        Column(heading(trend.name), align="right"),
        Column("repeats", align="right", rank=1),
        Column("change", breaks=True),
    )
    return Table(title(trend), heads, tuple(rows), "changes")


def overview_table(found: Sequence[Trend]) -> Table:
    """Return a row for each series: whether it changed, by how much, and from which run on."""
    prefix = common_prefix([trend.label for trend in found])
    testbeds = list(dict.fromkeys(trend.testbed for trend in found))
    heads: tuple[Column[Trend], ...] = (
        Column("case", of=lambda one: one.label.removeprefix(prefix) or one.label),
        Column("number", of=lambda one: heading(one.name)),
        Column("testbed", of=lambda one: one.testbed),
        Column("runs", of=lambda one: str(len(one.points)), align="right"),
        Column("latest", of=lambda one: value_text(one.points[-1].sample), align="right"),
        Column("change", of=_change, breaks=True),
    )
    kept = [head for head in heads if head.name != "testbed" or len(testbeds) > 1]
    cases = f"cases of {prefix.rstrip('-')}" if prefix else "cases"
    where = f", testbed {testbeds[0]}" if len(testbeds) == 1 else ""
    return replace(Table.made(f"{cases}{where}", kept, found), keys=2)


def _change(trend: Trend) -> Cell:
    """Say by how much a series changed and with which run, as of its last changes."""
    steps = trend.steps[-LAST:]
    if trend.told_by:
        return Cell(f"see {trend.told_by}")
    if not steps:
        medians = [point.sample.median for point in trend.answers]
        share = max(medians) / min(medians) - 1 if medians and min(medians) > 0 else 0
        within = f", within {human_share(share)}" if share else ""
        return Cell(f"{unchanged(trend)}{within}")
    texts = [f"and {len(trend.steps) - LAST} before"] if len(trend.steps) > LAST else []
    for step in steps:
        point = trend.points[step.place]
        when = f"{point.case.header.started_at[:10]} {_letters(point.run)}"
        texts.append(f"cut at {when}" if step.cut else f"{step_text(trend, step)}, from {when}")
    return Cell("\n".join(texts), _mark(trend, steps[-1]))


def unchanged(trend: Trend) -> str:
    """Say of a series without changes that it has none, or too few answers for one."""
    count = len(trend.answers)
    return "no change" if count > 1 else f"cannot be told: {counted(count, 'answer')}"


def _letters(run: str) -> str:
    return run.rpartition("-")[2]


def of_changes(found: Sequence[Trend]) -> Iterator[str]:
    """Yield what differed where numbers changed, once for all that changed with the same run."""
    alike: dict[tuple[str, str], list[Step]] = {}
    for trend in found:
        for step in trend.steps:
            about = trend.points[step.place].run, differing(step.contrasts)
            alike.setdefault(about, []).append(step)
    for (run, differs), steps in alike.items():
        cuts = sum(step.cut for step in steps)
        told = [f"{counted(len(steps) - cuts, 'number')} changed"] if cuts < len(steps) else []
        told += [f"{cuts} cut by other settings or another host"] if cuts else []
        yield f"{run}: {', '.join(told)}; {differs}"


def of_one_run(found: Sequence[Trend]) -> Iterator[str]:
    """Yield of which series there is a single run, where it is shown, and how to come to more."""
    cases = [trend.points[-1].case for trend in found]
    last = max(cases, key=lambda case: case.header.started_at)
    names = [f"{trend.label} {heading(trend.name)}" for trend in found]
    yield f"of a single run, so there is nothing to compare yet: {first_of(names)}"
    yield f"what it found: vsperf show {_letters(last.run)}"
    yield f"a trend begins with the next run of the same: {_again(last)}"


def of_no_answers(found: Sequence[Trend]) -> Iterator[str]:
    """Yield which runs stand in series without any answer of a case, and why."""
    why: dict[tuple[str, str], str] = {}
    told = {(one.run, trend.label) for trend in found for one in trend.answers}
    for trend in found:
        for point in trend.points:
            if point.no_answer and (point.run, trend.label) not in told:
                why.setdefault((point.run, trend.label), point.no_answer)
    alike: dict[str, dict[str, None]] = {}
    for (run, _), text in why.items():
        alike.setdefault(text, {})[_letters(run)] = None
    if not alike:
        return
    which = "; ".join(f"{first_of([*runs])} ({text})" for text, runs in alike.items())
    count = counted(len({run for run, _ in why}), "run")
    yield f"no change is found from {count} without an answer: {which}"


def of_undrawn(cases: Sequence[CaseView]) -> Iterator[str]:
    """Yield how many runs have no point, which, how their cases ended, and what says why."""
    ended: dict[str, Counter[str]] = {}
    for case in cases:
        ended.setdefault(case.run, Counter())[_ending(case)] += 1
    if not ended:
        return
    names = [
        f"{run} ({', '.join(f'{count} {word}' for word, count in words.items())})"
        for run, words in ended.items()
    ]
    one = len(ended) == 1
    head = f"{counted(len(ended), 'run')} {'is' if one else 'are'} not drawn where"
    yield f"{head} {'it' if one else 'they'} came to no number: {first_of(names)}"
    yield f"why: vsperf show {_letters(next(reversed(ended)))}"


def _ending(case: CaseView) -> str:
    return (
        case.outcome.value
        if case.outcome
        else how_far(begun=case.attempt > 0, refuted=case.refuted)
    )


def _again(case: CaseView) -> str:
    """Return the command that measures the same again; what resumed a run is none."""
    header = case.header
    if header.argv and "--resume" not in header.argv:
        return header.command_line
    return f"vsperf run {case.testcase} --testbed {header.testbed}"


def _mark(trend: Trend, step: Step) -> str:
    return "" if step.cut else "worse" if trend.worse(step) else "better"


def title(trend: Trend) -> str:
    """Say what a series is of."""
    return f"{trend.label}, {heading(trend.name)}, testbed {trend.testbed}"


def step_text(trend: Trend, step: Step) -> str:
    """Say what happened at a step, in a few words."""
    if step.share is None:
        return "cut: other settings or host"
    word = "worse" if trend.worse(step) else "better"
    return f"{100 * step.share:+.2f} %, {word}"


def changes(trend: Trend) -> Iterator[str]:
    """Yield a sentence on each change: since which run, by how much, and what differed there."""
    for step in trend.steps:
        point = trend.points[step.place]
        levels = f"{amount(step.before, trend.unit)} → {amount(step.after, trend.unit)}"
        what = "cut" if step.share is None else f"{step_text(trend, step)} ({levels})"
        yield f"{point.run}: {what}; {differing(step.contrasts)}"


def differing(found: Sequence[Contrast]) -> str:
    """Say what differs between two runs, what matters most first."""
    if not found:
        return "nothing that was recorded differs from the run before"
    told = [f"{one.name} {one.text(0)} → {one.text(1)}" for one in found[:SHOWN]]
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "; ".join([*told, *more])


def trend_data(trend: Trend) -> dict[str, Any]:
    """Return a series as plain data; shares are of one."""
    return {
        "case": trend.label,
        "testbed": trend.testbed,
        "number": trend.name,
        "unit": trend.unit.value,
        "simulated": trend.simulated,
        "runs": [
            {
                "run": point.run,
                "started_at": point.case.header.started_at,
                "labels": dict(point.case.labels),
                "median": point.sample.median,
                "is_lower_bound": point.sample.median_is_open,
                "no_answer": point.no_answer or None,
                "values": list(point.sample.values),
            }
            for point in trend.points
        ],
        "not_drawn": [
            {
                "run": case.run,
                "outcome": case.outcome.value if case.outcome else None,
                "reason": case.record.reason if case.record else case.refuted,
            }
            for case in trend.undrawn
        ],
        "changes": [
            {
                "first_run": trend.points[step.place].run,
                "cut": step.cut,
                "before": step.before,
                "after": step.after,
                "share": step.share,
                "worse": trend.worse(step) if step.share is not None else None,
                "differing": [
                    {"name": one.name, "before": one.values[0][0], "after": one.values[1][0]}
                    for one in step.contrasts
                ],
            }
            for step in trend.steps
        ],
    }
