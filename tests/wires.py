"""What the NICs of a case's VNFs are plugged into, where no switch is asked."""

from __future__ import annotations

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import nics
from vsperf.drivers.vswitches.base import wire_of
from vsperf.records.run import Placeholder, Wire


def wires_of(case: CaseSpec, kind: str = "vhost-user-client") -> tuple[Wire, ...]:
    """Return a wire for every NIC, the outer ones too."""
    return tuple(
        wire_of(nic, kind, f"{Placeholder.RUN}/{nic.port}.sock") for nic in nics(case.topology)
    )
