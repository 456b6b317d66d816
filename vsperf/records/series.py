"""What collectors saw around trials: series with units and times, in files beside the records.

A file holds what one collector saw in one attempt at a case: a header, then a line for each sample.
Lines are only added, so a killed run leaves whole ones, and nobody has to hold them in memory. What
could not be read is missing, never 0.
"""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from vsperf.records.base import Record
from vsperf.records.exchange import Exchange
from vsperf.records.trial import Trial

SERIES_VERSION = 1

Value = int | float


class Nature(enum.StrEnum):
    """What the values of a quantity mean."""

    COUNTER = "counter"
    """It grows and may start anywhere: only differences within a trial mean something."""
    GAUGE = "gauge"
    """Each value stands for itself, at its moment."""
    TOTAL = "total"
    """What was counted over the whole of a trial."""


class Quantity(Record):
    """Something that is collected."""

    name: str
    """Unique in its file; one that ends with `*` stands for all names that begin like that."""
    unit: str
    """Such as `ns`, `bytes`, `1` of what is merely counted."""
    nature: Nature = Nature.COUNTER
    meaning: str = ""

    def fits(self, name: str) -> bool:
        """Whether a name of a sample is this one's."""
        return name.startswith(self.name[:-1]) if self.name.endswith("*") else name == self.name


class SeriesHeader(Record):
    """The first line: who collected what, and what that disturbs."""

    type: Literal["series"] = "series"
    version: int = SERIES_VERSION
    run: str
    case: str
    attempt: int
    collector: str
    """Its name in the case; several of one kind have their own."""
    kind: str
    heavy: bool
    """Whether it has trials of its own, since it would change the result of others."""
    disturbs: str
    """What it costs those that are measured, for people."""
    started_at: str
    quantities: tuple[Quantity, ...]
    facts: dict[str, Any] = Field(default_factory=dict)
    """Settings, versions and whatever else explains the values."""

    def quantity(self, name: str) -> Quantity | None:
        """Return what a name of a sample means."""
        return next((one for one in self.quantities if one.fits(name)), None)


class Sample(Record):
    """What was seen of one thing at one moment."""

    type: Literal["sample"] = "sample"
    trial: int
    """Index of the trial that it belongs to; of a heavy collector, of its own ones."""
    at_ns: int
    """Since 1970, UTC."""
    of: str
    """What it is about: a role such as `switch`, a thread of it, a CPU, a device."""
    values: dict[str, Value]


class OwnTrial(Record):
    """A trial that a heavy collector had for itself; no result rests on it."""

    type: Literal["trial"] = "trial"
    trial: Trial


class OwnExchange(Record):
    """An exchange of programs that a heavy collector had for itself; no result rests on it."""

    type: Literal["exchange"] = "exchange"
    exchange: Exchange
    """Its index counts those of the collector alone."""


class Note(Record):
    """Something that a reader of the series has to know, such as why they end."""

    type: Literal["note"] = "note"
    trial: int
    text: str


SeriesLine = Annotated[
    SeriesHeader | Sample | OwnTrial | OwnExchange | Note, Field(discriminator="type")
]
SERIES_LINE: TypeAdapter[SeriesLine] = TypeAdapter(SeriesLine)
"""Reads and writes any line."""
