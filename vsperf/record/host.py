"""What a machine does to a measurement: its stalls, and what the generator can do on it."""

from __future__ import annotations

from pydantic import Field

from vsperf.record.base import Record


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
    def workers(self) -> int:
        """How many CPUs the generator had: all but the one that stood in for the switch."""
        return len(self.cpus) - 1

    @property
    def per_cpu_fps(self) -> int | None:
        """The cap, still per direction, shared out among the generator's CPUs; None without any.

        So several workers can be held against one; a CPU that only receives is counted, too.
        """
        return self.cap_fps // self.workers if self.workers > 0 else None


class Surroundings(Record):
    """What a case found around itself, and how its parts were really set up."""

    calibration: Calibration | None = None
    stalls: tuple[Stalls, ...] = ()
    round_trip_ns: int | None = None
    """Time of a cache line from the generator's CPU to the switch's and back, before all trials."""
    switch: dict[str, object] = Field(default_factory=dict)
    """Versions and settings of the switch as found."""
    machines: dict[str, object] = Field(default_factory=dict)
    """Accelerator, versions and settings of virtual machines, as found."""
    noise: dict[str, object] = Field(default_factory=dict)
    """What ran beside the case, and at which rates it settled; empty where nothing did."""
    generator: dict[str, object] = Field(default_factory=dict)
    """Versions of the generator, and what was negotiated on its ports."""
