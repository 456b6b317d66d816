"""Formats that are tables: cases in one, trials in the other, one row each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, BinaryIO, Protocol

from vsperf.analysis.summary import CaseRow
from vsperf.output.export.base import Format, Watch, all_cases
from vsperf.output.export.case_columns import case_columns
from vsperf.output.export.columns import trials_of
from vsperf.output.export.trial_columns import trial_columns
from vsperf.output.table import Column, Value
from vsperf.records.files.view import RunView


class Sheet(AbstractContextManager["Sheet"], Protocol):
    """A table that is being written; a context manager, at whose end it is whole."""

    def add(self, values: Sequence[Value]) -> None:
        """Add a row."""


class TableFormat(Format):
    """A format that only has to say how a table of it is written."""

    @abstractmethod
    def sheet(self, output: BinaryIO, columns: Sequence[Column[Any]]) -> Sheet:
        """Begin a table with these columns."""

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        """Write cases and trials in one pass, so that each is read once."""
        of_case = case_columns(runs) if "cases" in outputs else ()
        of_trial = trial_columns(runs) if "trials" in outputs else ()
        with ExitStack() as stack:
            begun = {
                name: stack.enter_context(self.sheet(outputs[name], columns))
                for name, columns in (("cases", of_case), ("trials", of_trial))
                if columns
            }
            for view in watch(all_cases(runs)):
                case = CaseRow.of(view)
                if of_case:
                    begun["cases"].add([column.value(case) for column in of_case])
                for row in trials_of(case) if of_trial else ():
                    begun["trials"].add([column.value(row) for column in of_trial])
