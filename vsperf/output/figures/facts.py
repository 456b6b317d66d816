"""What plots need to know of a case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from vsperf.config.expect import Expectation
from vsperf.errors import VsperfError
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import FrameSize, MeasuredTime, Rate
from vsperf.records.asked import Asked
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.run import Outcome

WORKERS = ("pmds", "workers")
"""Settings of switches that say how many threads poll."""
TARGET = "target, by expect"
"""What is called so in each drawing."""
IDLE_POINTS = ("frame_size", "imix", "flows", "vswitch")
"""Values of a point that have an axis or a trait of their own."""


@dataclass(frozen=True, slots=True)
class LatencyTarget:
    """How long frames may take, by a criterion."""

    share: float
    """Of the frames, which are to take no longer."""
    load: str
    """Share of a goal; empty where it is asked of each load."""
    ns: float

    def at(self, reference: str) -> bool:
        """Whether it is asked at a load, such as `50% of ndr`."""
        return not self.load or reference.startswith(f"{self.load} of ")


@dataclass(frozen=True)
class Facts:
    """What is known of a case without its trials."""

    view: CaseView

    @cached_property
    def asked(self) -> Asked:
        return self.view.asked

    @property
    def size(self) -> FrameSize | None:
        """The frame size, or the mean of a mix; None where it cannot be told."""
        return self.asked.size

    @property
    def size_name(self) -> str:
        """What stands below an axis of frame sizes."""
        mix = self.asked.value("traffic", "imix")
        return f"imix {mix}" if mix else str(self.size or "?")

    @property
    def workers(self) -> int | None:
        """How many threads of the switch poll; None where its driver knows of none."""
        switch = self.asked.section("vswitch")
        found = (switch.get(name) for name in WORKERS)
        return next((count for count in found if type(count) is int), None)

    @property
    def link_bps(self) -> int | None:
        """What the slowest link carries per direction; None where a link is no cable."""
        slowest = self.asked.slowest
        return None if slowest is None or self.asked.virtual else slowest.bps

    @property
    def cap_fps(self) -> int | None:
        """What the generator was seen to do for these frames without a switch."""
        record = self.view.record
        conditions = record.conditions if record is not None else None
        if conditions is None or conditions.calibration is None:
            return None
        return conditions.calibration.cap_fps

    def target_fps(self, metric: str) -> float | None:
        """Return what a criterion asks of a rate at least; None where none does."""
        size, link = self.size, self.asked.slowest
        for one in self._criteria:
            wanted = one.metric == metric and one.known and not one.at_most
            if not wanted or one.max_loss is not None or size is None or link is None:
                continue
            if one.frame_size in (None, size):
                with suppress(VsperfError, ValueError):
                    bound = one.bound.read(Unit.FPS)
                    assert isinstance(bound, Rate)  # by the unit
                    return float(bound.frames_per_second(size, link))
        return None

    @property
    def latency_targets(self) -> tuple[LatencyTarget, ...]:
        return tuple(self._latency_targets())

    def _latency_targets(self) -> Iterator[LatencyTarget]:
        for one in self._criteria:
            if one.percentile is None or not one.known or one.frame_size not in (None, self.size):
                continue
            with suppress(VsperfError, ValueError):
                bound = one.bound.read(Unit.NANOSECONDS)
                assert isinstance(bound, MeasuredTime)  # by the unit
                load = "" if one.load is None else str(one.load)
                yield LatencyTarget(one.percentile / 100, load, float(bound))

    @cached_property
    def _criteria(self) -> tuple[Expectation, ...]:
        """What was asked of its numbers, as far as it can be read."""
        found = self.asked.value("expect")
        criteria = []
        for one in found if isinstance(found, list) else []:
            with suppress(ValueError):
                criteria.append(Expectation.model_validate(one))
        return tuple(criteria)

    @property
    def believed(self) -> bool:
        """Whether its numbers may be drawn at all."""
        return not self.unbelieved

    @property
    def unbelieved(self) -> str:
        """Why its numbers may not be drawn; empty where they may."""
        if self.view.record is None:
            return "not finished" if self.view.start is not None else "not begun"
        outcome = self.view.record.outcome
        return "" if outcome in (Outcome.PASS, Outcome.FAIL) else outcome.value


def trusted(flags: tuple[Flag, ...]) -> bool:
    """Whether a number with these flags may be drawn."""
    return worst(flags) is not Severity.INVALID
