"""Parts of a deployment that checks matter to, by the kind of a driver or of a port."""

from __future__ import annotations

SWITCHES = frozenset({"ovs", "ovs-dpdk", "vpp", "testpmd", "linux-bridge"})
GENERATORS = frozenset({"tgen", "testpmd"})
GUESTS = frozenset({"qemu"})
PCI = frozenset({"pci"})
"""Ports that are PCI devices."""
MEASURED = SWITCHES | GENERATORS | GUESTS
"""What runs on this machine and is measured, or measures: it wants quiet CPUs."""
