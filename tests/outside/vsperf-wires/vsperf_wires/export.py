# vsperf-wires/vsperf_wires/export.py
"""An export: a line of plain text for each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import BinaryIO, ClassVar

from vsperf.analysis.answers import headlines
from vsperf.output.export.base import Format, Watch, all_cases, text_of
from vsperf.records.files.view import CaseView, RunView
from vsperf.trust.printable import printable


class Lines(Format):
    """What `tail` and `grep` like best."""

    summary = "a line of text for each case: its name, its outcome, its answer"
    tables: ClassVar[Mapping[str, str]] = {"cases": "cases.txt"}

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        for view in watch(all_cases(runs)):
            text_of(outputs["cases"], f"{printable(line(view))}\n")


def line(view: CaseView) -> str:
    outcome = view.record.outcome.value if view.record is not None else "unfinished"
    answers = list(headlines(view.result)) if view.result is not None else []
    simulated = ["SIMULATED"] if view.simulated else []
    return " | ".join([view.label, outcome, *simulated, *answers])
