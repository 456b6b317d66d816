"""Two looks at who uses CPUs and devices in an exchange: when all are warm, and at the end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from vsperf.config.noise import NOISE
from vsperf.deploy.places import Seen
from vsperf.host.cpu_time import Look, Watched
from vsperf.host.files import Roots
from vsperf.host.procfs import in_session, marked_below
from vsperf.host.workspace import Workspace
from vsperf.records.cpu_time import OWN, CpuUse
from vsperf.records.run import Placement
from vsperf.records.threads import SWITCH

FORWARDS = "pmd"
"""Role of the CPUs on which a switch forwards."""


@dataclass(frozen=True, slots=True)
class SwitchCpus:
    """Where a switch forwards, and by which threads."""

    cpus: tuple[int, ...]
    threads: tuple[Watched, ...] = ()
    """None where the kernel forwards: what it does in interrupts on these CPUs is the switch's.
    Where it does so on no CPU of its own, nobody can tell."""
    ours: tuple[Watched, ...] = ()
    """This program, whose looks cost CPU time, too, and what is to disturb the case."""

    @classmethod
    def of(cls, placement: Placement, workspace: Workspace) -> SwitchCpus:
        """Return where the switch of a deployment forwards: its driver names threads that do."""
        return cls(
            placement.of(FORWARDS),
            tuple(
                Watched(SWITCH, SWITCH, pid, threads=one.names)
                for pid, one in workspace.polling.items()
                if one.part == SWITCH and one.forwards
            ),
            (
                Watched(OWN, OWN, os.getpid(), placement.of(OWN), session=False),
                *_noise(placement.of(NOISE), workspace),
            ),
        )


def _noise(cpus: tuple[int, ...], workspace: Workspace) -> Iterator[Watched]:
    """Yield the programs of a load beside the case, if it has one, each with its children."""
    for pid in marked_below(f"{workspace.name}/{NOISE}") if cpus else ():
        if in_session(pid):  # it leads one
            yield Watched(NOISE, f"{NOISE}, process {pid}", pid, cpus)


@dataclass
class Looks:
    """Two looks at the same programs, and at the same devices."""

    watched: tuple[Watched, ...]
    due_ns: list[int]
    """When to look next, and after that, by the monotonic clock."""
    devices: Callable[[], tuple[Seen, ...]] = tuple
    """Looks at devices; there are none unless it is said."""
    made: list[Look] = field(default_factory=list)
    seen: list[tuple[Seen, ...]] = field(default_factory=list)
    """What devices had counted by each of them."""

    def left_s(self, now_ns: int) -> float:
        """Return how long there is to wait for the next one."""
        return max(0, self.due_ns[0] - now_ns) / 1e9 if self.due_ns else math.inf

    def attend(self) -> None:
        if self.due_ns and time.monotonic_ns() >= self.due_ns[0]:
            self._look()

    def end(self) -> None:
        """Look a last time, where programs ended a little before it was due.

        The kernel keeps what they used until somebody asks how they ended.
        """
        if len(self.made) == 1:
            self._look()

    def use(self, cpus: Collection[int], switch: SwitchCpus, instant_ns: int) -> CpuUse | None:
        """Return who used these CPUs, and those of the switch, between both looks."""
        if len(self.made) < 2:
            return None
        first, last = self.made
        forwarding = () if switch.threads else switch.cpus
        return last.since(first, instant_ns, {*cpus, *switch.cpus}, forwarding)

    def _look(self) -> None:
        del self.due_ns[:1]
        self.made.append(Look.at(self.watched, Roots()))
        self.seen.append(self.devices())
