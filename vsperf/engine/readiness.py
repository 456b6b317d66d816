"""Whether the machine is ready, free and quiet: asked before anything starts, and waited for.

What others use of CPUs that the run leaves free does no harm. Where they use more than that, parts
that poll are kept from running, and nobody can tell afterwards what the switch does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vsperf.deploy.guests import require_guests
from vsperf.engine.run import Planned
from vsperf.engine.usable import taking_part
from vsperf.errors import NotReadyError
from vsperf.host.activity import (
    Activity,
    Share,
    competitors,
    starters,
    stolen_ppm,
    taken_ppm,
    ticks_per_second,
)
from vsperf.host.binding import pci_addresses, require_bindable
from vsperf.host.dead import refuse_beside_dead
from vsperf.host.doctor.examine import as_data, demand, examine_for
from vsperf.host.doctor.finding import Host
from vsperf.host.doctor.wants import Want
from vsperf.host.files import Roots
from vsperf.host.hugepages import require_memory
from vsperf.host.lock import TestbedInUse, testbed_lock
from vsperf.host.resctrl import abilities, masks_of
from vsperf.host.workspace import require_short
from vsperf.plugins import Plugins
from vsperf.quantities.human import counted, human_seconds
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.run import Placeholder
from vsperf.waits import sleep

LOOK_S = 1.0
"""Long enough that a program which only begins is no load."""
PAUSE_S = 5.0
"""Between two looks."""
MOST_PPM = 500_000
"""Of a CPU beyond those that the run leaves free: what doctor warns of (a tenth) disturbs trials,
which clean time tells; with half of a CPU most of the time is not clean."""
DISTURBING_PPM = 100_000
"""Of a CPU, by one program: what doctor warns of."""
LEAST_PPM = 10_000
"""Of a CPU: what is less is not told."""
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Taken:
    """What others take of the CPUs that this process may use."""

    ppm: int
    """Of one CPU, all together."""
    stolen_ppm: int = 0
    """The part of it that a hypervisor gave to others."""
    programs: Sequence[Share] = ()
    """Those that were there all the time, the busiest first."""
    starters: Sequence[Share] = ()
    """Who started programs that were not, with what those used; the busiest first."""

    def __str__(self) -> str:
        return f"others use {self.ppm / 10_000:.0f} % of a CPU ({', '.join(self._whose())})"

    def _whose(self) -> Iterator[str]:
        """Yield who uses all of it, down to a hundredth of a CPU."""
        if self.stolen_ppm:
            yield f"the hypervisor {_percent(self.stolen_ppm)}"
        named, further = self.programs[:SHOWN], self.programs[SHOWN:]
        yield from map(str, named)
        if (ppm := sum(one.ppm for one in further)) >= LEAST_PPM:
            yield f"{counted(len(further), 'further program')} {_percent(ppm)}"
        brief = sum(one.ppm for one in self.starters)
        if brief >= LEAST_PPM:
            by = ", ".join(f"{one.name} ({one.pid})" for one in self.starters[:SHOWN])
            yield f"programs that begin and end, started by {by}, {_percent(brief)}"
        rest = self.ppm - self.stolen_ppm - sum(one.ppm for one in self.programs) - brief
        if rest >= LEAST_PPM or not (self.programs or brief or self.stolen_ppm):
            yield f"the kernel, or programs that are not seen from here, {_percent(max(0, rest))}"

    @property
    def whom(self) -> str:
        """Whom to end: who is named and has most of it, and those that alone disturb trials."""
        seen = [*self.programs[:SHOWN], *self.starters[:SHOWN]]
        named = sorted(seen, key=lambda one: one.ppm, reverse=True)
        if not named or named[0].ppm < MOST_PPM // 2:
            return ""
        ended = [one for one in named if one.ppm >= DISTURBING_PPM][:SHOWN]
        return f"end {' and '.join(f'{one.name} ({one.pid})' for one in ended)}, "


def _percent(ppm: int) -> str:
    return f"{ppm / 10_000:.0f} %"


Held = TypeVar("Held")
Look = Callable[[], Taken]
"""Measures for a while what others use."""


@dataclass(frozen=True, slots=True)
class Patience:
    """What is done where the machine is too busy."""

    anyway: bool = False
    """Measure all the same."""
    wait_ns: int = 0
    """For how long it is waited for that others end."""


def once_free(act: Callable[[], Held], patience: Patience, say: Callable[[str], None]) -> Held:
    """Do something that takes a testbed; while another run has it, wait if so told."""
    told, deadline_ns = False, time.monotonic_ns() + patience.wait_ns
    while True:
        try:
            return act()
        except TestbedInUse as error:
            if time.monotonic_ns() >= deadline_ns:
                raise
            if not told:
                say(f"waiting: {error.with_why}")
                told = True
        sleep(PAUSE_S)  # between two looks at a condition


@contextmanager
def held_once_free(
    testbed: str, run: str, patience: Patience, say: Callable[[str], None]
) -> Iterator[None]:
    """Hold a testbed for a run, once no other has it.

    Who had it may have been killed, which frees the lock, and programs of his may still run.
    """
    with ExitStack() as stack:
        once_free(lambda: stack.enter_context(testbed_lock(testbed, run)), patience, say)
        refuse_beside_dead()
        yield


def require_quiet(
    planned: Sequence[Planned],
    patience: Patience,
    say: Callable[[str], None],
    look: Look | None = None,
) -> None:
    """Raise `NotReadyError` while others use what the run needs; wait for their end if so told."""
    if patience.anyway or all(item.case.spec.testbed.simulated for item in planned):
        return
    look = look or look_around
    left_ppm = free_ppm(planned) + MOST_PPM
    told, deadline_ns = False, time.monotonic_ns() + patience.wait_ns
    while True:
        others = look()
        if others.ppm <= left_ppm:
            return
        if time.monotonic_ns() >= deadline_ns:
            raise _too_busy(others, patience)
        if not told:
            say(f"waiting for a quiet machine: {others}")
            told = True
        sleep(PAUSE_S)  # between two looks at a condition


def free_ppm(planned: Sequence[Planned]) -> int:
    """Return what others may use of the CPUs that this process may, and no part of any case has."""
    taken = {
        cpu for item in planned for cpus in item.plan.plan.placement.cpus.values() for cpu in cpus
    }
    return max(0, len(os.sched_getaffinity(0) - taken)) * 1_000_000


def look_around(roots: Roots | None = None) -> Taken:
    """Measure what is taken of the CPUs that this process may use, by whomever else."""
    roots, cpus = roots or Roots(), frozenset(os.sched_getaffinity(0))
    before = Activity.read(roots)
    sleep(LOOK_S)  # the measurement itself, not a wait for something
    after = Activity.read(roots)
    programs = competitors(before, after, os.getpid(), ticks_per_second())
    brief = starters(before, after, os.getpid(), ticks_per_second())
    ppm = taken_ppm(before, after, cpus, os.getpid())
    if ppm is None:
        return Taken(sum(one.ppm for one in (*programs, *brief)), 0, programs, brief)
    stolen = (stolen_ppm(before, after, cpus) or 0) * len(cpus)
    return Taken(ppm, stolen, programs, brief)


def _too_busy(others: Taken, patience: Patience) -> NotReadyError:
    waited = human_seconds(patience.wait_ns / NANOSECONDS)
    still = f" still, after {waited}" if patience.wait_ns else ""
    return NotReadyError(
        f"this machine is too busy to measure on{still}",
        why=f"{others}, and the parts of this run need theirs for themselves",
        fix=f"{others.whom}wait until they have ended (`--wait 30m`), or go on all the same "
        "(`--anyway`)",
    )


def require_ready(
    planned: Sequence[Planned], plugins: Plugins, results: Path
) -> list[dict[str, Any]]:
    """Return the findings that matter to these cases; raise `NotReadyError` if one forbids them."""
    specs = [item.case.spec for item in planned]
    if all(spec.testbed.simulated for spec in specs):
        return []
    with testbed_lock(specs[0].testbed.name, "about to begin"):
        pass  # who holds it would refuse the run later, and has memory that is free again then
    wires = [wire for item in planned for wire in item.plan.plan.wires]
    places = [in_run(wire.address) for wire in wires]
    links = [f"{link}.sock" for spec in specs for link in spec.testbed.links]
    drivers = tuple(
        dict.fromkeys(driver for item in planned for driver in taking_part(item.drivers))
    )
    own = [in_run(name) for driver in drivers for name in getattr(driver, "sockets", ())]
    require_short([*own, *links, *places])
    refuse_beside_dead()
    addresses = pci_addresses(device for spec in specs for device in spec.testbed.devices)
    here = Host(results=results, plugins=plugins)
    found = examine_for(drivers, here, {Want.NICS} if addresses else frozenset())
    demand(found)
    require_bindable(addresses)
    for item in planned:
        if item.case.spec.testbed.simulated:
            continue
        require_memory(item.plan.plan.hugepage_bytes)
        item.drivers.vswitch.require(item.case.spec)
        if item.drivers.vnf is not None:
            item.drivers.vnf.require(item.case.spec)
        for program in item.drivers.programs.all if item.drivers.programs is not None else ():
            program.find(item.case.spec)
        require_guests(item.case.spec)
        for name, collector in item.drivers.collectors.items():
            collector.require(item.case.spec, item.case.spec.collect[name])
        if item.case.spec.cache:
            masks_of({**item.case.spec.cache}, abilities(Roots()))
        if item.drivers.noise is not None:
            item.drivers.noise.require(item.case.spec)
    return as_data(found)


def in_run(address: str) -> str:
    """Return a socket's name within the folder of a run."""
    return address.removeprefix(f"{Placeholder.RUN}/")
