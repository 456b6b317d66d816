"""What a case makes of DPVS: ports, its configuration, what it is told when it runs. Pure.

Its ports have no networks of their own: what is there is told by routes, and each host by its MAC
address, so nobody is asked by ARP.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_network
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import (
    NETWORK_BITS,
    SERVICE_PORT,
    End,
    clients_of,
    protocol_of,
    servers_of,
)
from vsperf.config.counted import Counted, PowerOfTwo
from vsperf.dpdk.command import MEGABYTE, lcores
from vsperf.drivers.settings import WholeSeconds, require_as_many
from vsperf.drivers.vswitches.base import SwitchPlan, step
from vsperf.drivers.vswitches.hops import check_two_ends
from vsperf.drivers.vswitches.kernel_ports import MTU, NETWORK, OF_CONNECTIONS, PMD_ROLE, steps_of
from vsperf.drivers.vswitches.ports import (
    PCI_ADDRESS,
    VIRTUAL_DEVICE,
    Place,
    device_endpoint,
    tap_endpoint,
    tap_of,
    vhost_socket,
)
from vsperf.errors import UsageError
from vsperf.host.netns import entering
from vsperf.quantities.units import CpuSet, Duration
from vsperf.records.run import Endpoint, Placeholder, Placement

LEAST_CONNECTIONS = 131_072
"""DPVS has room for a power of two less one, takes 65,536 as the least, and what is below for a
mistake that it mends by two million."""
MOST_WORKERS = 16
"""As many queues as it has of a port."""


class DpvsSpec(DriverSpec):
    """Settings of DPVS, a load balancer on DPDK."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of ports at which a switch is the host's side, and here it is not:
    it has taps, or is the guest's side."""
    NOT_HELD: ClassVar[str] = OF_CONNECTIONS
    shares_out: ClassVar[bool] = True
    """Clients call one address of it, and it chooses a server for each call."""

    kind: Literal["dpvs"]
    install: str | None = None
    """Folder with the programs dpvs, dpip and ipvsadm, or with a folder `bin` of these, as its
    `install` target leaves it; the folder of the dpvs in $PATH when not given."""
    mode: Literal["fnat", "nat", "dr"] = "fnat"
    """What becomes of the addresses of what clients send: both are rewritten, so servers see an
    address of DPVS (`fnat`, which others call FullNAT); that of the server alone, so servers see
    their clients, and answer by way of DPVS (`nat`); or none, so servers answer as who was called,
    and DPVS only routes what they say (`dr`)."""
    workers: Annotated[int, Field(ge=1, le=MOST_WORKERS)] = 1
    """Polling threads, when `worker_cpus` does not say where they run."""
    worker_cpus: CpuSet | None = None
    """CPUs of the polling threads, one each."""
    main_cpu: Annotated[int, Field(ge=0)] | None = None
    """CPU of its master thread, which answers questions, and never sleeps either. It shares that of
    the first worker when not given, and takes half of it: name one where there are enough."""
    connections: Annotated[int, Field(ge=LEAST_CONNECTIONS, le=1 << 27), Counted, PowerOfTwo] = (
        262_144
    )
    """Connections for which it has room, a power of 2, on each memory node; less one, as DPVS has
    it."""
    local_addresses: Annotated[int, Field(ge=1, le=128)] = 1
    """Of `fnat`: addresses that servers see. Each has 64,511 ports for each server."""
    time_wait: WholeSeconds | None = None
    """How long a connection stays in the table after its end, in whole seconds; seven when not
    given, as DPVS has it."""
    udp_timeout: WholeSeconds | None = None
    """How long a flow of UDP stays in the table after its last frame, in whole seconds; five
    minutes when not given, as DPVS has it."""
    ports: Literal["packet", "virtio-user"] = "packet"
    """Ports of links without a device in the testbed: taps of the kernel, which DPVS opens as
    packet sockets (`packet`); or shared memory of which it is the guest's side and listens
    (`virtio-user`), which takes a DPVS that was changed to do without RSS."""
    ring: Annotated[int, Field(ge=64, le=8192), Counted, PowerOfTwo] = 1024
    """Descriptors in each ring of a port, a power of 2."""
    memory: Annotated[int, Field(ge=256, le=1_048_576)] | None = None
    """Memory [MB] on each memory node; what tables and buffers take when not given."""
    hugepages: bool = True
    """Take memory from hugepages; without, it is slower, and enough for trying things out."""

    @model_validator(mode="after")
    def _settings_agree(self, info: ValidationInfo) -> Self:
        require_as_many(self, "workers", "worker_cpus", info)
        if self.worker_cpus is not None and len(self.worker_cpus) > MOST_WORKERS:
            raise ValueError(
                f"DPVS has {MOST_WORKERS} queues of a port at most, one for each worker, and "
                f"worker_cpus names {len(self.worker_cpus)} CPUs"
            )
        if self.mode != "fnat" and self.local_addresses > 1:
            raise ValueError(
                f"with mode={self.mode} servers see no address of DPVS; leave local_addresses out"
            )
        return self

    @property
    def worker_count(self) -> int:
        """Number of polling threads, the master apart."""
        return self.workers if self.worker_cpus is None else len(self.worker_cpus)

    @property
    def direct(self) -> bool:
        """Whether servers answer as who was called."""
        return self.mode == "dr"


NAME = "dpvs"
DPIP, IPVSADM = "dpip", "ipvsadm"
MAIN_ROLE = "switch main"
CONFIGURATION = f"{Placeholder.RUN}/{NAME}.conf"
PID_FILE = f"{Placeholder.RUN}/{NAME}.pid"
IPC_SOCKET = f"{Placeholder.RUN}/{NAME}.ipc"
IPC_VARIABLE = "DPVS_IPC_FILE"
"""By which its tools find it."""
FORWARDS = {"fnat": "-b", "nat": "-m", "dr": "-g"}
"""Words of ipvsadm."""
PATIENCE_US = 1_000_000
"""For which its master waits for answers of workers: with one of them on its CPU that is longer
than the 2 ms that it waits unless told otherwise."""
MOST_POOLS = 128
LEAST_BUFFERS = 65_536
BUFFER_BYTES = 2_560
CONNECTION_BYTES = 832
"""Of an entry, with what the pool has beside it; and of what finds it from another worker."""
PORT_BYTES = 48
"""Of a port that an address of DPVS may be given for a connection."""
WORKER_MB, OTHER_MB = 160, 512
"""For tables of a worker; and for pools that it makes whatever it is told. Version 1.10.2 took some
140 for each worker; with less it begins, and has no room for addresses."""
Command = tuple[str, ...]
Kind = Literal["pci", "vdev", "tap", "socket"]
"""Of ports: the first two are those that a testbed names."""


@dataclass(frozen=True, slots=True)
class Port:
    """One port of DPVS, and the end of the connections that is behind it."""

    number: int
    """As DPDK counts it."""
    place: Place
    end: End
    kind: Kind
    device: str
    """As DPDK writes it; not filled in."""
    tap: str = ""
    """The one behind it; not filled in."""

    @property
    def name(self) -> str:
        return f"dpdk{self.number}"


@dataclass(frozen=True)
class Design:
    """What one case makes of DPVS."""

    case: CaseSpec
    spec: DpvsSpec
    placement: Placement

    @cached_property
    def ports(self) -> tuple[Port, Port]:
        ends = clients_of(self.case), servers_of(self.case)
        given = [self.case.testbed.links[end.link].switch or "" for end in ends]
        # DPDK counts NICs first, in the order of the bus, and then others as they are named.
        order = sorted((0, 1), key=lambda at: (_kind(given[at]) != "pci", _bus(given[at]), at))
        first, second = (
            self._port(order.index(at), ends[at], ends[1 - at], given[at]) for at in (0, 1)
        )
        return first, second

    def _port(self, number: int, end: End, other: End, given: str) -> Port:
        place = Place(end.link)
        if given:
            return Port(number, place, end, _kind(given), given)
        if self.spec.ports == "packet":
            tap = tap_of(place, self.case.topology)
            words = f"iface={tap},qpairs={self.spec.worker_count},framecnt={self.spec.ring}"
            return Port(number, place, end, "tap", f"net_af_packet{number},{words}", tap)
        words = f"path={vhost_socket(place)},server=1,queue_size={self.spec.ring},mac={other.mac}"
        return Port(number, place, end, "socket", f"net_virtio_user{number},{words}")

    @property
    def numbered(self) -> tuple[Port, ...]:
        """Both ports, as DPDK counts them."""
        return tuple(sorted(self.ports, key=lambda port: port.number))

    @property
    def taps(self) -> tuple[str, ...]:
        """Those that are made for it; not filled in."""
        return tuple(port.tap for port in self.ports if port.kind == "tap")

    @property
    def sockets(self) -> tuple[str, ...]:
        """Those at which it listens, which may not be there before; not filled in.

        They come in this order: it is asked only when somebody has called at each port.
        """
        own = (vhost_socket(port.place) for port in self.ports if port.kind == "socket")
        return (*own, IPC_SOCKET)

    @property
    def cpus(self) -> tuple[int, ...]:
        """Of the workers."""
        return self.placement.of(PMD_ROLE)

    @property
    def main_cpu(self) -> int:
        """Of the master."""
        return self.cpus[0] if self.spec.main_cpu is None else self.spec.main_cpu

    @property
    def service(self) -> str:
        """What clients call."""
        return f"{self.ports[0].end.service_ip}:{SERVICE_PORT}"

    @property
    def local_ips(self) -> tuple[str, ...]:
        """What servers see in the place of clients: none where they see these."""
        if self.spec.mode != "fnat":
            return ()
        return self.ports[1].end.device_ips(self.spec.local_addresses)

    @property
    def buffers(self) -> int:
        """For frames: as many as rings hold, and some to spare."""
        rings = len(self.ports) * self.spec.worker_count * 2 * self.spec.ring
        return max(LEAST_BUFFERS, 1 << (2 * rings - 1).bit_length())

    @property
    def pools(self) -> int:
        """Into which the ports of an address are parted by servers: one for each if there may."""
        return min(MOST_POOLS, self.ports[1].end.addresses)

    @property
    def memory_mb(self) -> int:
        if self.spec.memory is not None:
            return self.spec.memory
        taken = self.buffers * BUFFER_BYTES + self.spec.connections * CONNECTION_BYTES
        taken += len(self.local_ips) * self.pools * (1 << 16) * PORT_BYTES
        return OTHER_MB + WORKER_MB * self.spec.worker_count + -(-taken // MEGABYTE)

    def command(self, program: str) -> Command:
        """Return how it is run; EAL's words are behind its own."""
        nics = tuple(f"--allow={port.device}" for port in self.numbered if port.kind == "pci")
        spec, memory = self.spec, ("-m", str(self.memory_mb))
        kind = ("--in-memory", "--single-file-segments")
        return (
            *(entering(NETWORK) if self.taps else ()),
            program,
            *("-c", CONFIGURATION, "-p", PID_FILE, "-x", IPC_SOCKET, "--"),
            *(nics or ("--no-pci",)),
            *(kind if spec.hugepages else ("--no-huge", "--no-shconf")),
            *memory,
            f"--file-prefix={Placeholder.NAME}-{NAME}",
            f"--lcores={lcores(self.cpus, self.main_cpu)}",
            *(f"--vdev={port.device}" for port in self.numbered if port.kind != "pci"),
        )

    def configuration(self) -> tuple[str, ...]:
        """Return its file, line by line."""
        workers = range(1, self.spec.worker_count + 1)
        return (
            *_section("global_defs", "log_level WARNING", "kni off", "pdump off", "lldp off"),
            *_section(
                "netif_defs",
                f"pktpool_size {self.buffers - 1}",
                "pktpool_cache 256",
                *(line for port in self.numbered for line in self._device(port)),
            ),
            *_section(
                "worker_defs",
                *_section("worker cpu0", "type master", "cpu_id 0"),
                *(line for number in workers for line in self._worker(number)),
            ),
            *_section("ctrl_defs", *_section("lcore_msg", f"sync_msg_timeout_us {PATIENCE_US}")),
            *_section("ipv4_defs", f"forwarding {'on' if self.spec.direct else 'off'}"),
            *_section("ipvs_defs", *self._table()),
            *_section(
                "sa_pool",
                f"pool_hash_size {self.pools}",
                # Only a NIC can be told which worker a port belongs to.
                f"flow_enable {'on' if self.by_nics else 'off'}",
            ),
        )

    @property
    def by_nics(self) -> bool:
        """Whether NICs bring each worker what belongs to its connections."""
        return all(port.kind == "pci" for port in self.ports)

    def _device(self, port: Port) -> tuple[str, ...]:
        ring = f"queue_number {self.spec.worker_count}", f"descriptor_number {self.spec.ring}"
        return _section(
            f"device {port.name}",
            *_section("rx", *ring, "rss all"),
            *_section("tx", *ring),
            f"mtu {MTU}",
        )

    def _worker(self, number: int) -> tuple[str, ...]:
        queue = f"rx_queue_ids {number - 1}", f"tx_queue_ids {number - 1}"
        ports = (line for port in self.numbered for line in _section(f"port {port.name}", *queue))
        return _section(f"worker cpu{number}", "type slave", f"cpu_id {number}", *ports)

    def _table(self) -> Iterator[str]:
        spec = self.spec
        # What comes to another worker than that of its connection has to be handed over.
        several = spec.worker_count > 1 and not (self.by_nics and spec.mode == "fnat")
        yield from _section(
            "conn",
            f"conn_pool_size {spec.connections - 1}",
            "conn_pool_cache 256",
            f"redirect {'on' if several else 'off'}",
        )
        states = ("fin_wait", "time_wait", "close_wait", "last_ack")
        yield from _section("tcp", *_section("timeout", *_times(spec.time_wait, *states)))
        # Otherwise it tells servers by frames of its own who their clients are.
        timeout = _section("timeout", *_times(spec.udp_timeout, "oneway", "normal"))
        yield from _section("udp", "uoa_max_trail 0", *timeout)

    def told(self) -> tuple[Command, ...]:
        """Return what it is told when it runs, by its own tools, in this order."""
        return tuple(self._told())

    def _told(self) -> Iterator[Command]:
        clients, servers = self.ports
        for port in self.ports:
            net = ip_network(f"{port.end.first_ip}/{NETWORK_BITS}", strict=False)
            yield (DPIP, "route", "add", str(net), "dev", port.name)
            for ip in port.end.ips:
                yield (DPIP, "neigh", "add", ip, "lladdr", port.end.mac, "dev", port.name)
        yield (DPIP, "addr", "add", f"{clients.end.service_ip}/32", "dev", clients.name)
        service = self.service_words
        yield (IPVSADM, "-A", *service, "-s", "rr")
        for ip in servers.end.ips:
            server = ("-r", f"{ip}:{SERVICE_PORT}")
            yield (IPVSADM, "-a", *service, *server, FORWARDS[self.spec.mode], "-w", "1")
        for ip in self.local_ips:
            yield (IPVSADM, "--add-laddr", "-z", ip, *service, "-F", servers.name)

    @property
    def service_words(self) -> tuple[str, str]:
        """By which ipvsadm is told which service is meant."""
        return ("-t" if protocol_of(self.case) == "tcp" else "-u", self.service)


def _section(name: str, *lines: str) -> tuple[str, ...]:
    """Return a section of its file; nothing for one in which nothing is said."""
    return () if not lines else (f"{name} {{", *(f"    {line}" for line in lines), "}")


def _times(said: Duration | None, *names: str) -> tuple[str, ...]:
    return () if said is None else tuple(f"{name} {int(said.seconds)}" for name in names)


def _kind(given: str) -> Kind:
    return "pci" if PCI_ADDRESS.fullmatch(given) else "vdev"


def _bus(given: str) -> str:
    return given.lower() if _kind(given) == "pci" else ""


def switch_plan(design: Design, program: str) -> SwitchPlan:
    """Return all steps, and where the ports will be; refuse what it cannot do."""
    check(design)
    memory = "" if design.spec.hugepages else "; WITHOUT HUGEPAGES, so it is slower than it can be"
    cpus = ", ".join(map(str, design.cpus))
    taps = design.taps
    steps = (
        *(steps_of("tap", taps, taps, design.cpus) if taps else ()),
        step("write its configuration", *design.configuration()),
        step(
            f"start DPVS, workers on CPU {cpus}, {_master(design)}{memory}",
            argv=design.command(program),
        ),
        step(
            "tell it who is where and what clients call, when somebody is at its ports",
            f"{IPC_VARIABLE}={IPC_SOCKET}",
            *(" ".join(command) for command in design.told()),
        ),
    )
    return SwitchPlan(steps, tuple(_endpoint(design, port) for port in design.ports))


def _master(design: Design) -> str:
    if design.main_cpu in design.cpus:
        return (
            f"and its master on CPU {design.main_cpu}, too, WHERE IT TAKES HALF OF A WORKER'S TIME "
            "(vswitch.main_cpu names another)"
        )
    return f"its master on CPU {design.main_cpu}"


def _endpoint(design: Design, port: Port) -> Endpoint:
    if port.kind == "tap":
        return tap_endpoint(port.place, port.tap, NETWORK)
    if port.kind == "socket":  # it is the guest's side, and the generator is the host's
        socket = vhost_socket(port.place)
        return Endpoint(link=port.end.link, kind="vhost-user-backend", address=socket)
    return device_endpoint(design.case, port.end.link)


def check_ends(case: CaseSpec) -> None:
    """Refuse a case that has no clients and servers at two links."""
    check_two_ends(
        case,
        "shares connections out",
        "it passes on what is addressed to its service, and frames of a test are not",
    )


def check(design: Design) -> None:
    """Refuse what it cannot do."""
    check_ends(design.case)
    if not design.cpus:
        raise UsageError(
            "no CPU was found for the workers of DPVS",
            fix="--set vswitch.worker_cpus=1, or give the testbed's machine more CPUs",
        )
    for port in design.ports:
        if port.kind == "vdev" and not port.device.startswith(VIRTUAL_DEVICE):
            raise UsageError(
                f"testbed link {port.end.link} names {port.device!r} as the switch's device, which "
                "DPVS cannot take",
                why="a device is a PCI address (0000:03:00.0) or a virtual device of DPDK "
                "(net_af_packet0,iface=eth1)",
                fix=f"mend testbed.links.{port.end.link}.switch, or leave it out for a tap",
            )
    if design.spec.worker_count > 1 and any(port.kind == "socket" for port in design.ports):
        raise UsageError(
            f"DPVS has {design.spec.worker_count} workers, and ports in shared memory "
            "(vswitch.ports=virtio-user) have one queue",
            why="nobody spreads connections over several there, so others had nothing to do",
            fix="--set vswitch.ports=packet, or links on NICs, or --set vswitch.workers=1",
        )
