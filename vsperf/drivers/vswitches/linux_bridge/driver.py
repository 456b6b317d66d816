"""The driver: bridges of the kernel for each case, in a network of their own that ends with it.

A bridge sends a frame that it does not know to all of its ports. So each group of ports that frames
pass between has a bridge of its own: else frames would take short cuts around VNFs.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.flows import lane_mac
from vsperf.config.wiring import Pass, passes
from vsperf.drivers.ending import until_left
from vsperf.drivers.settings import reading
from vsperf.drivers.vswitches.base import (
    SwitchPlan,
    VSwitch,
    await_ports,
    require_root,
    step,
    wire_of,
)
from vsperf.drivers.vswitches.forwarding import groups
from vsperf.drivers.vswitches.kernel_ports import (
    MTU,
    NETWORK,
    NOBODY,
    PMD_ROLE,
    await_held,
    check_ports,
    counted,
    needs_of,
    steps_of,
)
from vsperf.drivers.vswitches.linux_bridge.netlink import Netlink, require_bridges
from vsperf.drivers.vswitches.ports import (
    Place,
    far_end,
    link_endpoint,
    packet_endpoint,
    places_of,
    tap_of,
)
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import AS_ROOT, Answer, Check, Group, Host, absent, missing, ok
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.networks import hand_over, private_network
from vsperf.host.taps import tap
from vsperf.host.veths import FarEnd, veth
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import CpuSet, Duration
from vsperf.records.run import Placement
from vsperf.records.switch import SwitchCounters

AGEING = Duration(300_000_000_000)


class LinuxBridgeSpec(DriverSpec):
    """Settings of the bridge of the Linux kernel."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are devices of the kernel."""

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
    ports: Literal["tap", "pair"] = "tap"
    """What leads to the generator. Of a `tap` it holds the other end: each frame takes it a call
    both ways, and most of the time it is the limit. Of a `pair` of devices it opens the other end
    by a packet socket: a call hands over several frames, and the CPU that forwards delivers them,
    so the bridge is the limit. Never more than 64 frames of a direction are on their way then.
    Places have a pair of devices anyway, and VNFs none."""
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
    """Its tap, or the bridge's end of a pair; not filled in."""


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
    def has_pairs(self) -> bool:
        """Whether pairs of devices lead to the generator."""
        return self.spec.ports == "pair"

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
    if design.has_pairs and design.case.has_places:
        raise UsageError(
            "vswitch.ports=pair says how a generator is joined, and there are places",
            why="a place has one end of a pair of devices in any case, and a guest holds a tap",
            fix="leave vswitch.ports out",
        )
    if design.has_pairs and topology.vnfs:
        raise UsageError(
            "vswitch.ports=pair is for a bridge that has nothing but the generator at its ports",
            why="a packet socket has no memory for as many frames as are on their way through VNFs",
            fix="leave vswitch.ports out, or --set topology=p2p",
        )
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
            f"frames of {design.case.longest_bytes} bytes do not pass the devices of links",
            why=f"DPDK's drivers of these, which the generator has, take {LONGEST_BYTES} bytes",
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


def generators_end(device: str) -> str:
    """Return what the other end of a pair is called."""
    return f"{device}g"


SHOWN = 8
"""Addresses that a plan lists one by one."""


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    check(design)
    kind = "pair of devices" if design.case.has_places or design.has_pairs else "tap"
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
            packet_endpoint(port.place, generators_end(port.device), NETWORK)
            if design.has_pairs
            else link_endpoint(design.case, port.place, port.device, NETWORK)
            for port in design.ports
            if port.place.link is not None
        ),
        tuple(
            wire_of(port.place.nic, "tap", port.device)
            for port in design.ports
            if port.place.nic is not None
        ),
    )


_spec_of = reading("vswitch.kind=linux-bridge", LinuxBridgeSpec, "the kernel's bridge")
FORWARDING = 3
"""State of a bridge's port that neither listens nor learns any more, and is not switched off."""
IDLE_MAC = "06:00:00:{:02x}:{:02x}:{:02x}"
"""Addresses that no frame of a test has."""
PAIR_MAC = "06:00:01:00:00:{:02x}"
"""Of the generator's end of a pair, for which the kernel would take frames, and drop them."""


@dataclass
class RunningBridge:
    """Bridges with their ports, whoever is at their other ends."""

    design: Design
    network: str
    devices: Mapping[str, str]
    """The device of each port, by what the topology calls it."""
    netlink: Netlink
    make_again: Callable[[], None]
    """Removes the bridges, and makes them anew."""
    look: Callable[[], None] = lambda: None
    """Raises when another part of the deployment has ended."""
    idle: int = 0
    """Addresses that were added and that no frame is for."""
    ended: bool = False

    def failure(self) -> str | None:
        if self.ended:
            return "the switch was stopped"
        try:
            found = self.netlink.devices()
        except ComponentError as error:
            return error.with_why
        for port in self.design.ports:
            device, bridge = found.get(self._device(port)), found.get(port.bridge)
            if bridge is None:
                return f"the bridge {port.bridge} is gone"
            if device is None:
                return f"the device of {port.place.name} is gone"
            if device.master != bridge.index:
                return f"{port.place.name} is no port of {port.bridge} any more"
        return None

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        waiting = partial(self._waiting_for, places)
        await_ports(waiting, self.failure, self.look, patience_s, "the bridge", NOBODY)

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand; how busy the kernel is with it, it does not say."""
        found = self.netlink.devices()
        gone = [one.place.name for one in self.design.ports if self._device(one) not in found]
        if gone:
            raise ComponentError(f"the device of {gone[0]} is gone, and nobody counts there")
        return SwitchCounters(
            ports=tuple(counted(one.place, found[self._device(one)]) for one in self.design.ports)
        )

    def facts(self) -> dict[str, Any]:
        return {
            "kernel": platform.release(),
            "network": self.network,
            "bridges": {name: list(ports) for name, ports in self.design.bridges.items()},
            "learns": self.design.learns,
            "mtu": MTU,
            "forwarding_cpus": list(self.design.cpus),
            "ports": [
                {"place": port.place.name, "device": self._device(port), "bridge": port.bridge}
                for port in self.design.ports
            ],
        }

    def restart(self, *, kill: bool) -> None:
        """Remove the bridges and make them anew; the kernel ends them kindly in any case."""
        self.idle = 0
        self.make_again()

    def forget_flows(self) -> None:
        if self.design.learns:
            for device in self.devices.values():
                self.netlink.forget_learned(device)

    def change_rules(self, count: int) -> None:
        device = next(iter(self.devices.values()))
        if count < 0:
            self.netlink.forget(device, _idle_macs(0, self.idle))
            self.idle = 0
            return
        self.netlink.know(device, _idle_macs(self.idle, count))
        self.idle += count

    def processes(self) -> tuple[int, ...]:
        """Return none: the kernel forwards nothing while nobody sends."""
        return ()

    def access(self) -> tuple[str, ...]:
        return (
            f"ip -netns {self.network} -statistics link",
            f"bridge -netns {self.network} fdb show",
        )

    def _waiting_for(self, places: tuple[str, ...]) -> list[str]:
        found = self.netlink.devices()
        states = {place: found.get(device) for place, device in self.devices.items()}
        return [
            place
            for place, device in states.items()
            if place in places and (device is None or device.state != FORWARDING)
        ]

    def _device(self, port: BridgePort) -> str:
        return self.devices[port.place.name]


def _idle_macs(first: int, count: int) -> Iterator[str]:
    for number in range(first, first + count):
        yield IDLE_MAC.format(number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF)


def _bridge(here: Host) -> Answer:
    """Make a bridge where nobody sees it, and which ends at once."""
    if os.geteuid() != 0:
        return absent("only root can try; for vswitch.kind=linux-bridge", AS_ROOT)
    try:
        require_bridges()
    except NotReadyError as error:
        return missing(error.problems[0], wanted=False)
    return ok(f"kernel {platform.release()} makes one, in a network of its own")


CHECKS = (Check("kernel bridge", Group.DEVICES, _bridge),)
"""Not among the checks of a run: the driver tries it itself before it starts."""


class LinuxBridge(VSwitch):
    """Deploys the bridge of the Linux kernel."""

    kind = "linux-bridge"
    summary = "the bridge of the Linux kernel on taps or pairs, in a network of its own"
    Spec = LinuxBridgeSpec
    wants = POLLING_SWITCH | {Want.TAPS}
    checks = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(_spec_of(case).cpus)

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        require_root("the kernel's bridge", "it makes a network apart, bridges and taps")
        require_bridges()

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningBridge]:
        design = Design(case, _spec_of(case), placement)
        self.require(case)
        with ExitStack() as stack:
            running = _made(design, workspace, stack)
            yield stack.enter_context(until_left(running))


def _made(design: Design, workspace: Workspace, stack: ExitStack) -> RunningBridge:
    """Make the devices of ports and bridges; each with a promise to remove it."""
    devices = {port.place.name: workspace.fill(port.device) for port in design.ports}
    network = stack.enter_context(private_network(workspace))
    for port in design.ports:
        name = devices[port.place.name]
        if port.place.name in design.case.guests:  # as with a VNF, below
            await_held(name, 1, workspace)
        elif port.place.link is not None and design.case.has_places:
            far = far_end(design.case, port.place.link, workspace)
            stack.enter_context(veth(name, workspace, mtu=MTU, far=far))
        elif port.place.link is not None and design.has_pairs:
            number = design.case.topology.links.index(port.place.link)
            far = FarEnd(network, generators_end(name), PAIR_MAC.format(number), MTU)
            stack.enter_context(veth(name, workspace, mtu=MTU, far=far))
        elif port.place.link is not None:
            stack.enter_context(tap(name, workspace, mtu=MTU, several_queues=True))
        else:  # the VNF has made it, and finds it by its name in the host's network
            await_held(name, design.case.vnf_queues, workspace)
    hand_over(devices.values(), network, design.cpus)
    instance = _Instance(design, devices, stack.enter_context(Netlink.connected(network)))
    if design.has_pairs:
        for port in design.ports:
            if port.place.link is not None:
                instance.netlink.bring_up(generators_end(devices[port.place.name]))
    instance.make()
    return RunningBridge(
        design=design,
        network=network,
        devices=devices,
        netlink=instance.netlink,
        make_again=instance.make_again,
        look=lambda: workspace.attend("while the bridge was waited for"),
    )


@dataclass
class _Instance:
    """What is made, and can be made again."""

    design: Design
    devices: dict[str, str]
    netlink: Netlink

    def make(self) -> None:
        """Make the bridges, their ports, and what they know."""
        for name in self.design.bridges:
            self.netlink.add_bridge(name, ageing_ns=self.design.spec.ageing.ns, mtu=MTU)
        for port in self.design.ports:
            self.netlink.join(
                self.devices[port.place.name],
                port.bridge,
                learns=self.design.learns,
                floods=self.design.floods(port),
            )
        for port in self.design.ports:
            known = [entry.mac for entry in self.design.entries if entry.port == port.place.name]
            self.netlink.know(self.devices[port.place.name], known)

    def make_again(self) -> None:
        """Remove the bridges, and make them anew."""
        for name in self.design.bridges:
            self.netlink.remove(name)
        self.make()
