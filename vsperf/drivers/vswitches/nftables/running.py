"""A router that tracks connections: whether it still does, what is counted, and what it is."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from vsperf.drivers.vswitches.kernel_ports import MTU, await_ports, counted
from vsperf.drivers.vswitches.nftables.layout import (
    NO_IDLE_RULES,
    TABLE,
    Design,
    idle_rules,
    sysctls,
)
from vsperf.drivers.vswitches.nftables.netfilter import Addresses, Netfilter
from vsperf.drivers.vswitches.nftables.program import NAME, Nft, entering
from vsperf.errors import ComponentError
from vsperf.host.devices import Device
from vsperf.records.switch import Kept, SwitchCounters

FORWARDING = "ipv4/ip_forward"


@dataclass
class RunningRouter:
    """The device with its two ports, whoever is at the other ends of the taps."""

    design: Design
    network: str
    devices: Mapping[str, str]
    """The tap of each link."""
    talk: Addresses
    netfilter: Netfilter
    nft: Nft
    rules: str
    """As they are told, with the names of devices."""
    look: Callable[[], None] = lambda: None
    """Raises when another part of the deployment has ended."""
    idle: int = 0
    """Rules that were added and that no frame matches."""
    stopped: bool = False

    def failure(self) -> str | None:
        if self.stopped:
            return "the switch was stopped"
        try:
            found, tables = self.talk.devices(), self.netfilter.tables()
        except ComponentError as error:
            return error.with_why
        gone = [link for link, device in self.devices.items() if device not in found]
        if gone:
            return f"the tap of {gone[0]} is gone"
        return None if TABLE in tables else "its rules of nftables are gone"

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        waiting = partial(self._waiting_for, places)
        await_ports(waiting, self.failure, self.look, patience_s, "the router")

    def next_hops(self) -> Mapping[str, str]:
        found = self.talk.devices()
        return {link: self._device(found, link).mac for link in self.devices}

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand.

        What was dropped for its connection and what no rule let pass is lost inside, as is what
        explains it: so a connection that failed is found in one of these.
        """
        found, tracking = self.talk.devices(), self.netfilter.tracking()
        refused = self.netfilter.refused()
        return SwitchCounters(
            ports=tuple(
                counted(port.place, self._device(found, port.place.name))
                for port in self.design.ports
            ),
            drops=tracking.drops | ({} if refused is None else {"no rule lets it pass": refused}),
            reasons=tracking.reasons,
        )

    def kept(self) -> Kept:
        return Kept(
            entries=self.netfilter.connections(), memory_bytes=self.netfilter.memory_bytes()
        )

    def facts(self) -> dict[str, Any]:
        found = self.talk.devices()
        return {
            "kernel": platform.release(),
            NAME: self.nft.version(),
            "network": self.network,
            "nat": self.design.spec.nat,
            "service": self.design.service,
            "mtu": MTU,
            "forwarding_cpus": list(self.design.cpus),
            "connection_tracking": self.netfilter.facts(),
            "rules": self.rules.splitlines(),
            "ports": [
                {
                    "place": port.place.name,
                    "device": self.devices[port.place.name],
                    "mac": self._device(found, port.place.name).mac,
                    "address": port.address,
                }
                for port in self.design.ports
            ],
        }

    def restart(self, *, kill: bool) -> None:
        """Forward nothing, forget rules and connections, and begin anew; the kernel has no kill."""
        self.netfilter.write(FORWARDING, "0")
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
        for name, value in sysctls(self.design.spec).items():
            self.netfilter.write(name, value)

    def _waiting_for(self, places: tuple[str, ...]) -> list[str]:
        found = self.talk.devices()
        awaited = {link: found.get(device) for link, device in self.devices.items()}
        return [
            link
            for link, device in awaited.items()
            if link in places and (device is None or not device.held)
        ]

    def _device(self, found: Mapping[str, Device], link: str) -> Device:
        device = found.get(self.devices[link])
        if device is None:
            raise ComponentError(f"the tap of {link} is gone, and nobody counts there")
        return device
