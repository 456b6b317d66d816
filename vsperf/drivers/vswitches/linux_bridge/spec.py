"""Settings of the kernel's bridge."""

from __future__ import annotations

from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.quantities.units import CpuSet, Duration

AGEING = Duration(300_000_000_000)


class LinuxBridgeSpec(DriverSpec):
    """Settings of the bridge of the Linux kernel."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""

    HELD_STILL: ClassVar[bool] = True
    PLACES: ClassVar[bool] = True
    """Places can be joined to its ports,"""
    GUESTS: ClassVar[bool] = True
    """guests as well, by their taps,"""
    OFFLOADS: ClassVar[bool] = True
    """and leave checksums and segments to each other."""
    BY_ADDRESS: ClassVar[tuple[str, ...]] = ("l2",)
    """What it is told of `flows` that looks at no more than addresses."""

    kind: Literal["linux-bridge"]
    flows: Literal["learn", "l2"] = "learn"
    """How it knows where frames go: it learns from them behind which port each address is
    (`learn`), or it is told, and learns nothing (`l2`)."""
    cpus: CpuSet | None = None
    """CPUs that forward what comes in; the kernel hands each frame to one of them. One that vsperf
    chooses when not given."""
    ageing: Duration = AGEING
    """How long a learned address is known since a frame last came from it."""
