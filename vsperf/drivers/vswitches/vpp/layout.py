"""Where everything of an instance lies, and which ports it has. Pure.

Paths begin with a placeholder, which the workspace fills in when the switch is started.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from vsperf.config.case import CaseSpec
from vsperf.config.flows import lane_mac, link_mac
from vsperf.config.topology import Topology
from vsperf.config.wiring import Nic, Pass, passes
from vsperf.drivers.vswitches.base import wire_of
from vsperf.drivers.vswitches.ports import (
    PCI_ADDRESS,
    Place,
    VhostRole,
    device_endpoint,
    places_of,
    tap_name,
    vhost_endpoint,
    vhost_socket,
    vhost_wire,
)
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import UsageError
from vsperf.records.run import Endpoint, Placeholder, Wire

API_SOCKET = f"{Placeholder.RUN}/api.sock"
STATS_SOCKET = f"{Placeholder.RUN}/stats.sock"
CLI_SOCKET = f"{Placeholder.RUN}/cli.sock"
CONFIGURATION = f"{Placeholder.RUN}/startup.conf"
SOCKETS = (API_SOCKET, STATS_SOCKET, CLI_SOCKET)
KERNEL_DEVICE = re.compile(r"net_af_packet\w*,(?:.*,)?iface=(?P<name>[^,]+)")
"""DPDK's words for a device that stays the kernel's; VPP has an own driver for those."""

Kind = Literal["vhost", "memif", "packet", "pci"]


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """One port of the switch."""

    place: Place
    number: int
    """Counted from 1: part of whatever needs a number of the port."""
    kind: Kind
    role: VhostRole = "vhost-user-client"
    """Who calls, of a vhost-user port."""
    device: str = ""
    """PCI address, or name of a device of the kernel."""
    mac: str = ""
    """Its own address: that to which frames come here are sent, so a router takes them."""

    @property
    def name(self) -> str:
        """What it is called: like its link, or like the NIC behind it."""
        return self.place.name

    @property
    def endpoint(self) -> str:
        """The socket, not filled in; of vhost-user and memif ports only."""
        if self.kind == "memif":
            return f"{Placeholder.RUN}/{self.name}.memif"
        return vhost_socket(self.place)

    @property
    def listens(self) -> bool:
        """Whether VPP makes the socket."""
        return self.kind == "memif" or (self.kind == "vhost" and self.role == "vhost-user")


def ports_of(case: CaseSpec, spec: VppSpec) -> tuple[SwitchPort, ...]:
    """Return the ports, in the order of their numbers."""
    return tuple(
        _port(case, spec, place, number)
        for number, place in enumerate(places_of(case.topology), start=1)
    )


def endpoints_of(
    case: CaseSpec, spec: VppSpec, ports: tuple[SwitchPort, ...]
) -> tuple[Endpoint, ...]:
    """Return where the generator finds each port."""
    return tuple(_endpoint(case, spec, port) for port in ports if port.place.link is not None)


def wires_of(ports: tuple[SwitchPort, ...]) -> tuple[Wire, ...]:
    """Return what each NIC of a VNF is plugged into."""
    found = ((port, port.place.nic) for port in ports)
    return tuple(_wire(port, nic) for port, nic in found if nic is not None)


def end_number(topology: Topology, way: Pass) -> int:
    """Return the number of the end that frames of a way go to, as the generator counts ends."""
    end = way.path[-1]
    if end in topology.links:
        return topology.links.index(end)
    return int(way.path in topology.paths)


def addressed_to(topology: Topology, way: Pass) -> str:
    """Return the MAC address of frames that enter for a way.

    A VNF may rewrite it or not; the switch sees to it that both are the same.
    """
    if way.enters == way.path[0]:
        number = end_number(topology, way)
        apart = topology.dispatch == "mac"
        return lane_mac(number, way.lane) if apart else link_mac(number)
    nics = {place.name: place.nic for place in places_of(topology)}
    nic = nics[way.enters]
    return nic.peer_mac if nic is not None else ""


def sent_on_to(topology: Topology, way: Pass) -> str:
    """Return the MAC address for which frames of a way have to leave.

    That is the one for which they come back from a VNF that leaves addresses alone.
    """
    if way.ends:
        return link_mac(end_number(topology, way))
    vnf = way.leaves.partition("_")[0]
    after = (
        one
        for one in passes(topology)
        if one.path == way.path and one.enters.partition("_")[0] == vnf
    )
    return addressed_to(topology, next(after))


def _port(case: CaseSpec, spec: VppSpec, place: Place, number: int) -> SwitchPort:
    mac = _own_mac(case.topology, spec, place)
    if place.nic is not None:
        if spec.vnf_ports == "tap":
            return SwitchPort(place, number, "packet", device=tap_name(place.nic), mac=mac)
        role: VhostRole = "vhost-user" if spec.ports == "vhost-user" else "vhost-user-client"
        return SwitchPort(place, number, "vhost", role, mac=mac)
    device = case.testbed.links[place.name].switch
    if device is not None:
        return _device_port(place, number, device, mac)
    if spec.ports == "memif":
        return SwitchPort(place, number, "memif", mac=mac)
    return SwitchPort(place, number, "vhost", spec.ports, mac=mac)


def _device_port(place: Place, number: int, device: str, mac: str) -> SwitchPort:
    if PCI_ADDRESS.fullmatch(device):
        return SwitchPort(place, number, "pci", device=device, mac=mac)
    if (found := KERNEL_DEVICE.fullmatch(device)) is not None:
        return SwitchPort(place, number, "packet", device=found["name"], mac=mac)
    raise UsageError(
        f"testbed link {place.name} names {device!r} as the switch's device, which VPP cannot take",
        why="a device is a PCI address (0000:03:00.0) or one of the kernel "
        "(net_af_packet0,iface=eth1)",
        fix=f"mend testbed.links.{place.name}.switch, or leave it out for a vhost-user port",
    )


def _own_mac(topology: Topology, spec: VppSpec, place: Place) -> str:
    """Return the address of a port: a router's is that to which frames for it are sent.

    So it takes frames for whoever is behind it, and keeps the address when VPP is started anew.
    """
    if not spec.routed and spec.nat is None:
        return ""
    ways = [way for way in passes(topology) if way.enters == place.name]
    wanted = dict.fromkeys(addressed_to(topology, way) for way in ways)
    if len(wanted) > 1:
        raise UsageError(
            f"frames enter at {place.name} for {len(wanted)} MAC addresses, and a router has one",
            why=f"in topology {topology.name} it is whom they are for that tells paths apart",
            fix="--set topology.dispatch=ip, or --set vswitch.forwarding=bridge",
        )
    return next(iter(wanted), "")


def _endpoint(case: CaseSpec, spec: VppSpec, port: SwitchPort) -> Endpoint:
    link = str(port.place.link)
    match port.kind:
        case "vhost":
            return vhost_endpoint(port.place, port.role)
        case "memif":
            words = (
                f"net_memif{port.number - 1}",
                "role=client",
                "id=0",
                f"socket={port.endpoint}",
                "socket-abstract=no",
                f"rsize={spec.ring.bit_length() - 1}",
            )
            return Endpoint(link=link, kind="vdev", address=",".join(words))
    return device_endpoint(case, link)


def _wire(port: SwitchPort, nic: Nic) -> Wire:
    if port.kind == "packet":
        return wire_of(nic, "tap", port.device)
    return vhost_wire(nic, port.place, port.role)
