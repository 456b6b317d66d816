"""Checks of this machine: each has a name, evidence, and the way to mend it. Changes nothing."""

from __future__ import annotations

import enum
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from vsperf.host.facts import free_bytes, hypervisor, memory_bytes, os_name
from vsperf.plugins import Plugins

GIGABYTE = 10**9
LEAST_FREE_BYTES = GIGABYTE
LEAST_MEMORY_BYTES = 2 * GIGABYTE


class Status(enum.StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    """A run would not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one check."""

    name: str
    status: Status
    evidence: str
    fix: str | None = None


def examine(results: Path, plugins: Plugins) -> Iterator[Finding]:
    """Make all checks, one after the other."""
    yield _system()
    yield _python()
    yield _packages()
    yield _drivers(plugins)
    yield _cpus()
    yield _memory()
    yield _virtual()
    yield _results(results)
    yield _disk(results)
    yield _clock()
    yield _terminal()


def _system() -> Finding:
    linux = sys.platform == "linux"
    evidence = f"{os_name() or sys.platform}, kernel {platform.release()}"
    status = Status.OK if linux else Status.FAILURE
    return Finding("system", status, evidence, None if linux else "vsperf runs on Linux")


def _python() -> Finding:
    good = sys.version_info >= (3, 11)
    status = Status.OK if good else Status.FAILURE
    fix = None if good else "install Python 3.11 or newer and run tools/bootstrap again"
    return Finding("python", status, f"{platform.python_version()} at {sys.executable}", fix)


def _packages() -> Finding:
    """Check that what vsperf needs is installed."""
    try:
        needed = [text.split(";")[0] for text in requires("vsperf") or []]
    except PackageNotFoundError:
        return Finding("packages", Status.FAILURE, "vsperf is not installed", "pip install .")
    names = [_package_name(text) for text in needed]
    missing = [name for name in names if not _installed(name)]
    if missing:
        fix = f"pip install {' '.join(missing)}"
        return Finding("packages", Status.FAILURE, f"missing: {', '.join(missing)}", fix)
    shown = ", ".join(f"{name} {version(name)}" for name in names)
    return Finding("packages", Status.OK, shown)


def _package_name(requirement: str) -> str:
    return requirement.replace("<", "=").replace(">", "=").replace("!", "=").split("=")[0].strip()


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _drivers(plugins: Plugins) -> Finding:
    broken = [f"{p.section} {p.kind}: {p.failure}" for p in plugins.all if p.failure]
    if broken:
        return Finding("drivers", Status.WARNING, "; ".join(broken), "see `vsperf plugins`")
    found = ", ".join(f"{plugin.section} {plugin.kind}" for plugin in plugins.all)
    if not found:
        return Finding("drivers", Status.FAILURE, "none found", "install vsperf with pip")
    return Finding("drivers", Status.OK, found)


def _cpus() -> Finding:
    usable, present = len(os.sched_getaffinity(0)), os.cpu_count()
    evidence = f"{usable} of {present} usable"
    if usable < 2:
        fix = "give the machine or the container two CPUs; a switch and a generator share one now"
        return Finding("cpus", Status.WARNING, evidence, fix)
    return Finding("cpus", Status.OK, evidence)


def _memory() -> Finding:
    size = memory_bytes()
    if size is None:
        return Finding("memory", Status.WARNING, "cannot be told")
    evidence = f"{size / GIGABYTE:.1f} GB"
    if size < LEAST_MEMORY_BYTES:
        return Finding("memory", Status.WARNING, evidence, "2 GB or more are advisable")
    return Finding("memory", Status.OK, evidence)


def _virtual() -> Finding:
    host = hypervisor()
    if host is None:
        return Finding("virtualisation", Status.OK, "no hypervisor seen")
    fix = "numbers of a virtual machine depend on its neighbours; repeat runs before comparing"
    return Finding("virtualisation", Status.WARNING, f"this is a virtual machine ({host})", fix)


def _results(results: Path) -> Finding:
    existing = next(p for p in (results, *results.absolute().parents) if p.exists())
    if not existing.is_dir():
        return Finding("results", Status.FAILURE, f"{existing} is not a folder", "--results DIR")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        fix = "choose a folder that can be written to with --results DIR"
        return Finding("results", Status.FAILURE, f"{existing}: {error.strerror}", fix)
    return Finding("results", Status.OK, f"{results} can be written")


def _disk(results: Path) -> Finding:
    free = free_bytes(results)
    evidence = f"{free / GIGABYTE:.1f} GB free for {results}"
    if free < LEAST_FREE_BYTES:
        return Finding("disk", Status.WARNING, evidence, "make room, or use --results DIR")
    return Finding("disk", Status.OK, evidence)


def _clock() -> Finding:
    resolution = time.get_clock_info("monotonic").resolution
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    try:
        name = source.read_text().strip()
    except OSError:
        name = "unknown"
    evidence = f"{name}, resolution {resolution * 1e9:.0f} ns"
    if resolution > 1e-6:
        return Finding("clock", Status.WARNING, evidence, "boot with a high-resolution clock")
    return Finding("clock", Status.OK, evidence)


def _terminal() -> Finding:
    encoding = (sys.stdout.encoding or "unknown").lower()
    if "utf" not in encoding:
        return Finding("terminal", Status.WARNING, encoding, "export LANG=C.UTF-8")
    return Finding("terminal", Status.OK, encoding)
