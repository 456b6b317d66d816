"""A table as plain text: the same for a terminal, a page and a merge request."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Grid:
    """Some columns and rows of text, ready to be shown; whoever shows it escapes it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    """Columns that are aligned to the right."""
    marks: tuple[str, ...] = ()
    """For each row what stands out in it: `worse`, `better`, or nothing."""

    def first(self, count: int) -> Grid:
        """Return the table with so many rows at most."""
        return replace(self, rows=self.rows[:count], marks=self.marks[:count])
