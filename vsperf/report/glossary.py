"""What the words of a report mean, for whoever reads the first one."""

from __future__ import annotations

from collections.abc import Iterable

from vsperf.record.words import meaning
from vsperf.report.page import Fact

OTHERS = ("load", "fps", "note", "suspect", "invalid", "clean time")
"""Words that stand in every report, whatever its columns."""


def glossary_of(columns: Iterable[str]) -> tuple[Fact, ...]:
    """Return what the words of a report with these columns mean."""
    found = ((word, meaning(word)) for word in dict.fromkeys((*columns, *OTHERS)))
    return tuple(Fact(word, text) for word, text in found if text is not None)
