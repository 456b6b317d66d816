"""CSV: cases.csv and trials.csv, for spreadsheets and everything else.

A spreadsheet takes a field that begins with `=` and some other characters for a formula, wherever
the text came from. Such a field gets an apostrophe in front, which spreadsheets take for "this is
text" (OWASP, CSV injection). Numbers stay numbers, negative ones too.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, Final

from vsperf.output.export.columns import plain
from vsperf.output.export.tables import Sheet, TableFormat
from vsperf.output.table import Column, Value
from vsperf.trust.printable import printable

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a formula begins with, also in the wide form that some spreadsheets take for the same."""


class CsvTables(TableFormat):
    """Comma-separated values, UTF-8; true and false are those words."""

    summary = "cases.csv and trials.csv, one row each, units in the headers"
    tables: ClassVar[Mapping[str, str]] = {"cases": "cases.csv", "trials": "trials.csv"}

    def sheet(self, output: BinaryIO, columns: Sequence[Column[Any]]) -> CsvSheet:
        return CsvSheet(output, [column.name for column in columns])


class CsvSheet(Sheet):
    """A CSV file that is being written."""

    def __init__(self, output: BinaryIO, names: Sequence[str]) -> None:
        self._text = io.TextIOWrapper(
            output, encoding="utf-8", errors="backslashreplace", newline="", write_through=False
        )
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow([field(name) for name in names])

    def add(self, values: Sequence[Value]) -> None:
        self._writer.writerow([field(value) for value in values])

    def __exit__(self, *_: object) -> None:
        self._text.detach()  # flushes, and leaves the file to whoever opened it


def field(value: Value) -> str:
    """Return a value as a field: empty where there is none, and never a formula."""
    return defused(value) if isinstance(value, str) else plain(value)


def defused(text: str) -> str:
    """Return text that no spreadsheet takes for a formula, and no terminal for an order."""
    return printable(f"'{text}" if text.startswith(FORMULA) else text)
