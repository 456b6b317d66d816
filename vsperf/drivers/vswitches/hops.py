"""Devices of the kernel that are a hop of their own between two links: ports with addresses.

Each end of the connections has a network of its own, and the device has one address in each. It
knows the MAC address of every host there, so nobody has to ask for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from vsperf.config.case import CaseSpec
from vsperf.config.connections import NETWORK_BITS, SERVICE_PORT, End, clients_of, servers_of
from vsperf.drivers.ending import until_left
from vsperf.drivers.vswitches.base import await_ports, step
from vsperf.drivers.vswitches.kernel_ports import (
    MTU,
    NETWORK,
    NOBODY,
    PMD_ROLE,
    check_ports,
    counted,
    steps_of,
)
from vsperf.drivers.vswitches.ports import Place, link_endpoint, tap_of
from vsperf.errors import ComponentError, UsageError
from vsperf.host.devices import PERMANENT, Device, Devices, told
from vsperf.host.doctor.wants import Want
from vsperf.host.netns import within
from vsperf.host.networks import hand_over, private_network
from vsperf.host.taps import tap
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.switch import PortCounters

WANTS = frozenset({Want.QUIET_CPUS, Want.ROOT, Want.TAPS})
"""What such a device wants of a machine."""
PAIR = 2
SYSCTL = Path("/proc/sys/net")
SLABS = Path("/proc/slabinfo")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HopPort:
    """One port of the device, and the end of the connections that is behind it."""

    place: Place
    device: str
    """Its tap; not filled in."""
    end: End

    @property
    def address(self) -> str:
        """The device's own address there, with the length of the network."""
        return f"{self.end.device_ip}/{NETWORK_BITS}"


HopPorts = tuple[HopPort, HopPort]
"""The port towards the clients, and the one towards the servers."""


def ports_of(case: CaseSpec) -> HopPorts:
    """Return both ports of a case."""
    clients, servers = (_port(case, of(case)) for of in (clients_of, servers_of))
    return clients, servers


def _port(case: CaseSpec, end: End) -> HopPort:
    place = Place(end.link)
    return HopPort(place, tap_of(place, case.topology), end)


class HopDesign:
    """What one case makes of such a device."""

    case: CaseSpec
    placement: Placement

    @cached_property
    def ports(self) -> HopPorts:
        """The port towards the clients, and the one towards the servers."""
        return ports_of(self.case)

    @property
    def servers(self) -> tuple[str, ...]:
        """Whom a device that shares out passes connections on to, each with its port."""
        return tuple(f"{ip}:{SERVICE_PORT}" for ip in self.ports[1].end.ips)

    @property
    def cpus(self) -> tuple[int, ...]:
        """Where the kernel forwards, and the workers are where there are some."""
        return self.placement.of(PMD_ROLE)


def check_hop(case: CaseSpec, cpus: tuple[int, ...], does: str, why: str) -> None:
    """Refuse what no such device can do: it `does` something between two links, for people.

    `why` says what frames that begin no connection are to it.
    """
    check_two_ends(case, does, why)
    check_ports(case, cpus, f"vswitch {case.vswitch.kind}")


def check_two_ends(case: CaseSpec, does: str, why: str) -> None:
    """Refuse what has no connections, and no two ends of them and nothing else."""
    kind, topology = case.vswitch.kind, case.topology
    if not case.has_connections:
        raise UsageError(
            f"vswitch {kind} takes connections, and the method {case.search.kind} has none",
            why=why,
            fix="a testcase whose method opens connections, or a switch that forwards frames: "
            "--set vswitch.kind=linux-bridge",
        )
    if topology.vnfs or len(topology.links) != PAIR:
        raise UsageError(
            f"vswitch {kind} {does} between two links, and topology {topology.name} "
            f"has {', '.join((*topology.links, *topology.vnfs))}",
            why="connections begin behind the one and are answered behind the other",
            fix="--set topology=p2p",
        )


def hop_steps(ports: HopPorts, cpus: tuple[int, ...], *more: str) -> tuple[Step, ...]:
    """Return how the ports are made and given their addresses; `more` says of other addresses."""
    devices = [port.device for port in ports]
    addresses = (line for port in ports for line in _addresses(port))
    return (
        *steps_of("tap", devices, devices, cpus),
        step("give them addresses, and tell who is behind them, for good", *addresses, *more),
    )


def hop_endpoints(case: CaseSpec, ports: HopPorts) -> tuple[Endpoint, ...]:
    """Return where the generator finds the ports."""
    return tuple(link_endpoint(case, port.place, port.device, NETWORK) for port in ports)


def _addresses(port: HopPort) -> tuple[str, ...]:
    first, last = port.end.ips[0], port.end.ips[-1]
    hosts = first if first == last else f"{first} to {last}"
    return (f"{port.device} is {port.address}", f"{hosts} are {port.end.mac} behind {port.device}")


class Addresses(Devices):
    """A conversation with the kernel about devices that have addresses."""

    def give(self, name: str, address: str, bits: int) -> None:
        """Give a device an address; the first one is what it sends from unless told otherwise."""
        with told(f"to give {name} the address {address}/{bits}"):
            index = self._index(name)
            self._routes.addr("add", index=index, address=address, prefixlen=bits)

    def know(self, name: str, neighbours: Mapping[str, str]) -> None:
        """Tell the kernel the MAC addresses of hosts behind a device, for good."""
        with told(f"who is behind {name}"):
            index = self._index(name)
            for ip, mac in neighbours.items():
                self._routes.neigh("replace", ifindex=index, dst=ip, lladdr=mac, state=PERMANENT)


def asked_in(network: str, what: str, action: Callable[[], T]) -> T:
    """Ask the kernel something in a network; what it refuses is a `ComponentError`."""
    with ComponentError.if_refused(f"the kernel was asked {what}, and refused"):
        return within(network, action)


def setting(network: str, name: str) -> str:
    """Return what the kernel says of a network, by a file below /proc/sys/net."""
    return asked_in(network, f"for {name}", lambda: (SYSCTL / name).read_text().strip())


def slab_memory(name: str) -> int | None:
    """Return what objects of a kind take of the kernel's memory, those of all networks together."""
    try:
        return slab_bytes(SLABS.read_text(), name)
    except OSError:
        return None  # it is root's to read, and some kernels have none


def slab_bytes(text: str, name: str) -> int | None:
    """Return what objects of a kind take, of what the kernel tells of all; None if it has none."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == [name]:
            active, _, size = map(int, words[1:4])
            return active * size
    return None


@dataclass(frozen=True, slots=True)
class Hop:
    """Both ports as they are, whoever is at the other ends of their taps."""

    ports: HopPorts
    network: str
    devices: Mapping[str, str]
    """The tap of each link."""
    talk: Addresses

    def failure(self) -> str | None:
        """Return which tap is gone; None where both are there."""
        try:
            found = self.talk.devices()
        except ComponentError as error:
            return error.with_why
        gone = [link for link, device in self.devices.items() if device not in found]
        return f"the tap of {gone[0]} is gone" if gone else None

    def waiting_for(self, places: tuple[str, ...]) -> list[str]:
        """Return the links of these whose tap nobody holds."""
        found = self.talk.devices()
        awaited = {link: found.get(device) for link, device in self.devices.items()}
        return [
            link
            for link, device in awaited.items()
            if link in places and (device is None or not device.held)
        ]

    def next_hops(self) -> Mapping[str, str]:
        found = self.talk.devices()
        return {link: self._device(found, link).mac for link in self.devices}

    def counted(self) -> tuple[PortCounters, ...]:
        """Return what the kernel counts at the ports; `ComponentError` where one is gone."""
        found = self.talk.devices()
        return tuple(
            counted(port.place, self._device(found, port.place.name)) for port in self.ports
        )

    def settle(self, settings: Mapping[str, str]) -> None:
        """Tell the kernel how their network is to be, by files below /proc/sys/net."""
        for name, value in settings.items():
            file, text = SYSCTL / name, f"{value}\n"
            asked_in(self.network, f"to set {name} to {value}", partial(file.write_text, text))

    def facts(self) -> dict[str, Any]:
        found = self.talk.devices()
        return {
            "network": self.network,
            "mtu": MTU,
            "ports": [
                {
                    "place": port.place.name,
                    "device": self.devices[port.place.name],
                    "mac": self._device(found, port.place.name).mac,
                    "address": port.address,
                }
                for port in self.ports
            ],
        }

    def _device(self, found: Mapping[str, Device], link: str) -> Device:
        device = found.get(self.devices[link])
        if device is None:
            raise ComponentError(f"the tap of {link} is gone, and nobody counts there")
        return device


@contextmanager
def made_hop(ports: HopPorts, cpus: tuple[int, ...], workspace: Workspace) -> Iterator[Hop]:
    """Make the network and the ports in it, each with a promise to remove it."""
    devices = {port.place.name: workspace.fill(port.device) for port in ports}
    with ExitStack() as stack:
        network = stack.enter_context(private_network(workspace))
        for name in devices.values():
            stack.enter_context(tap(name, workspace, mtu=MTU, several_queues=True))
        hand_over(devices.values(), network, cpus)
        talk = stack.enter_context(Addresses.connected(network))
        for port in ports:
            name = devices[port.place.name]
            talk.bring_up(name)
            talk.give(name, port.end.device_ip, NETWORK_BITS)
            talk.know(name, dict.fromkeys(port.end.ips, port.end.mac))
        yield Hop(ports, network, devices, talk)


@dataclass(kw_only=True)
class RunningHop:
    """What runs, as far as it is its ports; drivers say what stands between them."""

    hop: Hop
    who: str
    """It, for people."""
    workspace: Workspace
    ended: bool = False

    @property
    def network(self) -> str:
        """The network that it is in, by name."""
        return self.hop.network

    def failure(self) -> str | None:
        """Return why it no longer works, as far as that is known here."""
        return "the switch was stopped" if self.ended else self.hop.failure()

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        """Wait until somebody holds the other ends of these links."""
        waiting = partial(self.hop.waiting_for, places)
        await_ports(waiting, self.failure, self.look, patience_s, self.who, NOBODY)

    def look(self) -> None:
        """Raise when another part of the deployment has ended."""
        self.workspace.attend(f"while {self.who} was waited for")

    def next_hops(self) -> Mapping[str, str]:
        return self.hop.next_hops()


Running = TypeVar("Running", bound=RunningHop)


@contextmanager
def running_hop(
    design: HopDesign, workspace: Workspace, begin: Callable[[Hop], Running]
) -> Iterator[Running]:
    """Make both ports, have the device begin, and yield it; it is over when the context is left."""
    with made_hop(design.ports, design.cpus, workspace) as hop, until_left(begin(hop)) as running:
        yield running
