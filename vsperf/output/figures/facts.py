"""What plots need to know of a case."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from vsperf.quantities.units import FrameSize
from vsperf.records.asked import Asked
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.run import Outcome

WORKERS = ("pmds", "workers")
"""Settings of switches that say how many threads poll."""
IDLE_POINTS = ("frame_size", "imix", "flows", "vswitch")
"""Values of a point that have an axis or a trait of their own."""


@dataclass(frozen=True)
class Facts:
    """What is known of a case without its trials."""

    view: CaseView

    @cached_property
    def asked(self) -> Asked:
        """What it was asked."""
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

    @property
    def believed(self) -> bool:
        """Whether its numbers may be drawn at all."""
        record = self.view.record
        return record is not None and record.outcome in (Outcome.PASS, Outcome.FAIL)


def trusted(flags: tuple[Flag, ...]) -> bool:
    """Whether a number with these flags may be drawn."""
    return worst(flags) is not Severity.INVALID
