"""Which bridges a topology asks of the kernel, what they are told to know, and the steps. Pure.

A bridge sends a frame that it does not know to all of its ports. So each group of ports that frames
pass between has a bridge of its own: else frames would take short cuts around VNFs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.flows import lane_mac
from vsperf.config.wiring import Pass, passes
from vsperf.drivers.vswitches.base import SwitchPlan, step, wire_of
from vsperf.drivers.vswitches.forwarding import groups
from vsperf.drivers.vswitches.kernel_ports import NETWORK, PMD_ROLE, check_ports, steps_of
from vsperf.drivers.vswitches.ports import Place, link_endpoint, places_of, tap_of
from vsperf.errors import UsageError
from vsperf.quantities.units import CpuSet, Duration
from vsperf.records.run import Placement

AGEING = Duration(300_000_000_000)


class LinuxBridgeSpec(DriverSpec):
    """Settings of the bridge of the Linux kernel."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""

    HELD_STILL: ClassVar[bool] = True
    PLACES: ClassVar[bool] = True
    """Places can be joined to its ports,"""
    GUESTS: ClassVar[bool] = True
    """guests as well, by their taps,"""
    OFFLOADS: ClassVar[bool] = True
    """and leave checksums and segments to each other."""
    BY_ADDRESS: ClassVar[tuple[str, ...]] = ("l2",)
    """What it is told of `flows` that looks at no more than addresses."""

    kind: Literal["linux-bridge"]
    flows: Literal["learn", "l2"] = "learn"
    """How it knows where frames go: it learns from them behind which port each address is
    (`learn`), or it is told, and learns nothing (`l2`)."""
    cpus: CpuSet | None = None
    """CPUs that forward what comes in; the kernel hands each frame to one of them. One that vsperf
    chooses when not given."""
    ageing: Duration = AGEING
    """How long a learned address is known since a frame last came from it."""


LONGEST_BYTES = 1518
"""Of a frame with a packet of that MTU; DPDK's net_tap, which the generator takes, has no more."""
PAIR = 2


@dataclass(frozen=True, slots=True)
class BridgePort:
    """One port of a bridge."""

    place: Place
    bridge: str
    device: str
    """Its tap; not filled in."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a bridge is told: frames for an address leave by a port."""

    mac: str
    port: str
    """As the topology calls it."""


@dataclass(frozen=True)
class Design:
    """What one case makes of the kernel's bridge."""

    case: CaseSpec
    spec: LinuxBridgeSpec
    placement: Placement

    @cached_property
    def bridges(self) -> Mapping[str, tuple[str, ...]]:
        """The ports of each bridge, by what the topology calls them."""
        found = groups(self.case.topology)
        return {f"br{number}": group for number, group in enumerate(found)}

    @cached_property
    def ports(self) -> tuple[BridgePort, ...]:
        topology = self.case.topology
        bridge_of = {port: name for name, group in self.bridges.items() for port in group}
        return tuple(
            BridgePort(place, bridge_of[place.name], tap_of(place, topology))
            for place in places_of(topology)
        )

    @property
    def learns(self) -> bool:
        return self.spec.flows == "learn"

    @property
    def cpus(self) -> tuple[int, ...]:
        return self.placement.of(PMD_ROLE)

    def floods(self, port: BridgePort) -> bool:
        """Whether a port is sent what its bridge does not know, and what is for everybody.

        With two ports that is where a frame goes anyway; with more it would come several times.
        """
        return len(self.bridges[port.bridge]) == PAIR

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """What bridges are told that do not learn."""
        if self.learns:
            return ()
        told: dict[tuple[str, str], str] = {}
        bridge_of = {port.place.name: port.bridge for port in self.ports}
        for way in passes(self.case.topology):
            for mac in self._addresses(way):
                known = told.setdefault((bridge_of[way.enters], mac), way.leaves)
                if known != way.leaves:
                    raise UsageError(
                        f"in topology {self.case.topology.name} frames for {mac} leave by {known} "
                        f"and by {way.leaves}",
                        why="a bridge knows one port for each address, wherever a frame came from",
                        fix="--set topology.nics=2, or a switch that looks at where frames come "
                        "from: --set vswitch.kind=ovs-dpdk",
                    )
        return tuple(Entry(mac, port) for (_, mac), port in told.items())

    def _addresses(self, way: Pass) -> tuple[str, ...]:
        """Return whom frames of a way are for: whoever is at its end, or the next VNF.

        The latter is what a VNF writes that rewrites addresses.
        """
        end = way.path[-1]
        nics = {port.place.name: port.place.nic for port in self.ports}
        nic = nics.get(way.leaves)
        own = () if nic is None else (nic.mac,)
        links = self.case.topology.links
        return (lane_mac(links.index(end), way.lane), *own) if end in links else own


def check(design: Design) -> None:
    """Refuse what a bridge cannot do."""
    topology = design.case.topology
    check_ports(design.case, design.cpus, "the kernel's bridge")
    several = next((ports for ports in design.bridges.values() if len(ports) > PAIR), None)
    if several is not None and design.learns:
        raise UsageError(
            f"a bridge that learns cannot join {', '.join(several)} in topology {topology.name}",
            why="what it does not know yet it sends to all of them, so frames come several times, "
            "and go round",
            fix="--set vswitch.flows=l2, which tells it where frames go, or another topology",
        )
    if several is not None and topology.dispatch != "mac":
        raise UsageError(
            f"a bridge cannot tell parallel paths apart by topology.dispatch={topology.dispatch}",
            why="it looks at MAC addresses only",
            fix="--set topology.dispatch=mac",
        )
    _check_traffic(design, several)


def _check_traffic(design: Design, several: tuple[str, ...] | None) -> None:
    traffic = design.case.traffic
    if design.case.longest_bytes > LONGEST_BYTES:
        raise UsageError(
            f"frames of {design.case.longest_bytes} bytes do not pass the taps of links",
            why=f"DPDK's net_tap, by which the generator holds them, takes {LONGEST_BYTES} bytes",
            fix="take shorter frames, or a switch on vhost-user: --set vswitch.kind=ovs-dpdk",
        )
    groups_of_stations = traffic.destination != "unicast" or traffic.broadcast_every
    if several is not None and groups_of_stations:
        raise UsageError(
            f"frames for more than one station have no way of their own from {several[0]}",
            why=f"a bridge knows single addresses, and {', '.join(several)} share one",
            fix="--set topology=p2p",
        )
    if traffic.replay is not None and not design.learns:
        raise UsageError(
            "a bridge cannot be told where the frames of a file go",
            why="whose addresses these have, nobody knows",
            fix="--set vswitch.flows=learn",
        )


SHOWN = 8
"""Addresses that a plan lists one by one."""


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    check(design)
    kind = "pair of devices" if design.case.has_places else "tap"
    made = [
        port.device
        for port in design.ports
        if port.place.link is not None and port.place.name not in design.case.guests
    ]
    steps = [
        *steps_of(kind, made, (port.device for port in design.ports), design.cpus),
        step(
            "make the bridges and their ports at once",
            *(f"bridge {name}: {', '.join(ports)}" for name, ports in design.bridges.items()),
        ),
    ]
    if entries := design.entries:
        lines = [f"{entry.mac} behind {entry.port}" for entry in entries[:SHOWN]]
        if len(entries) > SHOWN:
            lines.append(f"… and {len(entries) - SHOWN} more")
        steps.append(step("tell them where addresses are, as they learn none", *lines))
    return SwitchPlan(
        tuple(steps),
        tuple(
            link_endpoint(design.case, port.place, port.device, NETWORK)
            for port in design.ports
            if port.place.link is not None
        ),
        tuple(
            wire_of(port.place.nic, "tap", port.device)
            for port in design.ports
            if port.place.nic is not None
        ),
    )
