"""What this machine is: the environment record of a run. Reads only; unknown is None."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from vsperf.host.files import Roots, cpu_list, field, integer, kilobytes, numbered, text
from vsperf.host.hugepages import HostMemory, read_pools
from vsperf.host.network import Network
from vsperf.host.pci import Nic, read_nics
from vsperf.host.software import package_versions

PACKAGES = ("vsperf", "pydantic", "PyYAML", "click", "rich", "MLRsearch", "hdrhistogram", "ovs")
SYSTEM_PACKAGES = (
    *("openvswitch-switch-dpdk", "openvswitch-switch", "openvswitch-common", "openvswitch"),
    *("dpdk", "libdpdk-dev", "vpp", "qemu-system-x86", "qemu-kvm", "seabios", "libc6", "glibc"),
)
"""What decides numbers beside the kernel, by the names that distributions give it."""
FIRMWARE = ("bios_vendor", "bios_version", "bios_date", "product_name", "board_name")
PASSING_PARTS = ("hostname", "cpus_usable", "memory_bytes", "hugepages")
"""Facts on the machine that differ from run to run or from twin to twin."""
ID_DIGITS = 12


def environment(roots: Roots | None = None) -> dict[str, Any]:
    """Return the facts on machine and software that a reader needs to compare two runs."""
    roots = roots or Roots()
    found: dict[str, Any] = {
        "host": _host(roots),
        "system": _system(roots),
        "packages": package_versions(SYSTEM_PACKAGES),
        "software": {
            "python": platform.python_version(),
            **{name: _version(name) for name in PACKAGES},
        },
    }
    return {"id": environment_id(found), **found}


def environment_id(facts: Mapping[str, Any]) -> str:
    """Return a name that two environments share when they should give the same numbers.

    It covers hardware, firmware, kernel and packages; not this program, nor what passes.
    """
    host = {k: v for k, v in facts["host"].items() if k not in PASSING_PARTS}
    nics = [{k: v for k, v in nic.items() if k != "driver"} for nic in host.pop("nics", ())]
    stable = [host, nics, facts["system"], facts["packages"]]
    digest = hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()
    return digest[:ID_DIGITS]


def _host(roots: Roots) -> dict[str, Any]:
    cpuinfo, first = roots.proc / "cpuinfo", roots.cpus / "cpu0"
    firmware = roots.sys / "class" / "dmi" / "id"
    return {
        "hostname": platform.node() or None,
        "architecture": platform.machine() or None,
        "cpu_model": field(cpuinfo, "model name"),
        "cpus": os.cpu_count(),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "cpus_isolated": text(roots.cpus / "isolated"),
        "cpus_without_tick": text(roots.cpus / "nohz_full"),
        "cores": _cores(roots),
        "smt": text(roots.cpus / "smt" / "control"),
        "caches": _caches(first / "cache"),
        "hypervisor": hypervisor(roots),
        "microcode": field(cpuinfo, "microcode"),
        "vulnerabilities": _texts(roots.cpus / "vulnerabilities"),
        "governor": text(first / "cpufreq" / "scaling_governor"),
        "frequency_driver": text(first / "cpufreq" / "scaling_driver"),
        "frequency_khz": {
            "least": integer(first / "cpufreq" / "scaling_min_freq"),
            "most": integer(first / "cpufreq" / "scaling_max_freq"),
        },
        "turbo": turbo(roots),
        "idle_driver": text(roots.cpus / "cpuidle" / "current_driver"),
        "memory_bytes": memory_bytes(roots),
        "nodes": _nodes(roots),
        "hugepages": _hugepages(roots),
        "iommu": any((roots.sys / "class" / "iommu").glob("*")),
        "nics": [_nic(nic, roots) for nic in read_nics(roots, Network())],
        **{name: text(firmware / name) for name in FIRMWARE},
    }


def _system(roots: Roots) -> dict[str, Any]:
    clock = roots.sys / "devices" / "system" / "clocksource" / "clocksource0"
    huge = roots.sys / "kernel" / "mm" / "transparent_hugepage"
    return {
        "os": os_name(roots),
        "kernel": platform.release() or None,
        "kernel_build": text(roots.proc / "version"),
        "kernel_command_line": text(roots.proc / "cmdline"),
        "clock_source": text(clock / "current_clocksource"),
        "transparent_hugepages": text(huge / "enabled"),
        "numa_balancing": integer(roots.proc / "sys" / "kernel" / "numa_balancing"),
    }


def hypervisor(roots: Roots | None = None) -> str | None:
    """Return whose virtual machine this is, or None on bare metal or when it cannot be told."""
    roots = roots or Roots()
    if "hypervisor" not in (field(roots.proc / "cpuinfo", "flags") or "").split():
        return None
    return text(roots.sys / "class" / "dmi" / "id" / "sys_vendor") or "unknown"


def turbo(roots: Roots) -> bool | None:
    """Return whether CPUs may exceed their rated speed."""
    off = integer(roots.cpus / "intel_pstate" / "no_turbo")
    boost = integer(roots.cpus / "cpufreq" / "boost")
    if off is None and boost is None:
        return None
    return off == 0 if off is not None else boost == 1


def memory_bytes(roots: Roots | None = None) -> int | None:
    """Return the size of the machine's memory."""
    return kilobytes((roots or Roots()).proc / "meminfo", "MemTotal")


def os_name(roots: Roots | None = None) -> str | None:
    """Return the distribution's name and version."""
    name = field((roots or Roots()).root / "etc" / "os-release", "PRETTY_NAME", "=")
    return name.strip('"') if name else None


def free_bytes(folder: Path) -> int:
    """Return the free space where `folder` is or would be."""
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    return shutil.disk_usage(existing).free


def _cores(roots: Roots) -> int | None:
    cores = {
        (text(folder / "topology" / "physical_package_id"), text(folder / "topology" / "core_id"))
        for _, folder in numbered(roots.cpus, "cpu")
    }
    return len(cores) if cores and (None, None) not in cores else None


def _caches(folder: Path) -> dict[str, str]:
    """Return the sizes of one CPU's caches by level and type, such as `1 Data`."""
    found = {}
    for _, cache in numbered(folder, "index"):
        level, kind, size = (text(cache / name) for name in ("level", "type", "size"))
        if level and kind and size:
            found[f"{level} {kind}"] = size
    return found


def _nodes(roots: Roots) -> list[dict[str, Any]]:
    return [
        {"node": number, "cpus": sorted(cpus) if (cpus := cpu_list(folder / "cpulist")) else []}
        for number, folder in numbered(roots.nodes, "node")
    ]


def _hugepages(roots: Roots) -> list[dict[str, int]]:
    return [
        {"node": pool.node, "page_bytes": pool.page_bytes, "pages": pool.total, "free": pool.free}
        for pool in read_pools(HostMemory(roots.sys, roots.proc))
    ]


def _nic(nic: Nic, roots: Roots) -> dict[str, Any]:
    """Return what a NIC is; neither its addresses nor what it is used for."""
    folder = roots.pci / "devices" / nic.address
    return {
        "address": nic.address,
        "vendor": nic.vendor,
        "device": nic.device,
        "driver": nic.driver,
        "node": nic.node,
        "slot_speed": text(folder / "current_link_speed"),
        "slot_width": text(folder / "current_link_width"),
    }


def _texts(folder: Path) -> dict[str, str | None]:
    return {path.name: text(path) for path in sorted(folder.glob("*"))}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
