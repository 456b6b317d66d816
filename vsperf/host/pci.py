"""NICs on the PCI bus as sysfs shows them, and why one must not be taken from the kernel."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vsperf.host.files import Roots, integer, link_name
from vsperf.host.network import Network

ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
NETWORK_CLASS = 0x02
BRIDGE_CLASS = 0x0604
SHARING = frozenset({"mlx4_core", "mlx5_core"})
"""Drivers that share a NIC with DPDK: it is used as it is, and must not be bound to another."""
PASSING = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio"})
"""Drivers that hand a device to a program."""
WITHOUT_IOMMU = "there is no IOMMU that keeps it from other memory"
HARMLESS = frozenset({*PASSING, "pci-stub", "pcieport"})
"""Drivers that do not use a device on their own account."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface of a NIC."""

    name: str
    carrier: bool | None
    """None while it is down, since the kernel then does not look."""
    addresses: tuple[str, ...] = ()
    uppers: tuple[str, ...] = ()
    """Bonds, bridges and VLANs made of it."""
    default_route: bool = False
    session: bool = False
    """Whether the ssh session of this user goes through it."""


@dataclass(frozen=True, slots=True)
class Nic:
    """A network function on the PCI bus."""

    address: str
    vendor: int | None
    device: int | None
    driver: str | None
    node: int | None
    """Memory node that it is near; None when the machine does not say."""
    group: int | None = None
    """IOMMU group; None without an IOMMU."""
    neighbours: tuple[str, ...] = ()
    """Other devices of the group that a driver of the kernel uses."""
    interfaces: tuple[Interface, ...] = ()
    functions: int = 0
    """Virtual functions that were made of it."""
    holders: tuple[int, ...] = ()
    """Processes that have its group open."""

    @property
    def rebindable(self) -> bool:
        """Whether DPDK wants another driver than the kernel's."""
        return self.driver not in SHARING

    @property
    def text(self) -> str:
        identity = f"{self.vendor or 0:04x}:{self.device or 0:04x}"
        names = "".join(f" {interface.name}" for interface in self.interfaces)
        node = "" if self.node is None else f", node {self.node}"
        return f"{self.address} [{identity}] {self.driver or 'no driver'}{names}{node}"


def read_nics(roots: Roots, network: Network) -> tuple[Nic, ...]:
    """Return all network functions of the PCI bus, by address."""
    folders = sorted((roots.pci / "devices").glob("*"))
    return tuple(
        _nic(roots, folder, network)
        for folder in folders
        if ADDRESS.fullmatch(folder.name) and _class(folder) >> 8 == NETWORK_CLASS
    )


def find_nic(address: str, nics: tuple[Nic, ...]) -> Nic | None:
    """Return the NIC at an address, which may leave the domain 0000 out."""
    full = full_address(address.lower())
    return next((nic for nic in nics if nic.address == full), None)


def full_address(address: str) -> str:
    """Return the address with its domain."""
    return address if address.count(":") == 2 else f"0000:{address}"


def refusal(nic: Nic, *, without_iommu: bool = False, together: Collection[str] = ()) -> str | None:
    """Return why the NIC must not be used, or None.

    `without_iommu` is the user's own word that a device may do without. `together` are the
    addresses of all NICs that are taken: those may share an IOMMU group.
    """
    reasons = (
        *(_interface_refusal(interface) for interface in nic.interfaces),
        _function_refusal(nic),
        _group_refusal(nic, without_iommu, together) if nic.rebindable else None,
    )
    return next((reason for reason in reasons if reason), None)


def _interface_refusal(interface: Interface) -> str | None:
    if interface.session:
        return f"this ssh session goes through {interface.name}"
    if interface.default_route:
        return f"the default route leads through {interface.name}"
    if interface.addresses:
        return f"{interface.name} has the address {interface.addresses[0]}"
    if interface.uppers:
        return f"{interface.name} is part of {', '.join(interface.uppers)}"
    return None


def _function_refusal(nic: Nic) -> str | None:
    if nic.functions:
        return f"{nic.functions} virtual functions were made of it, and would go"
    if nic.holders:
        return f"process {nic.holders[0]} uses it"
    return None


def _group_refusal(nic: Nic, without_iommu: bool, together: Collection[str]) -> str | None:
    if nic.group is None and nic.driver not in PASSING and not without_iommu:
        return WITHOUT_IOMMU
    others = [text for text in nic.neighbours if text.partition(" ")[0] not in together]
    if others:
        return f"its IOMMU group {nic.group} holds {', '.join(others)} too, in use"
    return None


def _nic(roots: Roots, folder: Path, network: Network) -> Nic:
    group = link_name(folder / "iommu_group")
    driver = link_name(folder / "driver")
    node = integer(folder / "numa_node")
    number = int(group) if group is not None and group.isdigit() else None
    holders = _holders(roots, number) if driver in PASSING and number is not None else ()
    return Nic(
        address=folder.name,
        vendor=integer(folder / "vendor"),
        device=integer(folder / "device"),
        driver=driver,
        node=node if node is not None and node >= 0 else None,
        group=number,
        neighbours=tuple(_neighbours(folder)) if number is not None else (),
        interfaces=tuple(_interfaces(roots, folder.name, network)),
        functions=integer(folder / "sriov_numvfs") or 0,
        holders=holders,
    )


def _class(folder: Path) -> int:
    """Return class and subclass of a device; 0 when it does not say."""
    return (integer(folder / "class") or 0) >> 8


def _neighbours(folder: Path) -> Iterator[str]:
    for other in sorted((folder / "iommu_group" / "devices").glob("*")):
        driver = link_name(other / "driver")
        if other.name == folder.name or driver is None or driver in HARMLESS:
            continue
        if _class(other) != BRIDGE_CLASS:
            yield f"{other.name} ({driver})"


def _interfaces(roots: Roots, address: str, network: Network) -> Iterator[Interface]:
    """Find them from their own side: some lie deeper below the device, as those of virtio do."""
    for entry in sorted((roots.sys / "class" / "net").glob("*")):
        above = [part for part in entry.resolve().parts if ADDRESS.fullmatch(part)]
        if not above or above[-1] != address:
            continue
        uppers = network.uppers(entry.name)
        family = (entry.name, *uppers)
        carrier = integer(entry / "carrier")
        yield Interface(
            entry.name,
            None if carrier is None else bool(carrier),
            network.addresses.get(entry.name, ()),
            uppers,
            any(name in network.default_routes for name in family),
            any(name in network.session for name in family),
        )


def _holders(roots: Roots, group: int) -> tuple[int, ...]:
    """Return the processes that have the device file of an IOMMU group open."""
    wanted = f"/dev/vfio/{group}"
    found = set()
    for entry in roots.proc.glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if str(entry.readlink()) == wanted:
                found.add(int(entry.parts[-3]))
    return tuple(sorted(found))
