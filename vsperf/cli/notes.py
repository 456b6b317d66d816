"""What is said around the tables of a run: criteria before them, what qualifies them after."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from rich.text import Text

from vsperf.record.result import Compliance
from vsperf.record.run import Outcome
from vsperf.stats.remarks import compliances, legend, unclean
from vsperf.stats.summary import CaseRow

MOST_WARNINGS = 100
"""Different ones that people are shown of a run; somebody's record may hold any number."""
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


def notes(rows: Sequence[CaseRow], simulated: bool) -> list[Text]:
    """Return what is to be said of the numbers: what they mean, and what speaks against them."""
    measured = [row for row in rows if row.record is not None]
    said = [Text(line, style="dim") for line in legend(rows, measured, simulated)]
    for row in measured:
        if row.record and row.record.reason and row.record.outcome is not Outcome.FAIL:
            style = OUTCOME_STYLES[row.record.outcome]
            said.append(Text(f"{row.planned.label}: {row.record.reason}", style=style))
    said += [Text(f"{one.planned.label}: {one.refuted}", "magenta") for one in rows if one.refuted]
    warned = _warnings(measured)
    for text, labels in islice(warned.items(), MOST_WARNINGS):
        said.append(Text(f"! {text}{_concerning(labels, measured)}", style="yellow"))
    if (more := len(warned) - MOST_WARNINGS) > 0:
        said.append(Text(f"! and {more:,} more: `vsperf show … --json` has all", style="yellow"))
    if any(row.record and row.record.flags for row in measured):
        said.append(Text("  more on a flag: vsperf explain FLAG", style="dim"))
    for item, labels in compliances(measured).items():
        said.append(Text(_compliance_line(item) + _concerning(labels, measured)))
    return said


def _warnings(rows: Sequence[CaseRow]) -> dict[str, list[str]]:
    """Return flags and warnings, each once with the cases that it concerns."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.record is None:
            continue
        texts = [f"{flag.value}: {flag.gist}" for flag in row.record.flags]
        for text in (*texts, *row.record.warnings, *unclean(row)):
            found.setdefault(text, []).append(row.planned.label)
    return found


def _compliance_line(item: Compliance) -> str:
    why = f": {'; '.join(item.deviations)}" if item.deviations else ""
    return f"{item.standard.value}: {item.level.value}{why}"


def _concerning(labels: Sequence[str], rows: Sequence[CaseRow]) -> str:
    """Name the cases that a note is for, unless it is for all of them."""
    unique = list(dict.fromkeys(labels))
    if len(unique) == len({row.planned.label for row in rows}):
        return ""
    shown = ", ".join(unique) if len(unique) <= 3 else f"{unique[0]} and {len(unique) - 1} others"
    return f" ({shown})"
