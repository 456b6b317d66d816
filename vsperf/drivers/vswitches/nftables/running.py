"""A router that tracks connections: whether it still does, what is counted, and what it is."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

from vsperf.drivers.vswitches.hops import RunningHop
from vsperf.drivers.vswitches.nftables.layout import (
    BEGUN,
    NO_IDLE_RULES,
    REFUSED,
    TABLE,
    Design,
    idle_rules,
    sysctls,
)
from vsperf.drivers.vswitches.nftables.netfilter import Netfilter
from vsperf.drivers.vswitches.nftables.program import Nft
from vsperf.errors import ComponentError
from vsperf.host.netns import entering
from vsperf.records.switch import ConnectionCounters, Kept, SwitchCounters

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
