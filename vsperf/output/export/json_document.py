"""JSON: all that is recorded of the last attempt at each case, with what the tables say of it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar

from vsperf.analysis.summary import CaseRow
from vsperf.output.export.base import Format, Watch, text_of
from vsperf.output.export.case_columns import CaseColumn, case_columns
from vsperf.output.export.columns import trials_of
from vsperf.output.export.trial_columns import TrialColumn, trial_columns
from vsperf.records.base import Record
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.turns import Round

UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


class JsonDocument(Format):
    """One document, written piece by piece: a trial is a line of its own."""

    summary = "one document: each case and trial as recorded, and the values of the tables"
    tables: ClassVar[Mapping[str, str]] = {"runs": "runs.json"}

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        output = outputs["runs"]
        columns, of_trial = case_columns(runs), trial_columns(runs)
        text_of(output, '{"runs": [')
        for number, run in enumerate(runs):
            begin = _brief(_head(run)).removesuffix("}")
            text_of(output, f'{"," if number else ""}\n{begin}, "cases": [')
            for place, view in enumerate(watch(run.cases())):
                text_of(output, "," if place else "")
                _write_case(output, view, columns, of_trial)
            text_of(output, "\n]}")
        text_of(output, "\n]}\n")


def _head(run: RunView) -> dict[str, Any]:
    return {
        **run.header.model_dump(mode="json", exclude={"type", "cases"}),
        "state": run.state.value,
        "torn": run.torn,
        "resumes": [line.model_dump(mode="json", exclude={"type"}) for line in run.resumes],
        "finished_at": run.end.finished_at if run.end else None,
        "exit_code": run.end.exit_code if run.end else None,
    }


def _write_case(
    output: BinaryIO,
    view: CaseView,
    columns: Sequence[CaseColumn],
    of_trial: Sequence[TrialColumn],
) -> None:
    case = CaseRow.of(view)
    values = {column.name: column.value(case) for column in columns}
    parts: dict[str, Any] = {"values": values, "planned": view.planned.model_dump(mode="json")}
    parts["died"] = view.died
    for name, line in (("start", view.start), ("record", view.record)):
        parts[name] = line.model_dump(mode="json", exclude={"type", "case"}) if line else None
    begin = _brief(parts).removesuffix("}")
    text_of(output, f'\n{begin}, "trials": [')
    for place, row in enumerate(trials_of(case)):
        values = {column.name: column.value(row) for column in of_trial}
        document = _brief({"values": values, "record": row.trial.model_dump(mode="json")})
        text_of(output, f"{',' if place else ''}\n{document}")
    _write_others(output, view)
    text_of(output, "]}")


def _write_others(output: BinaryIO, view: CaseView) -> None:
    """Write what a case has in place of trials of frames; nothing of one that has none of it."""
    kinds: tuple[tuple[str, Collection[Record]], ...] = (
        ("connections", view.connections),
        ("exchanges", view.exchanges),
        ("rounds", view.rounds),
    )
    for name, made in kinds:
        if made:
            text_of(output, f'], "{name}": [')
        for place, one in enumerate(made):
            said = one.said if isinstance(one, Round) else {}
            document = _brief(one.model_dump(mode="json") | said)
            text_of(output, f"{',' if place else ''}\n{document}")


def _brief(document: object) -> str:
    text = json.dumps(document, ensure_ascii=False)
    return text if text.isprintable() else UNPRINTABLE.sub(_as_escape, text)


def _as_escape(found: re.Match[str]) -> str:
    """Say one that a terminal may obey as JSON can say any."""
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]
