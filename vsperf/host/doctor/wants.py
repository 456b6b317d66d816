"""What drivers want of a machine; checks are made before a run for what its drivers want."""

from __future__ import annotations

import enum


class Want(enum.StrEnum):
    """One thing that a driver, or a port, wants; a driver says so as `wants`."""

    QUIET_CPUS = "quiet CPUs"
    """It runs on this machine and is measured, or measures."""
    ROOT = "root"
    """It makes devices, or has memory that only root may give."""
    HUGEPAGES = "hugepages"
    TAPS = "taps"
    """It makes devices of the kernel by /dev/net/tun."""
    CYCLE_COUNTER = "cycle counter"
    """It stamps frames by the counter of the CPU."""
    NICS = "NICs"
    """A port of it is a device on the PCI bus."""


POLLING_SWITCH = frozenset({Want.QUIET_CPUS, Want.ROOT, Want.HUGEPAGES})
"""What a switch wants whose threads poll ports in shared memory."""
