"""Handing a NIC to a program: bound to another driver for a while, and given back afterwards."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import ComponentError, NotReadyError, Problem
from vsperf.host.files import Roots, link_name, text
from vsperf.host.network import Network
from vsperf.host.pci import PASSING, WITHOUT_IOMMU, Nic, find_nic, full_address, read_nics, refusal
from vsperf.host.undo import VFIO, BindDriver
from vsperf.host.workspace import Workspace
from vsperf.waits import sleep

BOUND_S = 5.0
POLL_S = 0.01
PCI_DEVICE = re.compile(r"(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7](?=,|$)")
UNSAFE = "enable_unsafe_noiommu_mode"


def pci_addresses(devices: Iterable[str]) -> tuple[str, ...]:
    """Return the whole PCI addresses among the devices of a testbed's links, without arguments."""
    found = [match[0].lower() for device in devices if (match := PCI_DEVICE.match(device))]
    return tuple(dict.fromkeys(full_address(address) for address in found))


@contextmanager
def bound(
    addresses: Iterable[str],
    workspace: Workspace,
    *,
    roots: Roots | None = None,
    without_iommu: bool = False,
    network: Network | None = None,
) -> Iterator[tuple[Nic, ...]]:
    """Bind NICs to vfio-pci while the context lasts; yield what they were before.

    Nothing is touched if one of them is refused: all reasons are told at once. A NIC whose driver
    shares it with DPDK, or hands it to programs already, stays as it is. `without_iommu` allows
    what vfio calls unsafe: the device can then write to any memory.
    """
    roots = roots or Roots()
    nics = require_bindable(addresses, roots, without_iommu=without_iommu, network=network)
    with ExitStack() as stack:
        for nic in nics:
            if _needs_binding(nic):
                undo = BindDriver(address=nic.address, driver=nic.driver, sysfs=roots.pci)
                stack.enter_context(workspace.undoing(undo))
                _bind(nic.address, VFIO, roots.pci)
        yield nics


def require_bindable(
    addresses: Iterable[str],
    roots: Roots | None = None,
    *,
    without_iommu: bool = False,
    network: Network | None = None,
) -> tuple[Nic, ...]:
    """Return the NICs; raise `NotReadyError` when `bound` would refuse one. Changes nothing."""
    roots = roots or Roots()
    present = read_nics(roots, network or Network.read(roots))
    wanted = {address: find_nic(address, present) for address in addresses}
    nics = tuple(nic for nic in wanted.values() if nic is not None)
    allowed = _Allowed(without_iommu, frozenset(nic.address for nic in nics))
    asked = (_problem(address, nic, roots, allowed) for address, nic in wanted.items())
    if problems := [problem for problem in asked if problem is not None]:
        error = NotReadyError("; ".join(problem.what for problem in problems))
        error.problems = tuple(problems)
        raise error
    return nics


@dataclass(frozen=True, slots=True)
class _Allowed:
    """What does not speak against taking a NIC."""

    without_iommu: bool
    together: frozenset[str]


def _needs_binding(nic: Nic) -> bool:
    return nic.rebindable and nic.driver not in PASSING


def _problem(address: str, nic: Nic | None, roots: Roots, allowed: _Allowed) -> Problem | None:
    """Return what keeps a NIC from being bound."""
    if nic is None:
        return Problem(
            f"there is no NIC at {address}",
            why="the PCI bus has none of that address",
            fix="`vsperf doctor` shows all NICs; name one of them in the testbed's links",
        )
    why_not = refusal(nic, without_iommu=allowed.without_iommu, together=allowed.together)
    if why_not:
        what = f"{nic.address} must not be taken from the kernel"
        return Problem(what, why=why_not, fix=_fix(why_not))
    return _driver_problem(nic, roots) if _needs_binding(nic) else None


def _driver_problem(nic: Nic, roots: Roots) -> Problem | None:
    folder = roots.pci / "drivers" / VFIO
    if not folder.is_dir():
        what = f"the driver {VFIO} for {nic.address} is not there"
        return Problem(what, why=f"there is no {folder}", fix=f"modprobe {VFIO}")
    switch = roots.sys / "module" / "vfio" / "parameters" / UNSAFE
    if nic.group is None and text(switch) not in ("Y", "1"):
        what = f"vfio does not take {nic.address} without an IOMMU"
        return Problem(what, why=f"{switch} is not Y", fix=f"echo Y > {switch}")
    return None


def _bind(address: str, driver: str, sysfs: Path) -> None:
    device = sysfs / "devices" / address
    with ComponentError.if_refused(
        f"cannot bind {address} to {driver}", fix="run as root; `dmesg` has the kernel's own words"
    ):
        (device / "driver_override").write_text(driver)
        if (device / "driver").exists():
            (device / "driver" / "unbind").write_text(address)
        _wait_for(device, None)
        (sysfs / "drivers_probe").write_text(address)
        _wait_for(device, driver)


def _wait_for(device: Path, driver: str | None) -> None:
    deadline = time.monotonic() + BOUND_S
    while (present := link_name(device / "driver")) != driver:
        if time.monotonic() > deadline:
            raise ComponentError(
                f"{device.name} is bound to {present or 'no driver'}, not to {driver or 'none'}",
                why=f"the kernel did not do it within {BOUND_S:g} s",
                fix="`dmesg` has the kernel's own words",
            )
        sleep(POLL_S)  # between two looks at a condition


def _fix(reason: str) -> str:
    if reason == WITHOUT_IOMMU:
        return "switch VT-d or AMD-Vi on in the firmware, and boot with intel_iommu=on iommu=pt"
    return "name another NIC in the testbed, or free this one: `vsperf doctor` shows all of them"
