"""The driver: a router of the kernel for each case, in a network of its own that ends with it."""

from __future__ import annotations

import platform
import struct
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import reading
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch
from vsperf.drivers.vswitches.hops import (
    SYSCTL,
    WANTS,
    Hop,
    RunningHop,
    T,
    asked_in,
    running_hop,
    setting,
    slab_memory,
)
from vsperf.drivers.vswitches.kernel_ports import needs_of
from vsperf.drivers.vswitches.nftables.layout import (
    BEGUN,
    NO_IDLE_RULES,
    REFUSED,
    TABLE,
    Design,
    Nft,
    NftablesSpec,
    idle_rules,
    switch_plan,
    sysctls,
)
from vsperf.errors import ComponentError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Check, Group
from vsperf.host.netlink import attributes, dump, order
from vsperf.host.netns import entering
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement
from vsperf.records.switch import ConnectionCounters, Kept, SwitchCounters

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
TIMEOUTS = ("nf_conntrack_tcp_timeout_*", "nf_conntrack_udp_timeout*")


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
            files += (one for names in TIMEOUTS for one in sorted(folder.glob(names)))
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


FORWARDING = "ipv4/ip_forward"


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
