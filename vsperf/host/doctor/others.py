"""Checks of what else is on the machine: load, programs that poll, leftovers; none is touched."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from vsperf.errors import NotReadyError
from vsperf.host.activity import Activity, competitors, stolen_ppm, ticks_per_second
from vsperf.host.dead import dead_deployments
from vsperf.host.doctor.finding import Answer, Check, Group, Host, failure, ok, unknown, warning
from vsperf.host.doctor.wants import Want
from vsperf.host.files import Roots, text
from vsperf.host.procfs import MARK
from vsperf.waits import sleep

SHORTEST_LOOK_NS = 300_000_000
STOLEN_LIMIT_PPM = 5_000
COMPETITION_LIMIT_PPM = 100_000
SHOWN = 3
POLLING = ("librte_eal", "/anon_hugepage", "hugepages/")
"""One of these among the mappings of a process, and it is likely to poll a CPU."""


def _steal(here: Host) -> Answer:
    looked = _look(here)
    if looked is None:
        return unknown("nothing was looked at before")
    share = stolen_ppm(*looked, here.usable)
    if share is None:
        return unknown("the kernel does not count it")
    evidence = f"{share / 10_000:.1f} % of the last {_seconds(looked)}"
    if share > STOLEN_LIMIT_PPM:
        return warning(
            f"{evidence}: the hypervisor gave it to others", "move to a host with fewer neighbours"
        )
    return ok(evidence)


def _load(here: Host) -> Answer:
    looked = _look(here)
    if looked is None:
        return unknown("nothing was looked at before")
    busy = competitors(*looked, os.getpid(), ticks_per_second())
    share = sum(one.ppm for one in busy)
    average = (text(here.roots.proc / "loadavg") or "unknown").split()[0]
    evidence = f"others used {share / 10_000:.0f} % of a CPU for {_seconds(looked)}"
    shown = ", ".join(str(one) for one in busy[:SHOWN])
    evidence = f"{evidence}{f': {shown}' if shown else ''}; load average {average}"
    if share > COMPETITION_LIMIT_PPM:
        return warning(evidence, "end them, or keep them off the CPUs that are used (taskset)")
    return ok(evidence)


def _leftovers(here: Host) -> Answer:
    elsewhere = here.roots != Roots()
    try:
        dead = dead_deployments((here.roots.root / "run" / "vsperf",) if elsewhere else None)
    except NotReadyError as error:
        return failure(error.with_why, error.problems[0].fix)
    if not dead:
        return ok("no run of this user that was killed left anything")
    evidence = "; ".join(f"{one.folder}: {one.text}" for one in dead)
    running = any(one.processes for one in dead)
    return (failure if running else warning)(evidence, "vsperf clean")


def _pollers(here: Host) -> Answer:
    found, hidden = [], 0
    for pid, name in programs_of_others(here.roots):
        polls = _polls(here.roots, pid)
        hidden += polls is None
        if polls:
            found.append(f"{name} ({pid})")
    if found:
        return warning(
            f"{', '.join(found)}: may poll a CPU that is measured, and hold hugepages",
            "end them before a run, or keep their CPUs out of hosts.local.cpus",
        )
    if hidden:
        whose = "1 process shows its" if hidden == 1 else f"{hidden} processes show their"
        whom = "root only" if os.geteuid() else "nobody, not even to root"
        return unknown(f"{whose} memory to {whom}")
    return ok("no other program on DPDK or hugepages")


def _look(here: Host) -> tuple[Activity, Activity] | None:
    """Return the beginning and the end of a time that is long enough to say something."""
    if here.before is None:
        return None
    rest_ns = here.before.time_ns + SHORTEST_LOOK_NS - time.monotonic_ns()
    if rest_ns > 0:
        sleep(rest_ns / 1e9)  # the measurement itself, not a wait for something
    return here.before, Activity.read(here.roots)


def _seconds(looked: tuple[Activity, Activity]) -> str:
    return f"{(looked[1].time_ns - looked[0].time_ns) / 1e9:.1f} s"


def programs_of_others(roots: Roots) -> Iterator[tuple[int, str]]:
    """Yield number and name of each program that is of no run; threads of the kernel are none."""
    names = (folder.name for folder in roots.proc.glob("[0-9]*"))
    for pid in sorted(int(name) for name in names if name.isdigit()):
        try:
            command = (roots.proc / str(pid) / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended
        if command and pid != os.getpid() and not _of_a_run(roots, pid):
            yield pid, command.split(b"\0")[0].decode(errors="replace").rpartition("/")[2]


def _of_a_run(roots: Roots, pid: int) -> bool:
    """Return whether vsperf started it; `leftovers` speaks of those whose run is dead."""
    try:
        return f"{MARK}=".encode() in (roots.proc / str(pid) / "environ").read_bytes()
    except OSError:
        return False


def _polls(roots: Roots, pid: int) -> bool | None:
    """Return whether a process looks like it; None when this user may not look."""
    try:
        mappings = (roots.proc / str(pid) / "maps").read_text(errors="replace")
    except PermissionError:
        return None
    except OSError:
        return False  # it has ended
    return any(sign in mappings for sign in POLLING)


CHECKS = (
    Check("leftovers", Group.OTHERS, _leftovers, frozenset({Want.QUIET_CPUS})),
    Check("polling programs", Group.OTHERS, _pollers, frozenset({Want.QUIET_CPUS})),
    Check("load", Group.OTHERS, _load, frozenset({Want.QUIET_CPUS})),
    Check("steal", Group.OTHERS, _steal, frozenset({Want.QUIET_CPUS})),
)
