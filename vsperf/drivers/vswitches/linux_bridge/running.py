"""Bridges that forward: whether they still do, what the kernel counts, and what they are."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from vsperf.drivers.vswitches.kernel_ports import MTU, await_ports, counted
from vsperf.drivers.vswitches.linux_bridge.layout import BridgePort, Design
from vsperf.drivers.vswitches.linux_bridge.netlink import FORWARDING, Netlink
from vsperf.errors import ComponentError
from vsperf.records.switch import SwitchCounters

IDLE_MAC = "06:00:00:{:02x}:{:02x}:{:02x}"
"""Addresses that no frame of a test has."""


@dataclass
class RunningBridge:
    """Bridges with their ports, whoever is at the other ends of the taps."""

    design: Design
    network: str
    devices: Mapping[str, str]
    """The tap of each port, by what the topology calls it."""
    netlink: Netlink
    make_again: Callable[[], None]
    """Removes the bridges, and makes them anew."""
    look: Callable[[], None] = lambda: None
    """Raises when another part of the deployment has ended."""
    idle: int = 0
    """Addresses that were added and that no frame is for."""
    stopped: bool = False

    def failure(self) -> str | None:
        if self.stopped:
            return "the switch was stopped"
        try:
            found = self.netlink.devices()
        except ComponentError as error:
            return error.with_why
        for port in self.design.ports:
            device, bridge = found.get(self._tap(port)), found.get(port.bridge)
            if bridge is None:
                return f"the bridge {port.bridge} is gone"
            if device is None:
                return f"the tap of {port.place.name} is gone"
            if device.master != bridge.index:
                return f"{port.place.name} is no port of {port.bridge} any more"
        return None

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        waiting = partial(self._waiting_for, places)
        await_ports(waiting, self.failure, self.look, patience_s, "the bridge")

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand; how busy the kernel is with it, it does not say."""
        found = self.netlink.devices()
        gone = [one.place.name for one in self.design.ports if self._tap(one) not in found]
        if gone:
            raise ComponentError(f"the tap of {gone[0]} is gone, and nobody counts there")
        return SwitchCounters(
            ports=tuple(counted(one.place, found[self._tap(one)]) for one in self.design.ports)
        )

    def facts(self) -> dict[str, Any]:
        return {
            "kernel": platform.release(),
            "network": self.network,
            "bridges": {name: list(ports) for name, ports in self.design.bridges.items()},
            "learns": self.design.learns,
            "mtu": MTU,
            "forwarding_cpus": list(self.design.cpus),
            "ports": [
                {"place": port.place.name, "device": self._tap(port), "bridge": port.bridge}
                for port in self.design.ports
            ],
        }

    def restart(self, *, kill: bool) -> None:
        """Remove the bridges and make them anew; the kernel ends them kindly in any case."""
        self.idle = 0
        self.make_again()

    def forget_flows(self) -> None:
        if self.design.learns:
            for device in self.devices.values():
                self.netlink.forget_learned(device)

    def change_rules(self, count: int) -> None:
        device = next(iter(self.devices.values()))
        if count < 0:
            self.netlink.forget(device, _idle_macs(0, self.idle))
            self.idle = 0
            return
        self.netlink.know(device, _idle_macs(self.idle, count))
        self.idle += count

    def processes(self) -> tuple[int, ...]:
        """Return none: the kernel forwards nothing while nobody sends."""
        return ()

    def access(self) -> tuple[str, ...]:
        return (
            f"ip -netns {self.network} -statistics link",
            f"bridge -netns {self.network} fdb show",
        )

    def _waiting_for(self, places: tuple[str, ...]) -> list[str]:
        found = self.netlink.devices()
        states = {place: found.get(device) for place, device in self.devices.items()}
        return [
            place
            for place, device in states.items()
            if place in places and (device is None or device.state != FORWARDING)
        ]

    def _tap(self, port: BridgePort) -> str:
        return self.devices[port.place.name]


def _idle_macs(first: int, count: int) -> Iterator[str]:
    for number in range(first, first + count):
        yield IDLE_MAC.format(number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF)
