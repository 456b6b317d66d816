"""A router that forwards: whether it still does, what the kernel counts, and what it is."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from vsperf.drivers.vswitches.nftables import kernel
from vsperf.drivers.vswitches.nftables.plan import MTU, Design, RouterPort
from vsperf.errors import ComponentError, DiedError
from vsperf.host.netns import within
from vsperf.records.switch import PortCounters, SwitchCounters
from vsperf.waits import sleep

POLL_S = 0.01
RECEIVED, SENT = 1, 9
"""Columns of frames in the kernel's table of devices."""
LOST = {2: "rx errors", 3: "rx dropped", 10: "tx errors", 11: "tx tap full"}
DROPPED = {"drop": "connection table full", "insert_failed": "connection not entered"}
"""The kernel's name of a counter of its tracking → why packets were dropped there."""
BESIDE = {"early_drop": "connections that made room for others", "invalid": "of no connection"}
"""What it counts that is no packet which was dropped there."""


@dataclass
class RunningRouter:
    """A router with its ports, whoever is at the other ends of the taps."""

    design: Design
    network: str
    devices: Mapping[str, str]
    """The tap of each port, by its link."""
    look: Callable[[], None] = lambda: None
    """Raises when another part of the deployment has ended."""
    idle: int = 0
    """Rules that were added and that no packet matches."""
    stopped: bool = False

    def next_hops(self) -> Mapping[str, str]:
        return {port.link: port.mac for port in self.design.ports}

    def failure(self) -> str | None:
        if self.stopped:
            return "the switch was stopped"
        try:
            found = within(self.network, kernel.device_rows)
        except OSError as error:
            return f"its network is gone: {error.strerror or error}"
        gone = [port.link for port in self.design.ports if self._tap(port) not in found]
        return f"the tap of {', '.join(gone)} is gone" if gone else None

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        awaited = [port for port in self.design.ports if port.link in places]
        while waiting := self._waiting_for(awaited):
            if (reason := self.failure()) is not None:
                raise DiedError("the switch failed while it took up its ports", why=reason)
            self.look()
            if time.monotonic() > deadline:
                raise ComponentError(
                    f"port {', '.join(waiting)} of the router did not come up within "
                    f"{patience_s:g} s",
                    why="nobody holds the other end of its tap",
                )
            sleep(POLL_S)  # between two looks at a condition, never instead of one
        with kernel.refused("to give ports their addresses"):
            for port in awaited:
                within(self.network, partial(kernel.configure, port, self._tap(port)))

    def counters(self) -> SwitchCounters:
        with kernel.refused("what it counts"):
            rows, tracked = within(self.network, lambda: (kernel.device_rows(), kernel.tracked()))
        if self.failure() is not None:
            raise ComponentError("a tap of the router is gone, and nobody counts there")
        return SwitchCounters(
            ports=tuple(_port(port, rows[self._tap(port)]) for port in self.design.ports),
            drops={reason: tracked[name] for name, reason in DROPPED.items() if name in tracked},
            reasons={reason: tracked[name] for name, reason in BESIDE.items() if name in tracked},
        )

    def facts(self) -> dict[str, Any]:
        return {
            "kernel": platform.release(),
            "nft": kernel.nft_version(),
            "network": self.network,
            "nat": self.design.spec.nat,
            "connection_table": within(self.network, kernel.sysctls),
            "mtu": MTU,
            "forwarding_cpus": list(self.design.cpus),
            "ports": [
                {"link": port.link, "device": self._tap(port), "mac": port.mac}
                for port in self.design.ports
            ],
        }

    def restart(self, *, kill: bool) -> None:
        """Give it its rules anew, and have it forget what it tracks: the kernel goes on."""
        self.idle = 0
        self._load()
        self.forget_flows()

    def forget_flows(self) -> None:
        with kernel.refused("to forget connections"):
            within(self.network, kernel.forget)

    def change_rules(self, count: int) -> None:
        self.idle = max(0, self.idle + count)
        self._load()

    def access(self) -> tuple[str, ...]:
        enter = f"ip netns exec {self.network}"
        return (f"{enter} nft list ruleset", f"{enter} cat /proc/net/stat/nf_conntrack")

    def _load(self) -> None:
        rules = self.design.rules(dict(self.devices), self.idle)
        with kernel.refused("to take rules"):
            within(self.network, partial(kernel.load, rules))

    def _waiting_for(self, ports: list[RouterPort]) -> list[str]:
        with kernel.refused("which devices it has"):
            held = within(self.network, kernel.carriers)
        return [port.link for port in ports if self._tap(port) not in held]

    def _tap(self, port: RouterPort) -> str:
        return self.devices[port.link]


def _port(port: RouterPort, row: tuple[int, ...]) -> PortCounters:
    return PortCounters(
        name=port.link,
        link=port.link,
        received_frames=row[RECEIVED],
        sent_frames=row[SENT],
        drops={reason: row[column] for column, reason in LOST.items()},
    )
