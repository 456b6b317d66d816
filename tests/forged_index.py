"""An index of results as somebody makes it who knows how its checksum is made."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from vsperf.records.files.index import CHECKSUM, _checksum


def change(index: Path, statement: str) -> None:
    """Change an index by SQLite's own means, without its checksum."""
    with closing(sqlite3.connect(index)) as database, database:
        database.execute(statement)


def seal(index: Path) -> None:
    """Give it the checksum that belongs to what it holds now."""
    image = index.read_bytes()
    index.write_bytes(image[: CHECKSUM.start] + _checksum(image) + image[CHECKSUM.stop :])
