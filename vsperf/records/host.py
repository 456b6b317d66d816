"""What a machine does to a measurement: its stalls, and what the generator can do on it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pydantic import Field

from vsperf.quantities.human import human_fps, human_ns
from vsperf.records.base import Record


class Stalls(Record):
    """How long a CPU kept a busy loop from running, seen without traffic."""

    cpu: int
    observed_ns: int
    threshold_ns: int
    """Shorter gaps were not counted."""
    gaps: int
    total_ns: int
    """Sum of all gaps."""
    longest_ns: int
    histogram: str | None = None
    """The gaps [ns] as a compressed HdrHistogram V2, base64."""


class Calibration(Record):
    """What generator and ports do for one frame size without a switch between them."""

    frame_size: int
    cap_fps: int
    """Frames per second and direction that came back, sending flat out both ways."""
    method: str
    measured_at: str
    """UTC, ISO 8601."""
    cpus: tuple[int, ...]
    """Of the generator, then of what stood in for the switch."""
    cached: bool = False
    """Whether it was measured before this run."""
    round_trip_ns: int | None = None
    """How far the CPUs were from each other then; a hypervisor that moves them changes the cap."""

    @property
    def where(self) -> str:
        """Say how far apart the CPUs were, to be put behind what was found there."""
        if self.round_trip_ns is None:
            return ""
        return f" while the CPUs were {human_ns(self.round_trip_ns)} apart (there and back)"

    @property
    def workers(self) -> int:
        """How many CPUs the generator had: all but the one that stood in for the switch."""
        return len(self.cpus) - 1

    @property
    def per_cpu_fps(self) -> int | None:
        """The cap, still per direction, shared out among the generator's CPUs; None without any.

        So several workers can be held against one; a CPU that only receives is counted, too.
        """
        return self.cap_fps // self.workers if self.workers > 0 else None


class Conditions(Record):
    """What a case found around itself, and how its parts were really set up."""

    calibration: Calibration | None = None
    stalls: tuple[Stalls, ...] = ()
    round_trip_ns: int | None = None
    """Time of a cache line from the generator's CPU to the switch's and back, before all trials."""
    switch: dict[str, object] = Field(default_factory=dict)
    """Versions and settings of the switch as found."""
    vnfs: dict[str, object] = Field(default_factory=dict)
    """Accelerator, versions and settings of the VNFs, as found."""
    noise: dict[str, object] = Field(default_factory=dict)
    """What ran beside the case, and at which rates it settled; empty where nothing did."""
    generator: dict[str, object] = Field(default_factory=dict)
    """Versions of the generator, and what was negotiated on its ports."""


# Caps of the generator that later ones show to have fallen: what went by them does not stand.

ABSURD = 6
"""So many times less is no other machine, but one that did not run: a hypervisor that moves CPUs
changes rates by up to a factor of two, and modifiers of frames by less than that."""
WITHDRAWN = (
    "its answer does not stand, as the machine kept the generator from running when it was seen "
    "what that can do without a switch"
)


def fallen(found: Calibration, before: Sequence[Calibration]) -> str | None:
    """Say so if a cap is absurdly far below one that was found on the same CPUs.

    Frames that are longer may be fewer by as much; in bits no size of frames is so much slower.
    """
    for one in before:
        longer = max(Fraction(1), Fraction(found.frame_size, max(1, one.frame_size)))
        if found.cap_fps * longer * ABSURD < one.cap_fps:
            return (
                f"{human_fps(found.cap_fps)} with frames of {found.frame_size} bytes came back, "
                f"after {human_fps(one.cap_fps)} with {one.frame_size}"
            )
    return None


def calibration_in(line: bytes | str) -> Calibration | None:
    """Return the cap in a line of a case that is over; None of one without, or that is damaged.

    No more than it is looked at.
    """
    if b"cap_fps" not in (line.encode() if isinstance(line, str) else line):
        return None
    try:
        return Calibration.model_validate(json.loads(line)["conditions"]["calibration"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def place_of(spec: Mapping[str, Any]) -> str:
    """Name what the specifications of two cases share whose caps can be held against each other."""
    traffic = spec.get("traffic")
    told = traffic if isinstance(traffic, Mapping) else {}
    parts = [spec.get("generator"), told.get("direction"), told.get("flows")]
    return json.dumps(parts, sort_keys=True)


def refuted(caps: Mapping[str, tuple[str, Calibration]]) -> dict[str, str]:
    """Return by case which caps of a run have fallen, by what others found at the same place.

    Given are the places and caps by case. CPUs and ports have to be the same as well.
    """
    places: dict[tuple[object, ...], list[Calibration]] = {}
    for place, one in caps.values():
        places.setdefault((place, one.cpus, one.method), []).append(one)
    found = {}
    for key, (place, one) in caps.items():
        doubt = fallen(one, places[place, one.cpus, one.method])
        if doubt is not None:
            found[key] = f"{WITHDRAWN}: {doubt}"
    return found
