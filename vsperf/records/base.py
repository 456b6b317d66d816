"""The base of all records: frozen, nothing unknown, plain JSON."""

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1
"""Raised with any change of a record's fields after a release; others are refused, not misread."""


class Record(BaseModel):
    """A frozen part of what is stored; missing is None and never 0."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def growth(now: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Return how much counters grew, by name; what is new counts from 0."""
    return {name: count - before.get(name, 0) for name, count in now.items()}
