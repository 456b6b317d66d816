"""Whether a run is slower than before: than its baseline, or the last run of the same case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vsperf.analysis.answers import findings_of, more_is_better, of_all_trials
from vsperf.analysis.comparison import Comparison, Row, compare
from vsperf.analysis.difference import SEEN, Difference, Means, least_repeats
from vsperf.analysis.sides import Side, side_of
from vsperf.analysis.summary import beside_noise, too_busy_to_tell
from vsperf.errors import UsageError, VsperfError
from vsperf.output.compare_text import between_text, common_prefix, first_of, percent_text
from vsperf.output.report.account import told
from vsperf.output.report.page import Brief
from vsperf.records.asked import Asked
from vsperf.records.files.baselines import Baseline, baselines
from vsperf.records.files.index import CaseEntry, Filter, Index
from vsperf.records.files.view import RunView, open_run
from vsperf.records.result import heading
from vsperf.records.run import Outcome

QUESTION = "Is it slower than before?"
BY = {
    Means.RANKS: "by ranks over repeats",
    Means.SCATTER: "by intervals and how far repeats lie apart",
    Means.INTERVALS: "by the intervals of single runs, and nobody knows how far runs lie apart: "
    f"`--repeat {least_repeats()}` on each side tells by ranks",
}
NO_EARLIER = "no earlier run of the same has a number to hold it against; too busy to tell"
BUSY = "the machine was too busy to tell"
MOVED = "one was measured with CPUs near each other, and the other one far, or both"
DEPENDENT = "repeats depend on each other"
ALONE = "single numbers without bounds, or a lower bound above which one can be anything"
NUMBERED = (Outcome.PASS, Outcome.FAIL)


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a run is held against."""

    name: str
    """For people."""
    folders: tuple[Path, ...]
    found: tuple[Path, ...]
    """Of the runs that are held against it."""
    command: str
    """What shows all of it."""


def before_of(results: Path, folders: Sequence[Path]) -> Brief | None:
    """Return the answer for the first screen of a report; None where there is nothing before.

    Of several runs, the last one is held against the first. Of a run, its baseline counts first:
    that which its criteria name, then the one that was set last.
    """
    return told(lambda: _before_of(results, folders), None)


def _before_of(results: Path, folders: Sequence[Path]) -> Brief | None:
    runs = sorted((open_run(one) for one in folders), key=lambda run: run.header.started_at)
    passed: list[str] = []
    for earlier in _earlier(results, runs, passed):
        base = side_of(earlier.name, earlier.folders)
        other = side_of(earlier.found[0].name, earlier.found)
        try:
            found = compare((base, other))
        except UsageError as error:
            if earlier.name.startswith("the baseline"):
                return Brief(QUESTION, f"It cannot be told: {error.with_why}.", "", "")
            continue
        if (answer := _answer(found, base, other)) is not None:
            return Brief(QUESTION, f"{answer} More: `{earlier.command}`.", "", "")
    if passed:
        runs_text = first_of(list(dict.fromkeys(passed)))
        return Brief(QUESTION, f"It cannot be told: {NO_EARLIER}: {runs_text}.", "", "")
    return None


def _earlier(results: Path, runs: Sequence[RunView], passed: list[str]) -> Iterable[Earlier]:
    """Yield what a report may be held against, what tells most first.

    What is before it on a machine that was too busy is put down in `passed`.
    """
    last = runs[-1]
    if len(runs) > 1:
        first = runs[0]
        yield _run(first, last)
        return
    if last.folder.parent.resolve() != results.resolve():
        return  # nobody knows what lies beside it
    for baseline in _baselines(results, last):
        name = f"the baseline {baseline.name}"
        command = f"vsperf compare --baseline {baseline.name} {_letters(last)}"
        yield Earlier(name, (baseline.folder,), (last.folder,), command)
    if (folder := _same_case(results, last, passed)) is not None:
        yield _run(open_run(folder), last)


def _run(first: RunView, last: RunView) -> Earlier:
    name = f"{first.run} of {first.header.started_at[:16].replace('T', ' ')} UTC"
    command = f"vsperf compare {_letters(first)} {_letters(last)}"
    return Earlier(name, (first.folder,), (last.folder,), command)


def _letters(run: RunView) -> str:
    """Return what a run is called in short."""
    return run.run.rpartition("-")[2]


def _baselines(results: Path, run: RunView) -> list[Baseline]:
    """Return the baselines of other runs, those that criteria name first."""
    asked = {name for case in run.header.cases for name in Asked(case).baselines}
    try:
        found = [one for one in baselines(results) if one.there and one.run != run.run]
    except VsperfError:
        return []
    return sorted(
        sorted(found, key=lambda one: one.set_at, reverse=True),
        key=lambda one: one.name not in asked,
    )


def _same_case(results: Path, run: RunView, passed: list[str]) -> Path | None:
    """Return the last run before this one that has an answer of one of its cases.

    Where none has, it is one with a lower bound, below which a run would be slower for sure.
    """
    header, bounded = run.header, None
    planned = {case.id for case in header.cases}
    with Index.open(results) as index:
        index.refresh()
        for name in dict.fromkeys(Asked(case).name for case in header.cases):
            wanted = Filter(testcase=name, testbed=header.testbed, simulated=header.simulated)
            for case in index.cases(wanted):
                earlier = case.run != run.run and case.started_at < header.started_at
                if not earlier or case.id not in planned or case.outcome not in NUMBERED:
                    continue
                if too_busy_to_tell(case.record):
                    passed.append(case.run.rpartition("-")[2])
                elif not _is_bound(case):
                    return results / case.run
                else:
                    bounded = bounded or results / case.run
    return bounded


def _is_bound(case: CaseEntry) -> bool:
    """Whether the first number of a case says no more than how far its search came."""
    if case.record is None or case.record.result is None:
        return False
    found = findings_of(case.record.result, noise=beside_noise(case.record))
    return any(one.is_bound for one in list(found)[:1])


def _answer(found: Comparison, base: Side, other: Side) -> str | None:
    """Say what became of the first number of each case; None where none stands on both sides."""
    first = {
        case.label: next((one.name for one in findings_of(case.result)), "")
        for case in other.cases
        if case.result is not None
    }
    rows = [row for row in found.rows if of_all_trials(row.name) == first.get(row.label)]
    told_of = [(row, one) for row in rows if (one := row.differences[0]) is not None]
    if not told_of:
        met = any(row.elsewhere(1) for row in rows)
        return f"It cannot be told against {base.name}: {MOVED}." if met else None
    prefix = common_prefix([row.label for row, _ in told_of])
    against = f"against {base.name}"
    judged = [(row, one) for row, one in told_of if one.means is not Means.NOTHING]
    if not judged:
        why = DEPENDENT if any(row.dependent(1) for row, _ in told_of) else ALONE
        why = BUSY if any(row.too_busy(1) for row, _ in told_of) else why
        return f"It cannot be told {against}: {why}."
    worse = [(row, one) for row, one in judged if row.worse(1)]
    better = [(row, one) for row, one in judged if one.significant and not row.worse(1)]
    of = f" of {len(judged)}" if len(judged) > 1 else ""
    for word, unsure, some in (
        ("Yes", "Perhaps", worse),
        ("No, it is better", "No, perhaps it is better", better),
    ):
        if some and not any(row.surely(1) for row, _ in some):
            return f"{unsure}: {_told(*some[0], prefix)}, {against}, which a deployment may draw."
        if some:
            count = f"{len(some)}{of} numbers; the most, " if of else ""
            return f"{word}: {count}{_told(*some[0], prefix)}, {against}, {BY[some[0][1].means]}."
    if wide := [(row, one) for row, one in told_of if row.untold(1)]:
        row, one = wide[0]
        return (
            f"It cannot be told {against}: a change of {percent_text(SEEN).lstrip('+')} or more "
            f"can be neither seen nor ruled out, of {_told(row, one, prefix)}."
        )
    most = max(judged, key=lambda one: abs(one[1].share or 0))
    count = f" in any{of} numbers; the most, " if of else ": "
    return f"No change that is more than chance{count}{_told(*most, prefix)}, {against}."


def _told(row: Row, one: Difference, prefix: str) -> str:
    name = f"{row.label.removeprefix(prefix) or row.label} {heading(row.name)}"
    way = "" if more_is_better(row.name, row.unit) else " (less is better)"
    between = between_text(one.least, one.most)
    share = percent_text(one.share) if one.share is not None else one.change.value * one.significant
    return " ".join(part for part in (f"{name}{way}", share, between) if part)
