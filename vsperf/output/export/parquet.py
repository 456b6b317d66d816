"""Parquet: the tables of `csv` with types, for data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO, ClassVar, Final

from vsperf.errors import StoreError
from vsperf.output.export.columns import time_of
from vsperf.output.export.tables import Sheet, TableFormat
from vsperf.output.table import Column, Moment, Value

BATCH: Final = 5_000
"""Rows that are held until they are written."""


class ParquetTables(TableFormat):
    """Missing is null; integers have 64 bits, and times are UTC."""

    summary = "cases.parquet and trials.parquet, as csv but with types"
    tables: ClassVar[Mapping[str, str]] = {"cases": "cases.parquet", "trials": "trials.parquet"}

    binary: ClassVar[bool] = True

    def sheet(self, output: BinaryIO, columns: Sequence[Column[Any]]) -> ParquetSheet:
        return ParquetSheet(output, columns)


class ParquetSheet(Sheet):
    """A Parquet file that is being written."""

    def __init__(self, output: BinaryIO, columns: Sequence[Column[Any]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {
            **{int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()},
            Moment: pa.timestamp("us", tz="UTC"),
        }
        fields = [(column.name, types[column.kind]) for column in columns]
        self._schema = pa.schema(fields)
        self._writer = pq.ParquetWriter(output, self._schema)
        self._rows: list[Sequence[Value]] = []

    def add(self, values: Sequence[Value]) -> None:
        self._rows.append(values)
        if len(self._rows) >= BATCH:
            self._flush()

    def __exit__(self, *error: object) -> None:
        if error[:1] == (None,):
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._rows:
            return
        try:
            columns = [list(column) for column in zip(*self._rows, strict=True)]
            arrays = [
                pa.array(_typed(values, field.type), type=field.type)
                for values, field in zip(columns, self._schema, strict=True)
            ]
        except (OverflowError, pa.ArrowException, UnicodeEncodeError) as error:
            raise StoreError(
                "a record holds a value that Parquet has no room for",
                why=str(error),
                fix="`vsperf export csv` has no such bound",
            ) from error
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._rows = []


def _typed(values: Sequence[Value], kind: Any) -> Sequence[Value | datetime]:
    """Return the values of a column as its type takes them."""
    import pyarrow as pa

    return [time_of(one) for one in values] if pa.types.is_timestamp(kind) else values
