"""The ports that a topology asks of any switch, and how vhost-user ports are reached. Pure.

Paths begin with a placeholder, which the workspace fills in when the switch is started.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from vsperf.config.case import CaseSpec
from vsperf.config.places import place_mac, place_mtu
from vsperf.config.topology import Topology
from vsperf.config.wiring import Nic, nics
from vsperf.drivers.vswitches.base import wire_of
from vsperf.errors import UsageError
from vsperf.host.places import HOST_END, LONGEST_SHORT_NAME
from vsperf.host.tuntap import LONGEST_NAME
from vsperf.host.veths import FarEnd
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placeholder, Wire, fill_in

PCI_ADDRESS = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
VIRTUAL_DEVICE = "net_"
"""With this DPDK's names of virtual devices begin."""

PLACE_DEVICE = "eth0"
"""The device of a place."""

CHASSIS = "chassis:"
"""With this begins the name of a port that is in the chassis of a generator."""

VhostRole = Literal["vhost-user-client", "vhost-user"]
"""Who calls: as `vhost-user-client` the switch does, and the other end listens, so the switch may
restart; as `vhost-user` the switch listens."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a port of the switch leads to: a link of the testbed, or the NIC of a VNF."""

    name: str
    """Of the link, or of the NIC, such as vm1_0."""
    nic: Nic | None = None
    """The NIC; None for a link."""

    @property
    def link(self) -> str | None:
        """The testbed link; None for a NIC."""
        return self.name if self.nic is None else None

    @property
    def vnf(self) -> str | None:
        """The VNF; None for a link."""
        return None if self.nic is None else self.nic.vnf


def places_of(topology: Topology) -> tuple[Place, ...]:
    """Return what each port leads to: the links first, then the NICs that face the switch."""
    links = (Place(link) for link in topology.links)
    facing = (Place(nic.port, nic) for nic in nics(topology) if nic.faces is not None)
    found = (*links, *facing)
    if not found:
        raise UsageError(
            f"the switch has no port in topology {topology.name}",
            fix="choose a topology with links, such as p2p",
        )
    return found


def vhost_socket(place: Place) -> str:
    """Return the socket of a vhost-user port, whoever listens at it; not filled in."""
    return f"{Placeholder.RUN}/{place.name}.sock"


def vhost_endpoint(place: Place, role: VhostRole) -> Endpoint:
    """Return where the generator finds the vhost-user port of a link."""
    return Endpoint(link=place.name, kind=role, address=vhost_socket(place))


def vhost_wire(nic: Nic, place: Place, role: VhostRole) -> Wire:
    """Return what a NIC on a vhost-user port is plugged into."""
    return wire_of(nic, role, vhost_socket(place))


def tap_name(nic: Nic) -> str:
    """Return what the tap of a NIC is called, not filled in."""
    name = f"{Placeholder.TAP}-{nic.vnf.removeprefix('vm')}-{nic.number}"
    if len(fill_in(name, {Placeholder.TAP: LONGEST_SHORT_NAME})) > LONGEST_NAME:
        raise UsageError(
            f"NIC {nic.number} of {nic.vnf} cannot be plugged into a tap",
            why=f"the name of its device would be longer than {LONGEST_NAME} bytes",
            fix="use fewer VNFs, or --set vswitch.vnf_ports=vhost-user",
        )
    return name


def tap_of(place: Place, topology: Topology) -> str:
    """Return the name of the tap that leads to a link or to a NIC, not filled in."""
    if place.nic is not None:
        return tap_name(place.nic)
    return f"{Placeholder.TAP}-0-{topology.links.index(place.name)}"


def tap_endpoint(place: Place, device: str, network: str = "") -> Endpoint:
    """Return where the generator finds the tap of a link: `network/device`.

    The network is a namespace by name; without a name it is that of the host.
    """
    return Endpoint(link=place.name, kind="tap", address=f"{network}/{device}")


def packet_endpoint(place: Place, device: str, network: str) -> Endpoint:
    """Return the generator's end of a pair of devices, on which it opens a packet socket."""
    return Endpoint(link=place.name, kind="packet", address=f"{network}/{device}")


def place_endpoint(case: CaseSpec, place: Place) -> Endpoint:
    """Return the end of a link that a place has: `network/device`.

    It is in a network of its own, or, without a name of one, in that of the host.
    """
    address = f"{Placeholder.NAME}-{place.name}/{PLACE_DEVICE}"
    if place.name in case.hosts:
        address = f"/{Placeholder.TAP}-{HOST_END}-{case.topology.links.index(place.name)}"
    return Endpoint(link=place.name, kind="place", address=address)


def link_endpoint(case: CaseSpec, place: Place, device: str, network: str) -> Endpoint:
    """Return what is at the other end of a link that leads to a device of a network.

    That is a place, or the generator, which holds the tap; or a guest, whose QEMU does, and finds
    it by its name in the network of the host before it is moved.
    """
    if case.guest_at(place.name) is not None:
        return Endpoint(link=place.name, kind="tap", address=device)
    return place_endpoint(case, place) if case.has_places else tap_endpoint(place, device, network)


def far_end(case: CaseSpec, link: str, workspace: Workspace) -> FarEnd:
    """Return the end of a pair of devices that is in a place."""
    network, _, device = workspace.fill(place_endpoint(case, Place(link)).address).partition("/")
    return FarEnd(network, device, place_mac(case, link), place_mtu(case))


def device_endpoint(case: CaseSpec, link: str) -> Endpoint:
    """Return the generator's end of a link that has a device at the switch's end."""
    device = case.testbed.links[link].generator
    if device is None:
        raise UsageError(
            f"testbed link {link} has a device at the switch's end and none at the generator's",
            fix=f"name the generator's end of the cable in testbed.links.{link}.generator",
        )
    if device.startswith(CHASSIS):
        return chassis_endpoint(link, device)
    kind = "pci" if PCI_ADDRESS.match(device) else "vdev"
    return Endpoint(link=link, kind=kind, address=device)


def chassis_endpoint(link: str, device: str) -> Endpoint:
    """Return the generator's end of a cable that leads to a chassis."""
    return Endpoint(link=link, kind="chassis", address=device.removeprefix(CHASSIS))
