"""`perf`: instructions, caches, TLB and branches of the polling threads, in trials of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vsperf.config.base import DriverSpec
from vsperf.drivers.collectors.base import (
    COMPONENT,
    OwnTrialsSpec,
    RunningCollector,
    Seat,
    Trials,
    own_trials_text,
)
from vsperf.drivers.collectors.perf_program import (
    PROGRAM,
    SETTING,
    WITH_KERNEL,
    PerfCollector,
    PerRole,
    started,
)
from vsperf.host.doctor.programs import program_check
from vsperf.records.run import Placement, Step
from vsperf.records.series import Nature, Note, Quantity, Sample, Value

HARDWARE = {
    "cycles": ("cycles", "cycles of the CPU"),
    "instructions": ("instructions", "instructions; by cycles, the IPC"),
    "branches": ("branches", "branches"),
    "branch-misses": ("branch_misses", "branches that were guessed wrong"),
    "L1-dcache-loads": ("l1d_loads", "reads of the first-level data cache"),
    "L1-dcache-load-misses": ("l1d_misses", "those that it did not have"),
    "LLC-loads": ("llc_loads", "reads of the last-level cache"),
    "LLC-load-misses": ("llc_misses", "those that went to memory"),
    "dTLB-loads": ("dtlb_loads", "addresses looked up"),
    "dTLB-load-misses": ("dtlb_misses", "those that the TLB did not have"),
}
SOFTWARE = {
    "context-switches": ("context_switches", "times that another thread got the CPU"),
    "cpu-migrations": ("migrations", "times that it went to another CPU"),
    "page-faults": ("page_faults", "pages that had to be brought in"),
    "task-clock": ("task_ns", "time on a CPU"),
}
OF_THE_KERNEL = frozenset({"context_switches", "migrations"})
"""What only the kernel does: 0 by definition where perf may see user mode only."""
EVENTS = {**HARDWARE, **SOFTWARE}
COMMAND = (PROGRAM, "stat", "-x", ",", "-e", ",".join(EVENTS))
MILLISECOND = 1_000_000


class PerfSpec(OwnTrialsSpec):
    """Settings of `perf`."""

    kind: Literal["perf"]
    trials: Trials = 3
    """How many trials it has for itself; what a single one counted may be chance, so
    `vsperf show RUN CASE --why` would conclude nothing from it."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What perf said of one role."""

    values: dict[str, Value]
    missing: tuple[str, ...]
    """Events that this machine does not count."""
    share: float
    """The least share of the time in which an event was counted; the rest is reckoned."""
    hidden: tuple[str, ...] = ()
    """Events of the kernel, where perf may see user mode only."""


def counted(text: str) -> Counted:
    """Read `perf stat -x ,`; an event that was not counted is missing."""
    values: dict[str, Value] = {}
    missing, hidden, share = [], [], 100.0
    for line in text.splitlines():
        columns = line.split(",")
        if line.startswith("#") or len(columns) < 5:
            continue
        event, _, modifiers = columns[2].partition(":")
        if event not in EVENTS:
            continue
        name = EVENTS[event][0]
        if name in OF_THE_KERNEL and "u" in modifiers and "k" not in modifiers:
            hidden.append(name)
            continue
        try:
            number = float(columns[0])
        except ValueError:
            missing.append(name)
            continue
        values[name] = round(number * MILLISECOND) if event == "task-clock" else round(number)
        part = _number(columns[4])
        share = min(share, part) if math.isfinite(part) else share
    return Counted(values, tuple(missing), share, tuple(hidden))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


class Counting(PerRole):
    """A perf for each role that counts."""

    def keep(self, role: str, file: Path, trial: int, at_ns: int) -> None:
        """Keep what it counted, and say what it could not."""
        found = counted(file.read_text(errors="replace"))
        if found.values:
            self.seat.file.append(Sample(trial=trial, at_ns=at_ns, of=role, values=found.values))
        for text in _remarks(role, found):
            self.seat.file.append(Note(trial=trial, text=text))


def _remarks(role: str, found: Counted) -> Iterable[str]:
    if found.missing:
        hardware = {name for name, _ in HARDWARE.values()}
        whole = hardware <= set(found.missing)
        why = "this machine has no hardware counters" if whole else "the machine does not count all"
        yield f"not counted of the {role}: {', '.join(found.missing)}; {why}"
    if found.hidden:
        yield (
            f"not counted of the {role}: {', '.join(found.hidden)}; {SETTING} shows user mode "
            "only, in which there are none, and all other events are those of user mode: sudo "
            f"sysctl {SETTING}={WITH_KERNEL}, or run as root"
        )
    if found.share < 100:
        yield (
            f"events of the {role} took turns on the counters: one was counted for "
            f"{found.share:.0f} % of the time, and the rest is reckoned"
        )


class Perf(PerfCollector):
    """Counts events of the CPU for the polling threads of each role."""

    kind = "perf"
    summary = "perf stat by role: IPC, caches, TLB, branches; in trials of its own"
    Spec = PerfSpec
    checks = (program_check(PROGRAM, "collecting hardware counters", "linux-perf"),)

    def disturbs(self, settings: DriverSpec) -> str:
        own = own_trials_text(settings)
        return f"heavy: counters are switched with the threads; it has {own}"

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        return tuple(
            Quantity(
                name=name,
                unit="ns" if name.endswith("_ns") else "1",
                nature=Nature.TOTAL,
                meaning=meaning,
            )
            for name, meaning in EVENTS.values()
        )

    def plan(self, settings: DriverSpec, name: str, placement: Placement) -> tuple[Step, ...]:
        own = own_trials_text(settings)
        action = f"{name}: after the search, count events by role in {own}"
        return (Step(component=COMPONENT, action=action, argv=COMMAND),)

    def start(self, settings: DriverSpec, seat: Seat) -> AbstractContextManager[RunningCollector]:
        return started(Counting, seat, COMMAND, ".stat")
