"""What kept the polling threads of a deployment from running during a trial, seen from outside."""

from __future__ import annotations

from vsperf.records.base import Record

SWITCH, GENERATOR = "switch", "generator"
"""Parts that poll; a VNF is a part by its name, such as vm1."""


class ThreadActivity(Record):
    """What the kernel says of one polling thread, from just before a trial to just after it.

    What the kernel does not say is missing, never 0; of a thread that ended, that is all of it.
    """

    part: str
    """Whose it is: switch, generator, or a VNF such as vm1."""
    name: str
    """As the kernel has it, such as `pmd-c01/id:8`."""
    cpu: int | None = None
    """Where it ran; None where it moved."""
    delay_ns: int | None = None
    """Time that it was ready to run and waited, since its CPU ran something else."""
    involuntary: int | None = None
    """How often its CPU was taken away from it by the kernel."""
    steal_ns: int | None = None
    """Time that a hypervisor gave its CPU to others, in whole ticks of the kernel's clock (10 ms
    on most machines), so one tick more or less; of the CPU, whatever it would have run."""

    @property
    def kept_ns(self) -> int:
        """Time that it was kept from running, at most; 0 where nothing is known.

        Whoever waits for a CPU that is stolen meanwhile is counted by both.
        """
        return (self.delay_ns or 0) + (self.steal_ns or 0)
