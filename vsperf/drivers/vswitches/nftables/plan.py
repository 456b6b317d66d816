"""What the router is told, and everything that making it does, as steps. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from vsperf.config.case import CaseSpec
from vsperf.config.connections import NETWORK_BITS, SERVICE_PORT, End, clients_of, servers_of
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.nftables.spec import NftablesSpec
from vsperf.drivers.vswitches.ports import Place, places_of, tap_endpoint, tap_of
from vsperf.errors import UsageError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.run import Placeholder, Placement, Step

PMD_ROLE = "pmd"
NETWORK = str(Placeholder.NAME)
"""Its network namespace is called like the deployment."""
MTU = 1500
TABLE = "ip vsperf"
IDLE_NETWORK = "203.0.{}.{}"
"""Addresses that no connection of a test has (RFC 5737 has a part of them)."""


@dataclass(frozen=True, slots=True)
class RouterPort:
    """A port of the router."""

    place: Place
    device: str
    """Its tap; not filled in."""
    mac: str
    end: End
    """Who is behind it."""

    @property
    def link(self) -> str:
        """The testbed link behind it."""
        return self.end.link


@dataclass(frozen=True)
class Design:
    """What one case makes of the kernel's router."""

    case: CaseSpec
    spec: NftablesSpec
    placement: Placement

    @property
    def cpus(self) -> tuple[int, ...]:
        """Where packets are forwarded."""
        return self.placement.of(PMD_ROLE)

    @cached_property
    def ports(self) -> tuple[RouterPort, RouterPort]:
        """The one towards clients, and the one towards servers."""
        topology = self.case.topology
        ends = {end.link: end for end in (clients_of(self.case), servers_of(self.case))}
        found = [
            RouterPort(place, tap_of(place, topology), f"06:fe:00:00:00:{number:02x}", ends[name])
            for number, place in enumerate(places_of(topology))
            for name in (place.name,)
        ]
        first, last = sorted(found, key=lambda port: list(ends).index(port.link))
        return first, last

    def rules(self, devices: dict[str, str], idle: int = 0) -> str:
        """Return all rules for ports of these names, `idle` ones before all others.

        They replace what is there at once, and leave the connections that are known.
        """
        clients, servers = self.ports
        inner, outer = devices[clients.link], devices[servers.link]
        begun = f'iifname "{inner}" oifname "{outer}" ct state new'
        if self.spec.shares_out:
            begun += " ct status dnat"  # who calls a server past the balancer is none of ours
        lines = [
            "chain passing {",
            "type filter hook forward priority filter; policy drop;",
            *(f"ip saddr {_idle(number)} drop" for number in range(idle)),
            "ct state established,related accept",
            f"{begun} accept",
            "}",
        ]
        if self.spec.nat == "source":
            lines += [
                "chain leaving {",
                "type nat hook postrouting priority srcnat;",
                f'oifname "{outer}" snat to {servers.end.device_ip}',
                "}",
            ]
        if self.spec.nat == "destination":
            called = f"ip daddr {clients.end.service_ip} tcp dport {SERVICE_PORT}"
            lines += [
                "chain called {",
                "type nat hook prerouting priority dstnat;",
                f"{called} dnat to {_in_turns(servers.end.ips)}",
                "}",
            ]
        return "\n".join(
            (f"table {TABLE}", f"delete table {TABLE}", f"table {TABLE} {{", *lines, "}", "")
        )


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    check(design)
    cpus = ", ".join(str(cpu) for cpu in design.cpus)
    spec = design.spec
    steps = [
        _step("make a network namespace of its own", f"namespace {NETWORK}"),
        _step(
            f"make a tap for each link, move both there, and have CPU {cpus} forward",
            *(
                f"tap {port.device} up, mtu {MTU}, {port.mac}, "
                f"{port.end.device_ip}/{NETWORK_BITS}, and whoever is behind it as a neighbour"
                for port in design.ports
            ),
        ),
        _step("route between them", "net.ipv4.ip_forward = 1", *_sysctls(spec)),
        _step(
            "give it its rules at once",
            *design.rules({port.link: port.device for port in design.ports}).splitlines(),
        ),
    ]
    endpoints = tuple(tap_endpoint(port.place, port.device, NETWORK) for port in design.ports)
    return SwitchPlan(tuple(steps), endpoints)


def check(design: Design) -> None:
    """Refuse what a router cannot do."""
    topology = design.case.topology
    if not design.case.has_connections:
        raise UsageError(
            f"vswitch nftables routes connections, and the method {design.case.search.kind} sends "
            "frames that have no route",
            why="a router takes frames that are addressed to it, and drops what it does not know",
            fix="--set search.kind=cps, or another switch: --set vswitch.kind=linux-bridge",
        )
    if topology.vnfs:
        raise UsageError(
            f"vswitch nftables has no ports for {', '.join(topology.vnfs)}",
            why="it is a device under test by itself",
            fix="--set topology=p2p",
        )
    if not design.cpus:
        raise UsageError(
            "no CPU was found that forwards frames",
            fix="--set vswitch.cpus=1, or give the testbed's machine more CPUs",
        )
    for link in topology.links:
        if design.case.testbed.links[link].switch is not None:
            raise UsageError(
                f"testbed link {link} has a device at the switch's end, which the kernel's router "
                "is not given",
                why="it is in a network of its own, and its ports are taps that are made there",
                fix=f"leave testbed.links.{link}.switch out",
            )


def timeouts(spec: NftablesSpec) -> dict[str, int]:
    """Return the timeouts of the kernel that are set, in seconds."""
    if spec.time_wait is None:
        return {}
    return {"nf_conntrack_tcp_timeout_time_wait": spec.time_wait.ns // NANOSECONDS}


def _sysctls(spec: NftablesSpec) -> tuple[str, ...]:
    return tuple(f"net.netfilter.{name} = {value}" for name, value in timeouts(spec).items())


def _in_turns(servers: tuple[str, ...]) -> str:
    """Return one server for each new connection, each in its turn."""
    if len(servers) == 1:
        return servers[0]
    each = ", ".join(f"{number} : {ip}" for number, ip in enumerate(servers))
    return f"numgen inc mod {len(servers)} map {{ {each} }}"


def _idle(number: int) -> str:
    return IDLE_NETWORK.format(number >> 8 & 0xFF, number & 0xFF)


def _step(action: str, *lines: str) -> Step:
    return Step(component="vswitch", action=action, lines=lines)
