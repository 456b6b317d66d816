"""What a plot is: how it takes what it needs from one case, and how it draws that of many."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vsperf.figures.drawing import Drawing
from vsperf.store.view import CaseView

LAST = 100


class Scope(enum.StrEnum):
    """What one drawing is about."""

    CASE = "case"
    """One case, so several cases make several drawings."""
    CASES = "cases"
    """All cases together."""


@dataclass(frozen=True, slots=True)
class Options:
    """What somebody wants of a drawing beyond the records."""

    by: tuple[str, ...] = ()
    """Traits that make lines, such as `generator`; all that differ where none is given."""
    beside: tuple[str, ...] = ()
    """Names of published tables that are drawn with it."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A named way from records to a drawing.

    It works in two steps, so that no more than one case is in memory: `gather` keeps the few
    numbers that matter of one case, and `draw` makes a drawing of them. Both are pure.
    """

    name: str
    title: str
    """What it shows, in a line."""
    scope: Scope
    gather: Callable[[CaseView], Sequence[Any]]
    draw: Callable[[Sequence[Any], Options], Drawing | None]
    """None where these cases say nothing on it."""
    rank: int = LAST
    """Its place in a report among those of its scope; those of the same rank go by name."""
    in_report: bool = True
    """False of what a report says in words of its own."""
    of_many_loads: bool = False
    """Whether it says no more than the table above it where there are few loads."""
    of_given_loads: bool = False
    """Whether it is the headline of a case whose loads were given, or gone through."""
