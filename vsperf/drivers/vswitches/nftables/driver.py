"""The driver: a router of the kernel for each case, in a network of its own that ends with it."""

from __future__ import annotations

import platform
import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import SERVICE_PORT, protocol_of
from vsperf.drivers.settings import WholeSeconds, reading
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch, step
from vsperf.drivers.vswitches.hops import (
    SYSCTL,
    WANTS,
    Hop,
    HopDesign,
    RunningHop,
    T,
    asked_in,
    check_hop,
    hop_endpoints,
    hop_steps,
    running_hop,
    setting,
    slab_memory,
)
from vsperf.drivers.vswitches.kernel_ports import NETWORK, OF_CONNECTIONS, needs_of
from vsperf.drivers.vswitches.rule_programs import RuleProgram
from vsperf.errors import ComponentError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Check, Group
from vsperf.host.netlink import attributes, dump, order
from vsperf.host.netns import entering
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import CpuSet, Duration
from vsperf.records.run import Placement
from vsperf.records.switch import ConnectionCounters, Kept, SwitchCounters


class NftablesSpec(DriverSpec):
    """Settings of a router of the Linux kernel with nftables."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""

    NOT_HELD: ClassVar[str] = OF_CONNECTIONS

    kind: Literal["nftables"]
    nat: Literal["none", "source", "destination"] = "source"
    """Which addresses are rewritten: none, so it is a firewall that lets pass what clients have
    begun; the clients' (`source`), who are all seen as the device's own address by the servers; or
    the one that is called (`destination`), so it shares connections out to the servers, in turns.
    In all three each connection is tracked."""
    time_wait: WholeSeconds | None = None
    """How long a connection stays in the table after it has ended, in whole seconds; what the
    kernel has when not given, which is two minutes as a rule."""
    udp_timeout: WholeSeconds | None = None
    """How long a flow of UDP stays in the table after its last frame, in whole seconds; what the
    kernel has when not given, which is 30 s as a rule, and two minutes where it has gone on for a
    while."""
    cpus: CpuSet | None = None
    """CPUs that forward what comes in; the kernel hands each frame to one of them. One that vsperf
    chooses when not given."""

    @property
    def shares_out(self) -> bool:
        """Whether clients call one address of the device, which chooses a server for each call."""
        return self.nat == "destination"


@dataclass(frozen=True, slots=True)
class Nft(RuleProgram):
    """It takes all rules that it reads, or where one is refused none."""

    NAME: ClassVar[str] = "nft"
    READING: ClassVar[tuple[str, ...]] = ("nft", "-f", "-")
    DRIVER: ClassVar[str] = "vswitch.kind=nftables"
    PACKAGE: ClassVar[str] = "nftables"
    PURPOSE: ClassVar[str] = (
        "it tells the kernel which connections pass, and what becomes of their addresses"
    )
    RULES: ClassVar[str] = "rules that track connections and rewrite addresses"
    DO: ClassVar[str] = "tracks connections by its rules"
    KERNEL: ClassVar[str] = (
        "take a kernel with nftables, connection tracking and NAT, as those of distributions have "
        "them: modprobe nf_tables nft_ct nft_nat nft_numgen"
    )
    TRIED: ClassVar[str] = """table ip vsperf {
	counter refused {
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		counter name "refused" drop
	}
	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		tcp dport 80 dnat to numgen inc mod 2 map { 0 : 198.19.0.1, 1 : 198.19.0.2 }
	}
	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		oifname "lo" snat to 198.19.255.254
	}
}
"""


TABLE = "vsperf"
"""Of nftables, in a network in which there is no other."""
BEGUN, REFUSED = "begun", "refused"
"""Counters of frames that begin what a rule lets pass, and of those that no rule lets pass."""
IDLE = "idle"
"""Chain of rules that no frame matches. It is gone through for each frame that belongs to no
connection yet: in a firewall, too, rules are looked at when a connection begins."""
FIRST_IDLE = 0xF0000000
"""As an address of IPv4, 240.0.0.0: in a network that nobody uses."""


@dataclass(frozen=True)
class Design(HopDesign):
    """What one case makes of the kernel."""

    case: CaseSpec
    spec: NftablesSpec
    placement: Placement

    @property
    def service(self) -> str | None:
        """What clients call where the device chooses the server; None where they call these."""
        if not self.spec.shares_out:
            return None
        return f"{self.ports[0].end.service_ip}:{SERVICE_PORT}"

    def ruleset(self) -> str:
        """Return the rules as nftables reads them, with the names of devices not filled in.

        They take the place of those that there are, all at once.
        """
        clients, servers = self.ports
        begins = f'iifname "{clients.device}" oifname "{servers.device}" ct state new'
        if self.spec.shares_out:
            begins += " ct status dnat"  # what calls a server by itself is none of ours
        lines = [
            f"table ip {TABLE}",
            f"delete table ip {TABLE}",
            f"table ip {TABLE} {{",
            *(line for name in (BEGUN, REFUSED) for line in (f"\tcounter {name} {{", "\t}")),
            f"\tchain {IDLE} {{",
            "\t}",
            "\tchain forward {",
            "\t\ttype filter hook forward priority filter; policy drop;",
            "\t\tct state established,related accept",
            f"\t\tjump {IDLE}",
            f'\t\t{begins} counter name "{BEGUN}" accept',
            f'\t\tcounter name "{REFUSED}" drop',
            "\t}",
            *self._translation(),
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _translation(self) -> list[str]:
        clients, servers = self.ports
        match self.spec.nat:
            case "source":
                rule = f'oifname "{servers.device}" snat to {servers.end.device_ip}'
                return _chain("postrouting", "srcnat", rule)
            case "destination":
                number = servers.end.addresses
                chosen = ", ".join(f"{n} : {ip}" for n, ip in enumerate(servers.end.ips))
                protocol = protocol_of(self.case)
                called = f"ip daddr {clients.end.service_ip} {protocol} dport {SERVICE_PORT}"
                turns = f"dnat to numgen inc mod {number} map {{ {chosen} }}"
                rule = f'iifname "{clients.device}" {called} {turns}'
                return _chain("prerouting", "dstnat", rule)
        return []


def idle_rules(first: int, count: int) -> str:
    """Return what adds so many rules that no frame of a test matches."""
    lines = []
    for number in range(FIRST_IDLE + first, FIRST_IDLE + first + count):
        address = ".".join(str(byte) for byte in number.to_bytes(4))
        lines.append(f"add rule ip {TABLE} {IDLE} ip daddr {address} drop\n")
    return "".join(lines)


NO_IDLE_RULES = f"flush chain ip {TABLE} {IDLE}\n"
"""What takes all of them out again."""


FORWARDING = "ipv4/ip_forward"
TIMEOUTS = {
    "time_wait": ("tcp_timeout_time_wait",),
    "udp_timeout": ("udp_timeout", "udp_timeout_stream"),
}
"""By our setting, what the kernel calls it: of UDP it has two, of which flows that have gone on for
two seconds have the second."""


def sysctls(spec: NftablesSpec) -> Mapping[str, str]:
    """Return what the kernel is told of the network besides, by its file below /proc/sys/net."""
    told = {FORWARDING: "1"}
    for wanted, names in TIMEOUTS.items():
        timeout: Duration | None = getattr(spec, wanted)
        if timeout is not None:
            seconds = str(int(timeout.seconds))
            told |= {f"netfilter/nf_conntrack_{name}": seconds for name in names}
    return told


def _chain(hook: str, priority: str, rule: str) -> list[str]:
    return [
        f"\tchain {hook} {{",
        f"\t\ttype nat hook {hook} priority {priority}; policy accept;",
        f"\t\t{rule}",
        "\t}",
    ]


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be; refuse what it cannot do."""
    check_hop(
        design.case,
        design.cpus,
        "routes",
        "it routes: frames of a test are not addressed to it, and begin no connection",
    )
    steps = (
        *hop_steps(design.ports, design.cpus),
        step(
            "tell the kernel which connections pass, and what becomes of their addresses",
            *design.ruleset().splitlines(),
            argv=(*entering(NETWORK), *Nft.READING),
        ),
        step(
            "have it forward between them",
            *(
                f"{name.replace('/', '.')} = {value}"
                for name, value in sysctls(design.spec).items()
            ),
        ),
    )
    return SwitchPlan(steps, hop_endpoints(design.case, design.ports))


_spec_of = reading("vswitch.kind=nftables", NftablesSpec, "a router of nftables")
NETFILTER = 12
"""Protocol of netlink."""
CONNECTIONS, RULES = 1 << 8, 10 << 8
DELETE_CONNECTIONS = CONNECTIONS | 2
GET_TABLES, GET_OBJECTS = RULES | 1, RULES | 19
IPV4 = 2
ANY_FAMILY, IPV4_FAMILY = struct.pack("=BBH", 0, 0, 0), struct.pack("=BBH", IPV4, 0, 0)
TABLE_NAME, OBJECT_NAME, OBJECT_DATA, COUNTER_PACKETS = 1, 2, 4, 2
NESTED = 0x8000
"""Flag of the kind of an attribute that holds others."""
PACKETS = struct.Struct(">Q")
STATISTICS = Path("/proc/thread-self/net/stat/nf_conntrack")
SLAB = "nf_conntrack"
TRACKING = "netfilter/nf_conntrack_"
DROPS = {"drop": "conntrack drop", "chainlength": "conntrack chain too long"}
"""The kernel's count of frames that were dropped for their connection → how it is called: those of
which none could be entered, so where the table is full, or another one has the same addresses and
ports by now; and those whose place in the table is crowded."""
REASONS = {
    "insert_failed": "conntrack insert failed",
    "early_drop": "conntrack early drop",
    "invalid": "conntrack invalid",
    "clashres": "conntrack clash resolved",
}
"""The kernel's count → how it is called, of what explains others: connections that could not be
entered; others that had to leave a full table early; frames of none; two that were made one."""
FACTS = (
    *("max", "buckets", "count"),
    *("acct", "checksum", "events", "tcp_be_liberal", "tcp_loose"),
)
TIMEOUT_FILES = ("nf_conntrack_tcp_timeout_*", "nf_conntrack_udp_timeout*")


@dataclass(frozen=True, slots=True)
class Tracking:
    """What a network counts of its connections, as it stands."""

    drops: dict[str, int]
    """Frames that were dropped, by reason."""
    reasons: dict[str, int]


@dataclass(frozen=True, slots=True)
class Netfilter:
    """nftables and the table of connections of one network."""

    network: str

    def tables(self) -> tuple[str, ...]:
        """Return the names of the tables of nftables for IPv4."""

        def ask() -> tuple[str, ...]:
            found = (message[len(IPV4_FAMILY) :] for message in self._dump(GET_TABLES))
            return tuple(_text(dict(attributes(one))[TABLE_NAME]) for one in found)

        return self._within("which tables nftables has", ask)

    def counted(self) -> dict[str, int]:
        """Return how many frames each counter has seen, by name; empty where there is none."""

        def ask() -> dict[str, int]:
            return counted_in(message[len(IPV4_FAMILY) :] for message in self._dump(GET_OBJECTS))

        return self._within("what nftables counts", ask)

    def forget(self) -> None:
        self._within(
            "to forget all connections", lambda: order(NETFILTER, DELETE_CONNECTIONS, ANY_FAMILY)
        )

    def tracking(self) -> Tracking:
        """Return what is counted of connections; empty where this kernel does not tell."""

        def ask() -> str:
            return STATISTICS.read_text() if STATISTICS.exists() else ""

        return tracking_in(self._within("what it counts of connections", ask))

    def connections(self) -> int:
        return int(setting(self.network, f"{TRACKING}count"))

    def memory_bytes(self) -> int | None:
        """Return what connections take of the kernel's memory, those of all networks together."""
        return slab_memory(SLAB)

    def facts(self) -> dict[str, int]:
        """Return the size of the table, what is in it now, and how long each stays in it [s]."""

        def ask() -> dict[str, int]:
            folder = SYSCTL / "netfilter"
            files = [folder / f"nf_conntrack_{name}" for name in FACTS]
            files += (one for names in TIMEOUT_FILES for one in sorted(folder.glob(names)))
            return {
                one.name.removeprefix("nf_conntrack_"): int(one.read_text())
                for one in files
                if one.exists()
            }

        return self._within("how it tracks connections", ask)

    def _dump(self, kind: int) -> list[bytes]:
        return [*dump(NETFILTER, kind, IPV4_FAMILY)]

    def _within(self, what: str, action: Callable[[], T]) -> T:
        return asked_in(self.network, what, action)


def counted_in(objects: Iterable[bytes]) -> dict[str, int]:
    """Return the frames of each counter, out of all objects that the kernel tells of."""
    found = {}
    for one in objects:
        known = {kind & ~NESTED: content for kind, content in attributes(one)}
        packets = dict(attributes(known.get(OBJECT_DATA, b""))).get(COUNTER_PACKETS)
        if packets is not None and OBJECT_NAME in known:
            found[_text(known[OBJECT_NAME])] = int(PACKETS.unpack(packets)[0])
    return found


def tracking_in(text: str) -> Tracking:
    """Return the sums over all CPUs, which have a line each below the names of the columns."""
    heading, *rows = [line.split() for line in text.splitlines()] or [[]]
    sums = {name: sum(int(row[column], 16) for row in rows) for column, name in enumerate(heading)}
    return Tracking(
        {called: sums[name] for name, called in DROPS.items() if name in sums},
        {called: sums[name] for name, called in REASONS.items() if name in sums},
    )


def _text(content: bytes) -> str:
    return content.rstrip(b"\0").decode(errors="replace")


@dataclass(kw_only=True)
class RunningRouter(RunningHop):
    """The device with its two ports, whoever is at the other ends of the taps."""

    design: Design
    netfilter: Netfilter
    nft: Nft
    rules: str
    """As they are told, with the names of devices."""
    idle: int = 0
    """Rules that were added and that no frame matches."""

    def failure(self) -> str | None:
        if (reason := super().failure()) is not None:
            return reason
        try:
            tables = self.netfilter.tables()
        except ComponentError as error:
            return error.with_why
        return None if TABLE in tables else "its rules of nftables are gone"

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand.

        What was dropped for its connection and what no rule let pass is lost inside, as is what
        explains it: so a connection that failed is found in one of these. What began is counted by
        the frame, so never lower than connections that passed.
        """
        tracking, counted = self.netfilter.tracking(), self.netfilter.counted()
        refused, begun = counted.get(REFUSED), counted.get(BEGUN)
        return SwitchCounters(
            ports=self.hop.counted(),
            drops=tracking.drops | ({} if refused is None else {"no rule lets it pass": refused}),
            connections=None if begun is None else ConnectionCounters(accepted=begun, opened=begun),
            reasons=tracking.reasons,
        )

    def kept(self) -> Kept:
        return Kept(
            entries=self.netfilter.connections(), memory_bytes=self.netfilter.memory_bytes()
        )

    def facts(self) -> dict[str, Any]:
        return {
            "kernel": platform.release(),
            Nft.NAME: self.nft.version(),
            **self.hop.facts(),
            "nat": self.design.spec.nat,
            "service": self.design.service,
            "forwarding_cpus": list(self.design.cpus),
            "connection_tracking": self.netfilter.facts(),
            "rules": self.rules.splitlines(),
        }

    def restart(self, *, kill: bool) -> None:
        """Forward nothing, forget rules and connections, and begin anew; the kernel has no kill."""
        self.hop.settle({FORWARDING: "0"})
        self.idle = 0
        self.nft.read(self.network, self.rules)
        self.netfilter.forget()
        self.settle()

    def forget_flows(self) -> None:
        self.netfilter.forget()

    def change_rules(self, count: int) -> None:
        if count < 0:
            self.nft.read(self.network, NO_IDLE_RULES)
            self.idle = 0
            return
        self.nft.read(self.network, idle_rules(self.idle, count))
        self.idle += count

    def access(self) -> tuple[str, ...]:
        before = " ".join(entering(self.network))
        return (
            f"{before} {self.nft.path} list ruleset",
            f"{before} cat /proc/net/stat/nf_conntrack",
            f"ip -netns {self.network} -statistics link",
        )

    def settle(self) -> None:
        """Tell the kernel all that is told it of the network beside rules: forwarding begins."""
        self.hop.settle(sysctls(self.design.spec))


CHECKS = (Check(Nft.NAME, Group.PROGRAMS, Nft.doctor),)
"""Not among the checks of a run: the driver tries it itself before it starts."""


class Nftables(VSwitch):
    """Deploys a router of the Linux kernel that tracks connections by nftables."""

    kind = "nftables"
    summary = (
        "a router of the Linux kernel that tracks connections: a firewall, a NAT or a load "
        "balancer by nftables"
    )
    Spec = NftablesSpec
    wants = WANTS
    checks = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(_spec_of(case).cpus)

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        Nft.require()

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningRouter]:
        self.require(case)
        design = Design(case, _spec_of(case), placement)
        return running_hop(design, workspace, partial(_told, design, workspace))


def _told(design: Design, workspace: Workspace, hop: Hop) -> RunningRouter:
    """Tell the kernel what becomes of connections: it forwards once it has its rules."""
    running = RunningRouter(
        hop=hop,
        who="the router",
        workspace=workspace,
        design=design,
        netfilter=Netfilter(hop.network),
        nft=Nft.find(),
        rules=workspace.fill(design.ruleset()),
    )
    running.nft.read(hop.network, running.rules)
    running.settle()
    return running
