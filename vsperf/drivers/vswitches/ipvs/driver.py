"""The driver: IPVS for each case, in a network of its own that ends with it."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import SERVICE_PORT, protocol_of
from vsperf.drivers.settings import WholeSeconds, reading
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch, step
from vsperf.drivers.vswitches.hops import (
    WANTS,
    Hop,
    HopDesign,
    RunningHop,
    asked_in,
    check_hop,
    hop_endpoints,
    hop_steps,
    running_hop,
    slab_memory,
)
from vsperf.drivers.vswitches.kernel_ports import NETWORK, OF_CONNECTIONS, needs_of
from vsperf.drivers.vswitches.rule_programs import RuleProgram
from vsperf.errors import ComponentError, UsageError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Check, Group
from vsperf.host.netns import entering
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import CpuSet
from vsperf.records.run import Placement
from vsperf.records.switch import ConnectionCounters, Kept, SwitchCounters


class IpvsSpec(DriverSpec):
    """Settings of IPVS, the load balancer of the Linux kernel."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""
    NOT_HELD: ClassVar[str] = OF_CONNECTIONS
    shares_out: ClassVar[bool] = True
    """Clients call one address of it, and it chooses a server for each call."""

    kind: Literal["ipvs"]
    mode: Literal["nat", "dr"] = "nat"
    """What becomes of the addresses of what clients send: that of the server is written in, so
    servers answer by way of IPVS, which has their answers come from who was called (`nat`); or
    none is touched, so servers answer as who was called, and the kernel only routes what they say
    (`dr`)."""
    udp_timeout: WholeSeconds | None = None
    """How long a flow of UDP stays in the table after its last frame, in whole seconds; what the
    kernel has when not given, which is five minutes as a rule."""
    cpus: CpuSet | None = None
    """CPUs that forward what comes in; the kernel hands each frame to one of them. One that vsperf
    chooses when not given."""

    @property
    def direct(self) -> bool:
        """Whether servers answer as who was called."""
        return self.mode == "dr"


_spec_of = reading("vswitch.kind=ipvs", IpvsSpec, "IPVS")
HOST_BITS = 32
FORWARDING = "ipv4/ip_forward"
PROTOCOLS = {"tcp": "-t", "udp": "-u"}
WAYS = {"nat": "-m", "dr": "-g"}


@dataclass(frozen=True, slots=True)
class Ipvsadm(RuleProgram):
    """It does what it reads, line by line; what of it was refused only the kernel can tell."""

    NAME: ClassVar[str] = "ipvsadm"
    READING: ClassVar[tuple[str, ...]] = ("ipvsadm", "-R")
    DRIVER: ClassVar[str] = "vswitch.kind=ipvs"
    PACKAGE: ClassVar[str] = "ipvsadm"
    PURPOSE: ClassVar[str] = "it tells the kernel's load balancer its services"
    RULES: ClassVar[str] = "services of IPVS"
    DO: ClassVar[str] = "shares out connections by IPVS"
    KERNEL: ClassVar[str] = (
        "take a kernel with IPVS, as those of distributions have it: modprobe ip_vs ip_vs_rr"
    )
    TRIED: ClassVar[str] = (
        "-A -t 198.18.255.1:80 -s rr\n-a -t 198.18.255.1:80 -r 198.19.0.1:80 -m\n"
    )


@dataclass(frozen=True)
class Design(HopDesign):
    """What one case makes of it."""

    case: CaseSpec
    spec: IpvsSpec
    placement: Placement

    @property
    def service_ip(self) -> str:
        """Whom clients call: an address of the device."""
        return self.ports[0].end.service_ip

    @property
    def service(self) -> str:
        """The same, with its port."""
        return f"{self.service_ip}:{SERVICE_PORT}"

    def rules(self) -> str:
        """Return what it is told; it takes the place of what it was told before."""
        service, way = f"{PROTOCOLS[protocol_of(self.case)]} {self.service}", WAYS[self.spec.mode]
        lines = [
            "-C",
            f"-A {service} -s rr",
            *(f"-a {service} -r {server} {way}" for server in self.servers),
        ]
        if (timeout := self.spec.udp_timeout) is not None:
            lines.append(f"--set 0 0 {int(timeout.seconds)}")  # 0: as it is
        return "\n".join(lines) + "\n"

    def settings(self) -> Mapping[str, str]:
        """Return what the kernel is told of the network, by its file below /proc/sys/net.

        Names of devices are not filled in.
        """
        told = {FORWARDING: "1"}
        if self.spec.direct:  # what servers say comes from an address of the device itself
            for name in ("all", self.ports[1].device):
                told |= {
                    f"ipv4/conf/{name}/accept_local": "1",
                    f"ipv4/conf/{name}/rp_filter": "0",
                }
        return told


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be; refuse what it cannot do."""
    check_hop(
        design.case,
        design.cpus,
        "shares out connections",
        "frames of a test are not addressed to it, and begin no connection",
    )
    clients = design.ports[0]
    steps = (
        *hop_steps(
            design.ports,
            design.cpus,
            f"{clients.device} is {design.service_ip}/{HOST_BITS}, too: whom clients call",
        ),
        step(
            "tell IPVS whom clients call, and its servers",
            *design.rules().splitlines(),
            argv=(*entering(NETWORK), *Ipvsadm.READING),
        ),
        step(
            "have the kernel forward between them",
            *(f"{name.replace('/', '.')} = {value}" for name, value in design.settings().items()),
        ),
    )
    return SwitchPlan(steps, hop_endpoints(design.case, design.ports))


TABLE = Path("/proc/thread-self/net/ip_vs")
STATISTICS = Path("/proc/thread-self/net/ip_vs_stats")
SLAB = "ip_vs_conn"
_SIZE = re.compile(r"\(size=(\d+)\)")
_SERVICE = re.compile(r"^(?:TCP|UDP) +([0-9A-F]{8}):([0-9A-F]{4}) ", re.MULTILINE)
_SERVER = re.compile(
    r"^ +-> ([0-9A-F]{8}):([0-9A-F]{4}) +\w+ +-?\d+ +(\d+) +(\d+) *$", re.MULTILINE
)
_TOTALS = 2
"""The line with the counts, below two lines of headings."""


@dataclass(frozen=True, slots=True)
class Table:
    """The table of IPVS, as it stands."""

    size: int | None
    """Places in which connections are looked for; each may have many."""
    services: tuple[str, ...]
    servers: Mapping[str, int]
    """By address and port, the connections to it: those that are over and remembered, too."""

    def missing(self, service: str, servers: tuple[str, ...]) -> str | None:
        """Return which of these are not there; None where all are."""
        if service not in self.services:
            return f"its service {service} is gone"
        gone = [server for server in servers if server not in self.servers]
        return f"its server {gone[0]} is gone" if gone else None


def table(network: str) -> Table:
    """Return the table of a network."""
    return table_in(asked_in(network, "for the table of IPVS", TABLE.read_text))


def connections(network: str) -> int:
    """Return how many connections were shared out so far in a network."""
    return connections_in(asked_in(network, "what IPVS counts", STATISTICS.read_text))


def table_in(text: str) -> Table:
    """Return the table, of what the kernel tells."""
    size = _SIZE.search(text)
    return Table(
        size=int(size[1]) if size else None,
        services=tuple(_address(*found) for found in _SERVICE.findall(text)),
        servers={
            _address(ip, port): int(active) + int(inactive)
            for ip, port, active, inactive in _SERVER.findall(text)
        },
    )


def connections_in(text: str) -> int:
    """Return the connections that were shared out, of all that the kernel counts."""
    try:
        return int(text.splitlines()[_TOTALS].split()[0], 16)
    except (IndexError, ValueError) as error:
        raise ComponentError(
            "what IPVS counts cannot be read", why=f"{STATISTICS.name} says {text[:80]!r}"
        ) from error


def _address(ip: str, port: str) -> str:
    return f"{IPv4Address(int(ip, 16))}:{int(port, 16)}"


CHECKS = (Check(Ipvsadm.NAME, Group.PROGRAMS, Ipvsadm.doctor),)
"""Not among the checks of a run: the driver tries it itself before it starts."""


@dataclass(kw_only=True)
class RunningIpvs(RunningHop):
    """The device with its two ports, whoever is at the other ends of the taps."""

    design: Design
    program: Ipvsadm

    def failure(self) -> str | None:
        if (reason := super().failure()) is not None:
            return reason
        try:
            return table(self.network).missing(self.design.service, self.design.servers)
        except ComponentError as error:
            return error.with_why

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand; its own count of connections among them."""
        shared_out = connections(self.network)
        return SwitchCounters(
            ports=self.hop.counted(),
            connections=ConnectionCounters(accepted=shared_out, opened=shared_out),
        )

    def kept(self) -> Kept:
        return Kept(
            entries=sum(table(self.network).servers.values()), memory_bytes=slab_memory(SLAB)
        )

    def facts(self) -> dict[str, Any]:
        return {
            "kernel": platform.release(),
            Ipvsadm.NAME: self.program.version(),
            **self.hop.facts(),
            "mode": self.design.spec.mode,
            "service": self.design.service,
            "forwarding_cpus": list(self.design.cpus),
            "table_size": table(self.network).size,
            "rules": self.design.rules().splitlines(),
        }

    def restart(self, *, kill: bool) -> None:
        """Forward nothing, take the service away and make it anew; the kernel has no kill.

        Nobody can take connections out of its table: those that were open go on.
        """
        self.hop.settle({FORWARDING: "0"})
        self.tell()

    def forget_flows(self) -> None:
        raise UsageError(
            "IPVS cannot be told to forget its connections",
            why="even those of a service that is taken away stay until their time is over",
            fix="choose a switch that can: --vswitch nftables",
        )

    def change_rules(self, count: int) -> None:
        raise UsageError(
            "IPVS has no rules that could be changed here",
            why="whoever calls its service is passed on to a server",
            fix="choose a switch with rules: --vswitch nftables",
        )

    def access(self) -> tuple[str, ...]:
        before = " ".join(entering(self.network))
        return (
            f"{before} {self.program.path} -ln --stats",
            f"{before} cat /proc/net/ip_vs_stats",
            f"ip -netns {self.network} -statistics link",
        )

    def tell(self) -> None:
        """Tell it its service, see that it has taken it, and have the kernel forward."""
        self.program.read(self.network, self.design.rules())
        missing = table(self.network).missing(self.design.service, self.design.servers)
        if missing is not None:
            raise ComponentError(
                "IPVS was told its service, and refused a part",
                why=missing,
                fix="`vsperf plan` prints what it is told, to be tried by hand",
            )
        settings = self.design.settings().items()
        self.hop.settle({self.workspace.fill(name): value for name, value in settings})


class Ipvs(VSwitch):
    """Deploys the load balancer of the Linux kernel."""

    kind = "ipvs"
    summary = "IPVS, the load balancer of the Linux kernel"
    Spec = IpvsSpec
    wants = WANTS
    checks = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(_spec_of(case).cpus)

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        Ipvsadm.require()

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningIpvs]:
        self.require(case)
        design = Design(case, _spec_of(case), placement)
        return running_hop(design, workspace, partial(_told, design, workspace))


def _told(design: Design, workspace: Workspace, hop: Hop) -> RunningIpvs:
    """Tell IPVS its service: it shares connections out once it has it."""
    hop.talk.give(hop.devices[design.ports[0].place.name], design.service_ip, HOST_BITS)
    running = RunningIpvs(
        hop=hop, who="IPVS", workspace=workspace, design=design, program=Ipvsadm.find()
    )
    running.tell()
    return running
