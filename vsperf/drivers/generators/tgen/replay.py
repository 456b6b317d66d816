"""A file that a case replays: at which speed, and what is recorded of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from vsperf.config.traffic import Replay, TrafficProfile
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS
from vsperf.trust.trusted import without_waiting


@dataclass(frozen=True, slots=True)
class Replayed:
    """A file as tgen has read it."""

    replay: Replay
    found: Mapping[str, Any]
    """What tgen says is in it."""
    sha256: str

    @classmethod
    def of(cls, traffic: TrafficProfile, configured: Mapping[str, Any]) -> Self | None:
        """Return the file of a traffic, after tgen was configured; None if it has none."""
        if traffic.replay is None:
            return None
        try:
            with open(traffic.replay.file, "rb", opener=without_waiting) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ComponentError(
                f"{traffic.replay.file} cannot be read",
                why=error.strerror,
                fix="name a pcap file that whoever runs vsperf can read as traffic.replay.file",
            ) from error
        return cls(traffic.replay, configured["replays"][0], digest)

    @property
    def own_rhythm(self) -> bool:
        """Whether frames are as far apart as they were when they were captured."""
        return self.replay.rhythm == "file"

    @property
    def own_fps(self) -> Fraction | None:
        """The mean rate at which they were captured; None when all have the same time."""
        period_ns = self.found.get("period_ns")
        return Fraction(self.found["frames"] * NANOSECONDS, period_ns) if period_ns else None

    def speed(self, load_fps: int) -> dict[str, Any]:
        """Return how a trial says its load, as a mean rate.

        One that is the file's own to the frame per second means its own times, exactly.
        """
        own = self.own_fps
        as_it_was = own is not None and abs(own - load_fps) < 1
        return {"rhythm": "file"} | ({} if as_it_was else {"rate_fps": load_fps})

    def facts(self) -> dict[str, Any]:
        """Return what the record says of it."""
        own = self.own_fps
        return {
            "file": self.replay.file,
            "sha256": self.sha256,
            **{key: value for key, value in self.found.items() if key != "stream"},
            **({} if own is None else {"own_fps": round(float(own), 3)}),
        }
