"""`vsperf show RUN CASE --why`: what is known of why a case came to no more."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from rich.text import Text

from vsperf.analysis.collected import digest
from vsperf.analysis.why import Measured, Sentence, Verdict, explain, headline
from vsperf.analysis.why_connections import why_connections
from vsperf.analysis.why_programs import why_programs
from vsperf.cli.stored import say_json
from vsperf.cli.tables import console, print_label
from vsperf.errors import UsageError
from vsperf.records.asked import Asked
from vsperf.records.exchange import ECHO
from vsperf.records.files.series import series_of
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.result import COUNTED
from vsperf.trust.printable import vsperf_command

BESIDE = ("noise", "collect")
"""Words of a testcase in one of which a sister may differ: what is beside the switch, not what is
measured. What a frame costs is more likely to be up by the first."""
QUIET = "none"
TURNS = "switches that take turns are held against each other, and not to the most that they do"
MARKS = {Verdict.FULL: "●", Verdict.FREE: "○", Verdict.UNKNOWN: "?"}
MEANING = "● full, or in the way   ○ was not   ? cannot be told"


def why(run: RunView, case: CaseView) -> tuple[str, tuple[Sentence, ...]]:
    """Return the headline and the sentences of a case."""
    measured = _measured(case)
    if measured is None:
        raise UsageError(
            f"{case.label} came to no result that could be explained",
            why="it did not end" if case.record is None else case.record.reason,
            fix=f"look at its trials: {vsperf_command('show', run.run, case.label)}",
        )
    exchanges = case.standing_exchanges
    if believed := tuple(one for one in exchanges if one.valid and one.traffic != ECHO):
        return why_programs(believed)
    if measured.record.result is not None and case.connections:
        counted = (one for one in case.standing_connections if one.valid and one.purpose in COUNTED)
        if figures := measured.record.result.figures:
            return why_connections(figures, counted)
    if exchanges or next(iter(case.rounds), None) is not None:
        raise UsageError(
            f"of {case.label} there is nothing that could have been full",
            why="no exchange of it is believed" if exchanges else TURNS,
            fix=f"look at it: {vsperf_command('show', run.run, case.label)}",
        )
    sister = sister_of(run, case)
    found = explain(measured, _measured(sister) if sister is not None else None)
    return headline(measured, found), found


def show_why(run: RunView, case: CaseView, *, as_json: bool) -> None:
    """Print why a case came to no more, what was full first."""
    first, sentences = why(run, case)
    if as_json:
        say_json(_as_data(first, sentences))
        return
    out = console()
    print_label(out, simulated=run.header.simulated)
    out.print(Text(first, style="bold"))
    for one in sentences:
        out.print(Text(f"{MARKS[one.verdict]} {one.text}"))
    out.print(Text(MEANING, style="dim"))


def _as_data(first: str, sentences: Sequence[Sentence]) -> dict[str, object]:
    rows = [
        {"resource": one.resource, "verdict": str(one.verdict), "text": one.text}
        for one in sentences
    ]
    return {"headline": first, "sentences": rows}


def sister_of(run: RunView, case: CaseView) -> CaseView | None:
    """Return the case that differs in one thing beside the switch, and has none of it.

    One that has another amount of it would not say what is usual.
    """
    found = [
        (BESIDE.index(word), place, other)
        for place, other in enumerate(run.cases())
        if (word := _differing(case, other)) is not None
        if other.planned.point.get(word) == QUIET
        if other.record is not None and other.record.result is not None
    ]
    return min(found, key=itemgetter(0, 1))[2] if found else None


def _differing(one: CaseView, other: CaseView) -> str | None:
    """Return the one word of what is beside the switch in which two cases differ, if it is one."""
    names = {Asked(row.planned).name for row in (one, other)}
    if len(names) > 1 or one.planned.repeat != other.planned.repeat:
        return None
    mine, others = one.planned.point, other.planned.point
    differing = [key for key in mine.keys() | others.keys() if mine.get(key) != others.get(key)]
    return differing[0] if len(differing) == 1 and differing[0] in BESIDE else None


def _measured(case: CaseView) -> Measured | None:
    if case.record is None or case.record.result is None:
        return None
    series = series_of(case.folder, case.key, max(1, case.attempt))
    return Measured(
        label=case.label,
        record=case.record,
        trials=case.standing_trials,
        series=tuple(digest(one.header, one.samples(since=case.died + 1)) for one in series),
        own=tuple((one.header.collector, own.trial) for one in series for own in one.own_trials()),
    )
