"""`proc`: what each role used, waited for and was interrupted by, as the kernel counts it."""

from __future__ import annotations

from typing import Literal

from vsperf.config.base import DriverSpec
from vsperf.drivers.collectors.beside import Sampled, SamplerSpec
from vsperf.records.series import Nature, Quantity


class ProcSpec(SamplerSpec):
    """Settings of `proc`."""

    kind: Literal["proc"]


class Proc(Sampled):
    """CPU time, context switches, run-queue delay, interrupts, steal and memory."""

    kind = "proc"
    summary = "CPU time, context switches, run queue, interrupts, memory, by role"
    source = "processes"
    Spec = ProcSpec

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        of_cpu = "of a CPU"
        return (
            Quantity(name="user_ns", unit="ns", meaning="CPU time of programs, in ticks of 10 ms"),
            Quantity(name="system_ns", unit="ns", meaning="CPU time in the kernel, in such ticks"),
            Quantity(name="running_ns", unit="ns", meaning="time on a CPU, exactly"),
            Quantity(
                name="queued_ns", unit="ns", meaning="time ready to run and waiting for a CPU"
            ),
            Quantity(name="voluntary", unit="1", meaning="times that it gave its CPU away"),
            Quantity(name="involuntary", unit="1", meaning="times that its CPU was taken away"),
            Quantity(name="resident_bytes", unit="bytes", nature=Nature.GAUGE, meaning="in memory"),
            Quantity(name="interrupts", unit="1", meaning=f"interrupts {of_cpu}, of all kinds"),
            Quantity(name="softirqs_*", unit="1", meaning=f"work put off by interrupts, {of_cpu}"),
            Quantity(name="steal_ns", unit="ns", meaning="time that a hypervisor took, in ticks"),
        )
