"""What noise cost: each level of a run against its quiet sisters, and whether that is chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from vsperf.analysis.comparison import Comparison, compare
from vsperf.analysis.difference import Difference, Means
from vsperf.analysis.sides import Side, apart
from vsperf.config.noise import NOISE, QUIET
from vsperf.errors import UsageError
from vsperf.output.compare_text import change_text, meanings, reservations, value_text
from vsperf.output.report.account import told
from vsperf.output.report.page import Cost, Costs
from vsperf.records.files.view import open_run
from vsperf.records.result import heading

MOST_LINES = 24
"""Of a summary; `vsperf compare` has all of them."""
BY = {
    Means.RANKS: "by ranks over repeats",
    Means.SCATTER: "by intervals and scatter",
    Means.INTERVALS: "by the intervals of the searches alone",
    Means.NOTHING: "nothing to judge by",
}
REFUSED = "noise cannot be held against the quiet case"


def against_quiet(folder: Path) -> tuple[str, ...]:
    """Return a line for each number and level of a run; none where there is nothing to compare."""
    try:
        found = _compared(folder)
    except UsageError as error:
        return (f"{REFUSED}: {error.with_why}",)
    if found is None:
        return ()
    lines = (*(_line(one) for one in _costs(found)), *_gaps(found))
    more = len(lines) - MOST_LINES
    said = (f"and {more} more: vsperf compare {folder.name} --by {NOISE}",) if more > 0 else ()
    return (*lines[:MOST_LINES], *said)


def costs_of(folders: Sequence[Path]) -> tuple[Costs, ...]:
    """Return for a report what noise cost in each of these runs that have levels of it."""
    found = (told(lambda folder=folder: _told(folder), None) for folder in folders)  # type: ignore[misc]
    return tuple(one for one in found if one is not None)


def _told(folder: Path) -> Costs | None:
    try:
        found = _compared(folder)
    except UsageError as error:
        return Costs(folder.name, (), (f"{REFUSED}: {error.with_why}",))
    if found is None:
        return None
    return Costs(
        run=folder.name,
        rows=tuple(_costs(found)),
        notes=(*meanings(found), *reservations(found), *_gaps(found)),
    )


def _compared(folder: Path) -> Comparison | None:
    """Hold the levels of a run against its quiet cases; None where it does not have both."""
    run = open_run(folder)
    if len({case.driver(NOISE) for case in run.header.cases}) < 2:
        return None
    sides = apart([Side(run.run, (run,), tuple(run.cases()))], NOISE)
    if len(sides) < 2 or sides[0].name != QUIET:
        return None
    return compare(sides)


def _costs(found: Comparison) -> Iterator[Cost]:
    """Yield each number of each level, in the order of the plan."""
    labels = {
        (side.name, side.label(case)): case.label for side in found.sides for case in side.cases
    }
    order = list(dict.fromkeys(label for _, label in labels))
    for row in sorted(found.rows, key=lambda row: (order.index(row.label), row.name)):
        quiet, *others = row.samples
        for level, noisy, one in zip(found.names[1:], others, row.differences, strict=True):
            if one is None or quiet is None or noisy is None:
                continue
            yield Cost(
                label=labels[level, row.label],
                case=row.label,
                number=heading(row.name),
                level=level,
                quiet=value_text(quiet),
                noisy=value_text(noisy),
                change=change_text(one),
                judged=_judged(one),
                repeats=f"{quiet.count}:{noisy.count}",
            )


def _judged(one: Difference) -> str:
    return BY[one.means] if one.p is None else f"{BY[one.means]}, p {one.p:.3f}"


def _line(one: Cost) -> str:
    return f"{one.case} {one.number} beside {one.level}: {one.change}, {one.judged}"


def _gaps(found: Comparison) -> Iterator[str]:
    """Yield which level came to no number, and why."""
    for gap in found.gaps:
        what = f"no {heading(gap.name)}" if gap.name else "no number"
        yield f"{gap.label} beside {found.names[gap.side]}: {what} ({gap.why})"
