"""VPP as a NAT and as a load balancer: a table of connections between two ports (NAT44-ED). Pure.

Each end of the connections has a network of its own, in which VPP has one address; it knows the MAC
address of every host there, and asks nobody by ARP. What begins a connection goes the slow way
through its graph, on which the table gets an entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from socket import IPPROTO_TCP, IPPROTO_UDP
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.config.connections import (
    NETWORK_BITS,
    SERVICE_PORT,
    End,
    clients_of,
    protocol_of,
    servers_of,
)
from vsperf.drivers.vswitches.vpp.calls import Call, InterfaceOf
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import UsageError
from vsperf.quantities.units import Duration

STATIC = 1
"""A neighbour that does not go away, as the API has it."""
OUTSIDE, OUT2IN_ONLY, INSIDE = 0, 4, 32
"""Flags of the API: of both sides of a NAT, and of a mapping by which nobody calls from inside."""
ANY = 0xFFFFFFFF
"""No table, or no interface, in particular."""
SESSIONS = 64_512
"""Connections that VPP has room for on each thread, unless it is told otherwise."""
TRANSITORY_S, UDP_S, ESTABLISHED_S, ICMP_S = 240, 300, 7440, 60
"""Times after which VPP takes an entry for a dead one, unless it is told otherwise."""
NUMBERS = {"tcp": IPPROTO_TCP, "udp": IPPROTO_UDP}
MOST_SERVERS = 255
"""VPP adds up the weights of servers in a byte, and all have the same."""


def sessions_of(spec: VppSpec) -> int:
    """Return how many connections the table of each thread has room for."""
    return SESSIONS if spec.sessions is None else spec.sessions


def translating(case: CaseSpec, spec: VppSpec) -> Iterator[Call]:
    """Yield the calls after which connections pass, each by an entry of its own."""
    check_nat(case, spec)
    clients, servers = clients_of(case), servers_of(case)
    for end in (clients, servers):
        yield from _joined(end)
    yield Call("nat44_ed_plugin_enable_disable", {"enable": True, "sessions": sessions_of(spec)})
    yield Call(
        "nat_set_timeouts",
        {
            "udp": _seconds(spec.udp_timeout, UDP_S),
            "tcp_established": ESTABLISHED_S,
            "tcp_transitory": _seconds(spec.time_wait, TRANSITORY_S),
            "icmp": ICMP_S,
        },
    )
    inside, outside = (servers, clients) if spec.shares_out else (clients, servers)
    for end, flags in ((inside, INSIDE), (outside, OUTSIDE)):
        side = {"sw_if_index": InterfaceOf(end.link), "is_add": True, "flags": flags}
        yield Call("nat44_interface_add_del_feature", side)
    yield _passed_by(case, spec)


def emptying(case: CaseSpec, spec: VppSpec) -> tuple[Call, ...]:
    """Return the calls that empty the table: what connections pass by is taken away and given back.

    VPP has no other that leaves it as it was: `clear nat44 ed sessions` of its command line loses
    the servers of a load balancer, too, while it still lists them.
    """
    given = _passed_by(case, spec)
    taken = Call(given.message, {**given.fields, "is_add": False})
    return taken, given


def _passed_by(case: CaseSpec, spec: VppSpec) -> Call:
    clients, servers = clients_of(case), servers_of(case)
    return _shared_out(case, clients, servers) if spec.shares_out else _hidden(servers)


def check_nat(case: CaseSpec, spec: VppSpec) -> None:
    """Refuse what does not go with a table of connections."""
    if not case.has_connections:
        raise UsageError(
            f"vswitch.nat is {spec.nat}, and the method {case.search.kind} opens no connections",
            why="frames that begin none do not pass",
            fix="--set search.kind=cps, or leave vswitch.nat out",
        )
    if case.topology.vnfs:
        raise UsageError(
            f"vswitch.nat is {spec.nat}, which does not go with topology {case.topology.name}",
            why="VPP routes between the two ends of connections, and nowhere else",
            fix="--set topology=p2p, or leave vswitch.nat out",
        )
    servers = servers_of(case).addresses
    if spec.shares_out and servers > MOST_SERVERS:
        raise UsageError(
            f"VPP shares connections out to {MOST_SERVERS} servers at most, and search.servers is "
            f"{servers}",
            why="it adds up their weights in a byte",
            fix=f"--set search.servers={MOST_SERVERS}",
        )


def _joined(end: End) -> Iterator[Call]:
    """Yield what makes VPP a neighbour of all hosts of an end."""
    here = {"sw_if_index": InterfaceOf(end.link)}
    address = f"{end.device_ip}/{NETWORK_BITS}"
    yield Call("sw_interface_add_del_address", {**here, "is_add": True, "prefix": address})
    for ip in end.ips:
        neighbour = {**here, "flags": STATIC, "mac_address": end.mac, "ip_address": ip}
        yield Call("ip_neighbor_add_del", {"is_add": True, "neighbor": neighbour})


def _hidden(servers: End) -> Call:
    """Return what gives all clients VPP's own address towards the servers."""
    address = servers.device_ip
    ends = {"first_ip_address": address, "last_ip_address": address}
    return Call("nat44_add_del_address_range", {**ends, "vrf_id": ANY, "is_add": True})


def _shared_out(case: CaseSpec, clients: End, servers: End) -> Call:
    """Return what has one address called for all servers; VPP takes no list of a single one."""
    number = NUMBERS[protocol_of(case)]
    service: dict[str, Any] = {
        "is_add": True,
        "protocol": number,
        "external_port": SERVICE_PORT,
        "flags": OUT2IN_ONLY,
    }
    if servers.addresses == 1:
        service |= {"external_ip_address": clients.service_ip, "external_sw_if_index": ANY}
        service |= {"local_ip_address": str(servers.first_ip), "local_port": SERVICE_PORT}
        return Call("nat44_add_del_static_mapping_v2", service)
    several = [{"addr": ip, "port": SERVICE_PORT, "probability": 1} for ip in servers.ips]
    service |= {"external_addr": clients.service_ip}
    service |= {"local_num": len(several), "locals": several}
    return Call("nat44_add_del_lb_static_mapping", service)


def _seconds(said: Duration | None, usual: int) -> int:
    return usual if said is None else int(said.seconds)
