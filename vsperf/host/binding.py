"""Handing a NIC to a program: bound to another driver for a while, and given back afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.files import Roots, link_name, text
from vsperf.host.pci import PASSING, WITHOUT_IOMMU, Nic, refusal
from vsperf.host.undo import BindDriver
from vsperf.host.workspace import Workspace

DRIVER = "vfio-pci"
BOUND_S = 5.0
POLL_S = 0.01
UNSAFE = "enable_unsafe_noiommu_mode"


@contextmanager
def bound(
    nic: Nic,
    workspace: Workspace,
    driver: str = DRIVER,
    *,
    roots: Roots | None = None,
    without_iommu: bool = False,
) -> Iterator[None]:
    """Bind a NIC to `driver` while the context lasts; refuse one that somebody depends on.

    A NIC whose driver shares it with DPDK, or hands it to programs already, stays as it is.
    `without_iommu` allows what vfio calls unsafe: the device can then write to any memory.
    """
    roots = roots or Roots()
    if reason := refusal(nic, without_iommu=without_iommu):
        raise NotReadyError(
            f"{nic.address} must not be taken from the kernel", why=reason, fix=_fix(reason)
        )
    if not nic.rebindable or nic.driver in PASSING:
        yield
        return
    _require_driver(nic, driver, roots)
    undo = BindDriver(address=nic.address, driver=nic.driver, sysfs=roots.pci)
    with workspace.undoing(undo):
        _bind(nic.address, driver, roots.pci)
        yield


def _bind(address: str, driver: str, sysfs: Path) -> None:
    device = sysfs / "devices" / address
    try:
        (device / "driver_override").write_text(driver)
        if (device / "driver").exists():
            (device / "driver" / "unbind").write_text(address)
        _wait_for(device, None)
        (sysfs / "drivers_probe").write_text(address)
        _wait_for(device, driver)
    except OSError as error:
        raise ComponentError(
            f"cannot bind {address} to {driver}",
            why=error.strerror or str(error),
            fix="run as root; `dmesg` has the kernel's own words",
        ) from error


def _wait_for(device: Path, driver: str | None) -> None:
    deadline = time.monotonic() + BOUND_S
    while (present := link_name(device / "driver")) != driver:
        if time.monotonic() > deadline:
            raise ComponentError(
                f"{device.name} is bound to {present or 'no driver'}, not to {driver or 'none'}",
                why=f"the kernel did not do it within {BOUND_S:g} s",
                fix="`dmesg` has the kernel's own words",
            )
        time.sleep(POLL_S)  # between two looks at a condition


def _require_driver(nic: Nic, driver: str, roots: Roots) -> None:
    if not (roots.pci / "drivers" / driver).is_dir():
        raise NotReadyError(
            f"the driver {driver} for {nic.address} is not there",
            why=f"there is no {roots.pci / 'drivers' / driver}",
            fix=f"modprobe {driver}",
        )
    switch = roots.sys / "module" / "vfio" / "parameters" / UNSAFE
    if nic.group is None and driver == DRIVER and text(switch) not in ("Y", "1"):
        raise NotReadyError(
            f"vfio does not take {nic.address} without an IOMMU",
            why=f"{switch} is not Y",
            fix=f"echo Y > {switch}",
        )


def _fix(reason: str) -> str:
    if reason == WITHOUT_IOMMU:
        return "switch VT-d or AMD-Vi on in the firmware, and boot with intel_iommu=on iommu=pt"
    return "name another NIC in the testbed, or free this one: `vsperf doctor` shows all of them"
