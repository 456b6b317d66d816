"""What is said around the tables of a run: criteria before them, what qualifies them after."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from rich.text import Text

from vsperf.analysis.summary import CaseRow
from vsperf.output.case_tables import (
    MOST_WARNINGS,
    column_case,
    compliances,
    legend,
    rests_on,
    unclean,
)
from vsperf.quantities.human import counted
from vsperf.records.flags import Flag, Severity
from vsperf.records.result import Level, Standard
from vsperf.records.run import Outcome

NUMBERS = re.compile(r"\d[\d.,]*(?: [µmn]?s\b)?")
GOAL = re.compile(r"^no \w+ ")
FLAGGED = re.compile("|".join(f"{re.escape(flag.value)}: " for flag in Flag))
"""How a deviation begins that is a flag."""
OUTCOME_STYLES = {
    Outcome.PASS: "green",
    Outcome.FAIL: "red",
    Outcome.INVALID: "magenta",
    Outcome.ERROR: "red",
    Outcome.SKIP: "dim",
    Outcome.ABORTED: "yellow",
}


def criteria(rows: Sequence[CaseRow]) -> list[Text]:
    """Return every criterion with its answer; the question of a run comes first."""
    words = {True: ("met", "green"), False: ("MISSED", "red"), None: ("open", "magenta")}
    return [
        Text(f"{words[check.met][0]}: {row.planned.label}: ", words[check.met][1]).append(
            f"{check.criterion}, found {check.found}", "default"
        )
        for row in rows
        if row.record
        for check in row.record.checks
    ]


def notes(rows: Sequence[CaseRow], simulated: bool, *, whole: bool = False) -> list[Text]:
    """Return what is to be said of the numbers: what they mean, and what speaks against them.

    As a whole, or in short with what tells the rest.
    """
    measured = [row for row in rows if row.record is not None]
    said = [Text(line, style="dim") for line in legend(rows, measured, simulated)]
    said += [Text(line, style="dim") for line in _assumed(measured, whole)]
    for row in measured:
        if row.record and row.record.reason and row.record.outcome is not Outcome.FAIL:
            style = OUTCOME_STYLES[row.record.outcome]
            said.append(Text(f"{row.planned.label}: {row.record.reason}", style=style))
    said += [
        Text(f"{one.planned.label}: {one.view.refuted}", "magenta")
        for one in rows
        if one.view.refuted
    ]
    case = column_case(rows)
    labels = {row.planned.label: str(case.cell(row)) for row in measured}
    warned = _warnings(measured)
    for doubt in islice(warned, MOST_WARNINGS):
        said.append(Text(f"! {doubt.text}{doubt.where(labels)}", "yellow"))
    if (more := len(warned) - MOST_WARNINGS) > 0:
        said.append(Text(f"! and {more:,} more: `vsperf show … --json` has all", style="yellow"))
    if first := next((doubt.remedy for doubt in warned if doubt.remedy), None):
        said.append(Text(f"what to do first: {first}"))
    said += [Text(line) for line in _standing(measured, whole)]
    if measured and not whole:
        hint = "more on a case: vsperf show RUN CASE; on a word: vsperf explain WORD"
        said.append(Text(hint, style="dim"))
    return said


def _assumed(rows: Sequence[CaseRow], whole: bool) -> list[str]:
    looked, assumed = rests_on(rows)
    told = [f"each answer rests on {looked}"] if looked else []
    if whole or not assumed:
        return [*told, *(f"{one}: {one.meaning}" for one in assumed)]
    rests = "".join(f"{one}, and " for one in told) or "each answer "
    return [f"{rests}assumes: {', '.join(assumed)}"]


@dataclass
class Doubt:
    """What speaks against numbers of some cases, in the words of the first."""

    text: str
    gravity: Severity | None = None
    """None of a warning."""
    remedy: str = ""
    """What to do about it; empty where that depends."""
    cases: dict[str, None] = field(default_factory=dict)
    likewise: dict[str, None] = field(default_factory=dict)
    """Cases that say the same with other numbers."""

    def where(self, names: Mapping[str, str]) -> str:
        """Name the cases that it is for, unless it is for all of them."""
        others = [case for case in self.likewise if case not in self.cases]
        if len(self.cases) == len(names):
            return ""
        told = _several([names[case] for case in self.cases])
        more = f"; likewise {_several([names[case] for case in others])}" if others else ""
        return f" ({told}{more})"


def _warnings(rows: Sequence[CaseRow]) -> list[Doubt]:
    """Return each flag and warning once, the gravest flags first."""
    found: dict[tuple[str, int], Doubt] = {}
    for row in rows:
        if row.record is None:
            continue
        flags = [(f"{flag.value}: {flag.gist}", flag) for flag in row.record.flags]
        said = [*row.record.warnings, *unclean(row)]
        met: Counter[str] = Counter()
        for text, flag in _of_one_goal((*flags, *((one, None) for one in said))):
            alike = NUMBERS.sub("#", GOAL.sub("#", text))
            met[alike] += 1  # of one case, two with other numbers are two
            new = Doubt(text) if flag is None else Doubt(text, flag.gravity, flag.remedy)
            doubt = found.setdefault((alike, met[alike]), new)
            (doubt.cases if doubt.text == text else doubt.likewise)[row.planned.label] = None
    order = (Severity.INVALID, Severity.SUSPECT, None, Severity.NOTE)
    return sorted(found.values(), key=lambda doubt: order.index(doubt.gravity))


def _of_one_goal(
    texts: Iterable[tuple[str, Flag | None]],
) -> Iterator[tuple[str, Flag | None]]:
    """Leave out what was said of another goal in the same words."""
    seen: set[str] = set()
    for text, flag in texts:
        if (plain := GOAL.sub("#", text)) not in seen:
            seen.add(plain)
            yield text, flag


def _standing(rows: Sequence[CaseRow], whole: bool) -> Iterator[str]:
    """Say how the cases stand to each standard.

    In short there is a line for each level, with what first deviates in all of its cases; that a
    doubt above is a deviation, too, is not said once more.
    """
    found: dict[tuple[Standard, Level], list[tuple[str, ...]]] = {}
    for item, labels in compliances(rows).items():
        found.setdefault((item.standard, item.level), []).extend([item.deviations] * len(labels))
    for (standard, level), told in found.items():
        head = f"{standard.value}: {level.value}" + (
            "" if len(told) == len(rows) else f" in {len(told)} of {len(rows)} cases"
        )
        common = [one for one in told[0] if all(one in each for each in told)]
        shown = common if whole else [one for one in common if not FLAGGED.match(one)][:1]
        more = max(len(each) for each in told) - len(shown)
        why = [
            *shown,
            *([f"{more} more" if shown else f"for {counted(more, 'reason')}"] if more else []),
        ]
        yield f"{head}: {'; '.join(why)}" if why else head


def _several(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} and {len(names) - 1} others"
