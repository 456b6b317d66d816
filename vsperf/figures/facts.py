"""What a case was asked, read from its recorded specification, of whatever version that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from vsperf.errors import VsperfError
from vsperf.record.flags import Flag, Severity, worst
from vsperf.record.run import Outcome
from vsperf.spec.traffic import size_of
from vsperf.store.view import CaseView
from vsperf.units import FrameSize, LinkSpeed

WORKERS = ("pmds", "workers")
"""Settings of switches that say how many threads poll."""
IDLE_POINTS = ("frame_size", "imix", "flows", "vswitch")
"""Values of a point that have an axis or a trait of their own."""


@dataclass(frozen=True)
class Facts:
    """What is known of a case without its trials."""

    view: CaseView

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """The resolved specification, as plain data."""
        return self.view.planned.spec

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a part of the specification; empty where there is none."""
        found = self.spec.get(name)
        return found if isinstance(found, Mapping) else {}

    @cached_property
    def size(self) -> FrameSize | None:
        """The frame size, or the mean of a mix; None where it cannot be told."""
        try:
            return size_of(self.section("traffic"))
        except (KeyError, ValueError, VsperfError):
            return None

    @property
    def size_name(self) -> str:
        """What stands below an axis of frame sizes."""
        traffic = self.section("traffic")
        return f"imix {traffic['imix']}" if traffic.get("imix") else str(self.size or "?")

    @property
    def workers(self) -> int | None:
        """How many threads of the switch poll; None where its driver knows of none."""
        switch = self.section("vswitch")
        found = (switch.get(name) for name in WORKERS)
        return next((count for count in found if type(count) is int), None)

    @property
    def link_bps(self) -> int | None:
        """What the slowest link carries per direction; None where a link is no cable."""
        links = self._links()
        if not links or any(link.get("virtual") for link in links):
            return None
        try:
            return min(LinkSpeed.parse(link["speed"]).bps for link in links)
        except (KeyError, ValueError, VsperfError):
            return None

    @property
    def cap_fps(self) -> int | None:
        """What the generator was seen to do for these frames without a switch."""
        record = self.view.record
        surroundings = record.surroundings if record is not None else None
        if surroundings is None or surroundings.calibration is None:
            return None
        return surroundings.calibration.cap_fps

    def _links(self) -> list[Mapping[str, Any]]:
        """Return the links on the way; all of the testbed where the way names none."""
        known = self.section("testbed").get("links", {})
        paths = self.section("topology").get("paths", ())
        used = [known[hop] for path in paths for hop in (path[0], path[-1]) if hop in known]
        return used or list(known.values())

    @property
    def believed(self) -> bool:
        """Whether its numbers may be drawn at all."""
        record = self.view.record
        return record is not None and record.outcome in (Outcome.PASS, Outcome.FAIL)


def trusted(flags: tuple[Flag, ...]) -> bool:
    """Whether a number with these flags may be drawn."""
    return worst(flags) is not Severity.INVALID
