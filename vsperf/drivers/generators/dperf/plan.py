"""What a case makes of dperf: ports, memory, and the files that both of its processes read. Pure.

A process runs by its file and is asked nothing, so each trial has a client of its own. Connections
begin when the slow start of dperf is over, which so has nothing to slow down: `wait` is as long.
All that begin do so at the rate that was asked for, and totals are those of the trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import Literal, Self

from pydantic import model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import (
    FIRST_PORT,
    MOST_DATA,
    PORTS_EACH,
    SERVICE_PORT,
    End,
    answering_of,
    clients_of,
    servers_of,
)
from vsperf.dpdk.console import LINE_BY_LINE
from vsperf.drivers.generators.base import ConnectionEnd, ConnectionEnds
from vsperf.drivers.generators.dpdk_ports import Port, entering, reaching
from vsperf.drivers.settings import reading
from vsperf.errors import UsageError
from vsperf.host.pages_apart import END, ENTER
from vsperf.methods.connections import ConnectionsAsked
from vsperf.quantities.units import NANOSECONDS, CpuSet
from vsperf.records.run import Endpoint, Placeholder, Placement
from vsperf.trust import own_python

ENDS = 2
"""Processes, each of which polls: that of the clients, and that of the servers."""


class DperfSpec(DriverSpec):
    """Settings of dperf, which opens TCP connections by one process and answers by another."""

    kind: Literal["dperf"]
    path: str | None = None
    """The program; the one in $PATH when not given."""
    cpus: CpuSet | None = None
    """CPUs of the client and of the server, in this order; of a single one both take turns, and
    each answer waits until the other one is let run."""

    @model_validator(mode="after")
    def _a_cpu_for_each(self) -> Self:
        if self.cpus is not None and len(self.cpus) > ENDS:
            raise ValueError(
                f"cpus: client and server poll on a CPU each, and {self.cpus} are {len(self.cpus)}"
            )
        return self


WHO = "dperf"
spec_of = reading("generator.kind=dperf", DperfSpec, WHO)
ROLE = "generator"
CLIENT, SERVER = "dperf-client", "dperf-server"
"""Names of the programs."""
PAGES = f"{Placeholder.RUN}/pages"
NEXT_HOP = "NEXT-HOP"
"""In a plan: nobody knows the switch's addresses before it is there."""

SLOW_START_S = 10
"""The shortest that dperf takes."""
WAIT_S = SLOW_START_S + 1
CLOSING_S = 4
"""For which dperf waits for what has begun."""
SERVING = "30d"
EVENLY_CPS = 100_000
"""Up to so many a second begin one by one; more do so in groups of four, or a loop is too slow."""
MOST_ADDRESSES = 254
"""Of an end, all with the same first three bytes."""
MOST_REQUEST = MOST_DATA - 1
HTTP_BYTES = 85
"""From so many bytes on dperf writes a request of HTTP, and from one more on a byte less than its
file says."""

SOCKET_BYTES = 80
"""Of each connection that there can be at an end."""
POOLS_MB = 768
"""Four pools of 65,536 buffers of 2,432 bytes, and what DPDK has beside them."""
MOST_SOCKETS = 1 << 22
"""At the clients. When all of them had their turn, the first one comes again."""
MEGABYTE = 1 << 20
RING = 1024
TAP_MAC = "fe"
"""The last byte of the MAC address of a tap; those of an end's link end otherwise."""
LISTENS, CALLS = "role=server", "role=client"
"""Of two ports that memory joins (memif)."""
_PORT = -1
"""From the address of a device that routes to that of a port of dperf, which nobody speaks to."""


@dataclass(frozen=True, slots=True)
class Process:
    """One of both."""

    name: str
    end: End
    port: Port
    cpu: int
    node: int

    @property
    def file(self) -> str:
        """What it reads, not filled in."""
        return f"{Placeholder.RUN}/{self.name}.conf"

    @property
    def listens_at(self) -> str | None:
        """The socket that the switch calls, or the process at the other port, if one does."""
        words = dict(word.partition("=")[::2] for word in self.port.device.split(","))
        if words.get("role") == "server":
            return words.get("socket")
        return words.get("path") if "server" in words else None

    def command(self, program: str) -> tuple[str, ...]:
        """Return how it is run, not filled in."""
        apart = own_python.script(ENTER, PAGES, END)
        network = entering((self.port,), WHO)
        return (*network, *apart, *LINE_BY_LINE, program, "-c", self.file)


def processes_of(
    case: CaseSpec, endpoints: Sequence[Endpoint], placement: Placement
) -> tuple[Process, Process]:
    """Return who is the clients, and who is the servers."""
    spec = spec_of(case)
    pinned = spec.cpus.cpus if spec.cpus is not None else ()
    cpus = placement.of(ROLE) or pinned or (0,)
    nodes = placement.nodes.get(ROLE, (0,))
    ends = (clients_of(case), servers_of(case))
    ports = {
        endpoint.link: _port(endpoint, number, ends) for number, endpoint in enumerate(endpoints)
    }
    joined = _called_anew(*(ports[end.link] for end in ends))
    client, server = (
        Process(name, end, port, cpus[min(number, len(cpus) - 1)], nodes[0])
        for number, (name, end, port) in enumerate(zip((CLIENT, SERVER), ends, joined, strict=True))
    )
    return client, server


def _called_anew(client: Port, server: Port) -> tuple[Port, Port]:
    """Return both ports; of two that memory joins, that of the servers listens.

    They are there in all trials, and each trial has a client anew, which can call them.
    """
    if LISTENS not in client.device.split(","):
        return client, server
    return (
        replace(client, device=client.device.replace(LISTENS, CALLS)),
        replace(server, device=server.device.replace(CALLS, LISTENS)),
    )


def _port(endpoint: Endpoint, number: int, ends: Sequence[End]) -> Port:
    """Return a port, with a MAC address that stays: each trial opens the clients' one anew.

    One that the kernel gives no address gets that of the end of its link. DPDK gives a tap the
    address that it has itself, by chance unless told: whom a router is called by would be another
    one in each trial. A bridge keeps what is sent to a tap's own address, so it is not the end's.
    """
    port = reaching(endpoint, number, WHO, ring=RING, queues=1)
    mac = next((end.mac for end in ends if end.link == endpoint.link), None)
    if mac is None or endpoint.kind not in ("vhost-user", "vhost-user-client", "tap"):
        return port
    own = f"{mac.rpartition(':')[0]}:{TAP_MAC}" if endpoint.kind == "tap" else mac
    return replace(port, device=f"{port.device},mac={own}")


def check(case: CaseSpec) -> None:
    """Refuse what dperf cannot do, beside what follows from its abilities."""
    if not case.has_connections:
        raise UsageError(
            f"dperf opens connections, and the method {case.search.kind} has none",
            why="it sends no frames of its own",
            fix="a testcase whose method opens connections, or another generator: --generator tgen",
        )
    for setting in ("clients", "servers"):
        addresses: int = getattr(case.search, setting)
        if addresses > MOST_ADDRESSES:
            raise UsageError(
                f"dperf has {MOST_ADDRESSES} addresses at an end at most, and search.{setting} is "
                f"{addresses}",
                why="they differ by their last byte, which is neither 0 nor 255",
                fix=f"--set search.{setting}={MOST_ADDRESSES}",
            )
    if (seen := getattr(case.vswitch, "local_addresses", 1)) > 1:
        raise UsageError(
            f"servers of dperf know one address of a device, and vswitch.local_addresses is {seen}",
            why="they answer clients that they were told of, and keep room for all ports of each",
            fix="--set vswitch.local_addresses=1, or another generator: --generator tgen",
        )
    for setting, most in (("request", MOST_REQUEST), ("response", MOST_DATA)):
        size: int = getattr(case.search, setting)
        if size > most:
            raise UsageError(
                f"dperf sends a {setting} of {most:,} bytes at most, and search.{setting} is "
                f"{size:,}",
                why="here it is one segment",
                fix=f"--set search.{setting}={most}, or another generator: --generator tgen",
            )


def seconds_of(asked: ConnectionsAsked) -> int:
    """Return for how long connections begin: whole seconds, as dperf counts no others."""
    return max(1, -(-asked.duration_ns // NANOSECONDS))


def client_sockets(case: CaseSpec) -> int:
    """Return how many connections there can be at the clients, at most."""
    called = 1 if getattr(case.vswitch, "shares_out", False) else servers_of(case).addresses
    return min(MOST_SOCKETS, clients_of(case).addresses * called * PORTS_EACH)


def server_sockets(case: CaseSpec) -> int:
    """Return how many there can be at the servers: from any port, as a device may choose another.

    And from its own address, which it may put in the place of all clients.
    """
    return (clients_of(case).addresses + 1) * servers_of(case).addresses * (1 << 16)


def memory_mb(sockets: int) -> int:
    """Return the memory of a process, in hugepages."""
    return POOLS_MB + -(-sockets * SOCKET_BYTES // MEGABYTE)


def case_ends(case: CaseSpec) -> ConnectionEnds:
    """Return both ends as far as they are known before there is a switch."""
    clients, servers = clients_of(case), answering_of(case)
    shared_out: bool = getattr(case.vswitch, "shares_out", False)
    return ConnectionEnds(
        ConnectionEnd(clients, NEXT_HOP),
        ConnectionEnd(servers, NEXT_HOP),
        clients.service_ip if shared_out else str(servers.first_ip),
        1 if shared_out else servers.addresses,
    )


def ports_from(asked: ConnectionsAsked, ends: ConnectionEnds, begin: int) -> range:
    """Return the ports of each client address in a trial: behind those of the one before, or anew.

    There are more of them than connections, by those of a second.
    """
    different = ends.client.end.addresses * ends.called
    room = max(1, MOST_SOCKETS // different)
    wanted = (seconds_of(asked) + 1) * asked.rate_cps
    each = max(2, min(PORTS_EACH, room, -(-wanted // different)))
    first = begin if begin + each <= FIRST_PORT + PORTS_EACH else FIRST_PORT
    return range(first, first + each)


def client_file(
    process: Process, ends: ConnectionEnds, asked: ConnectionsAsked, ports: range, memory: int
) -> tuple[str, ...]:
    """Return what the client of a trial reads."""
    return (
        "mode client",
        *_common(process, ends.client.next_hop, memory, _request_size(asked.request_bytes)),
        f"duration {seconds_of(asked) + 1}s",
        f"slow_start {SLOW_START_S}",
        f"wait {WAIT_S}",
        f"cps {asked.rate_cps}",
        f"launch_num {1 if asked.rate_cps < EVENLY_CPS else 4}",
        f"client {ends.client.end.first_ip} {ends.client.end.addresses}",
        f"client_port_range {ports.start} {ports[-1]}",
        f"server {ends.called_ip} {ends.called}",
    )


def server_file(
    process: Process, ends: ConnectionEnds, response_bytes: int, memory: int
) -> tuple[str, ...]:
    """Return what the server reads; it knows the device between both as a client, too."""
    clients, servers = ends.client.end, ends.server.end
    return (
        "mode server",
        *_common(process, ends.server.next_hop, memory, response_bytes),
        f"duration {SERVING}",
        f"client {clients.first_ip} {clients.addresses}",
        f"client {servers.device_ip} 1",
        f"server {servers.first_ip} {servers.addresses}",
    )


def holding_file(process: Process) -> tuple[str, ...]:
    """Return what a process reads that holds its port and does nothing else.

    A switch waits for who is at its ports, before it can be asked who it is itself.
    """
    end = process.end
    return (
        "mode server",
        *_common(process, end.mac, POOLS_MB, HTTP_BYTES),
        f"duration {SERVING}",
        f"client {end.service_ip} 1",
        "client_port_range 1 2",
        f"server {end.first_ip} 1",
    )


def _common(process: Process, next_hop: str, memory: int, size: int) -> tuple[str, ...]:
    device_ip = IPv4Address(process.end.device_ip)
    words = (process.port.device, device_ip + _PORT, device_ip, next_hop)
    return (
        f"cpu {process.cpu}",
        f"socket_mem {','.join(['0'] * process.node + [str(memory)])}",
        f"port {' '.join(map(str, words))}",
        "protocol tcp",
        f"payload_size {size}",
        f"listen {SERVICE_PORT} 1",
    )


def _request_size(request_bytes: int) -> int:
    return request_bytes + (request_bytes > HTTP_BYTES)
