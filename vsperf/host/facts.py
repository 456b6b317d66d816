"""What this machine is: the environment record of a run. Reads only; unknown is None."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("vsperf", "pydantic", "PyYAML", "click", "rich", "MLRsearch", "hdrhistogram")


def environment() -> dict[str, Any]:
    """Return the facts on machine and software that a reader needs to compare two runs."""
    return {
        "machine": {
            "hostname": platform.node() or None,
            "architecture": platform.machine() or None,
            "cpu_model": _field(Path("/proc/cpuinfo"), "model name"),
            "cpus": os.cpu_count(),
            "cpus_usable": len(os.sched_getaffinity(0)),
            "cpus_isolated": _text(Path("/sys/devices/system/cpu/isolated")),
            "smt": _text(Path("/sys/devices/system/cpu/smt/control")),
            "hypervisor": hypervisor(),
            "microcode": _field(Path("/proc/cpuinfo"), "microcode"),
            "governor": _text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
            "memory_bytes": memory_bytes(),
            "bios_version": _text(Path("/sys/class/dmi/id/bios_version")),
        },
        "system": {
            "os": os_name(),
            "kernel": platform.release() or None,
            "kernel_command_line": _text(Path("/proc/cmdline")),
        },
        "software": {
            "python": platform.python_version(),
            **{name: _version(name) for name in PACKAGES},
        },
    }


def hypervisor() -> str | None:
    """Return whose virtual machine this is, or None on bare metal or when it cannot be told."""
    if "hypervisor" not in (_field(Path("/proc/cpuinfo"), "flags") or "").split():
        return None
    vendor = _text(Path("/sys/class/dmi/id/sys_vendor"))
    return vendor or "unknown"


def memory_bytes() -> int | None:
    """Return the size of the machine's memory."""
    amount = _field(Path("/proc/meminfo"), "MemTotal")
    return int(amount.split()[0]) * 1024 if amount else None


def os_name() -> str | None:
    """Return the distribution's name and version."""
    name = _field(Path("/etc/os-release"), "PRETTY_NAME", "=")
    return name.strip('"') if name else None


def free_bytes(folder: Path) -> int:
    """Return the free space where `folder` is or would be."""
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    return shutil.disk_usage(existing).free


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def _field(path: Path, name: str, separator: str = ":") -> str | None:
    """Return the first value of `name` in a file of `name<separator>value` lines."""
    for line in (_text(path) or "").splitlines():
        key, found, value = line.partition(separator)
        if found and key.strip() == name:
            return value.strip() or None
    return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
