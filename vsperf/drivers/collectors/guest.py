"""`guest`: what the kernels of virtual machines count, seen from inside."""

from __future__ import annotations

from typing import Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.collectors.asked import FIX, Asked
from vsperf.drivers.collectors.base import refuse
from vsperf.records.series import Quantity


class GuestSpec(DriverSpec):
    """Settings of `guest`; it has none."""

    kind: Literal["guest"]


class Guest(Asked):
    """Steal and interrupts as the guests see them, asked of the agents in them."""

    kind = "guest"
    section = "vnf"
    summary = "virtual machines: steal, interrupts and CPU time seen from inside"
    Spec = GuestSpec

    def require(self, case: CaseSpec, settings: DriverSpec) -> None:
        super().require(case, settings)
        if not getattr(case.vnf, "has_agent", True):
            raise refuse(self.kind, "the guest is your own, and vsperf's agent is not in it", FIX)

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        return (
            Quantity(name="steal_ns", unit="ns", meaning="time that its host gave to others"),
            Quantity(name="user_ns", unit="ns", meaning="time of programs in the guest"),
            Quantity(name="system_ns", unit="ns", meaning="time of the guest's kernel"),
            Quantity(name="interrupts_ns", unit="ns", meaning="time of interrupts in the guest"),
            Quantity(name="idle_ns", unit="ns", meaning="time without work"),
            Quantity(name="interrupts", unit="1", meaning="interrupts, as the guest counts them"),
            Quantity(name="context_switches", unit="1", meaning="context switches in the guest"),
        )
