"""Checks of the clocks: the one that trials are timed by, and the one that dates records."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from vsperf.host.doctor.finding import Answer, Check, Group, Host, ok, unknown, warning
from vsperf.host.doctor.wants import Want
from vsperf.host.files import field, text

SLOW = ("hpet", "acpi_pm", "jiffies", "pit")
STEADY = ("constant_tsc", "nonstop_tsc")


def _source(here: Host) -> Answer:
    folder = here.roots.sys / "devices" / "system" / "clocksource" / "clocksource0"
    name = text(folder / "current_clocksource")
    resolution_ns = time.get_clock_info("monotonic").resolution * 1e9
    if name is None:
        return unknown("the kernel does not name its clock source")
    evidence = f"{name}, resolution {resolution_ns:.0f} ns"
    if name in SLOW:
        others = text(folder / "available_clocksource") or ""
        fix = f"echo tsc > {folder / 'current_clocksource'}" if "tsc" in others.split() else None
        return warning(f"{evidence}: slow to read", fix or "boot with tsc=reliable")
    if resolution_ns > 1000:
        return warning(evidence, "boot with highres=on")
    return ok(evidence)


def _cycles(here: Host) -> Answer:
    """Look whether the counter that tgen stamps frames with runs at one speed on all CPUs."""
    flags = (field(here.roots.proc / "cpuinfo", "flags") or "").split()
    if "tsc" not in flags:
        return unknown("the CPU has no TSC; another architecture has its own counter")
    missing = [flag for flag in STEADY if flag not in flags]
    if missing:
        return warning(
            f"without {', '.join(missing)}: latency is as wrong as the counter",
            "let a hypervisor offer an invariant TSC (QEMU: -cpu host,+invtsc)",
        )
    return ok(f"{', '.join(STEADY)}: one speed, also while a CPU rests")


def _date(here: Host) -> Answer:
    now = datetime.now(UTC)
    installed = datetime.fromtimestamp(Path(__file__).stat().st_mtime, UTC)
    evidence = now.isoformat(timespec="seconds")
    if now < installed:
        return warning(
            f"{evidence} is before vsperf was installed; records get wrong dates",
            "timedatectl set-ntp true",
        )
    if (here.roots.root / "run" / "systemd" / "timesync" / "synchronized").exists():
        return ok(f"{evidence}, synchronised")
    return ok(f"{evidence}; whether it is synchronised cannot be told")


CHECKS = (
    Check("clock source", Group.CLOCK, _source, frozenset({Want.QUIET_CPUS})),
    Check("cycle counter", Group.CLOCK, _cycles, frozenset({Want.CYCLE_COUNTER})),
    Check("date", Group.CLOCK, _date),
)
