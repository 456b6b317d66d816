"""Talks to the kernel about devices and bridges, by netlink, in the network of a deployment."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.netns import apart, path_of, within

FORWARDING = 3
"""State of a bridge's port that neither listens nor learns any more, and is not switched off."""
STATISTICS = ("rx_packets", "tx_packets", "rx_dropped", "tx_dropped", "rx_errors", "tx_errors")
HUNDREDTHS = 10_000_000
"""Nanoseconds of the unit in which the kernel counts the age of addresses."""


@dataclass(frozen=True, slots=True)
class Device:
    """A network device as it is now."""

    name: str
    index: int
    master: int | None
    """Number of the bridge that it is a port of."""
    state: int | None
    """Of a bridge's port."""
    counted: dict[str, int]
    """What the kernel counts, of those names that it knows."""


class Netlink:
    """A conversation with the kernel; whatever it refuses is a `ComponentError`."""

    def __init__(self, routes: Any) -> None:
        self._routes = routes

    def devices(self) -> dict[str, Device]:
        """Return all devices by name."""
        with _told("which devices there are"):
            found = [_device(link) for link in self._routes.get_links()]
        return {device.name: device for device in found}

    def move(self, name: str, network: str) -> None:
        """Hand a device to another network."""
        with _told(f"to hand {name} to another network"):
            descriptor = os.open(path_of(network), os.O_RDONLY | os.O_CLOEXEC)
            try:
                self._routes.link("set", index=self._index(name), net_ns_fd=descriptor)
            finally:
                os.close(descriptor)

    def add_bridge(self, name: str, *, ageing_ns: int, mtu: int) -> None:
        """Make a bridge that forwards at once, and looks at nothing but addresses."""
        with _told(f"to make the bridge {name}"):
            self._routes.link(
                "add",
                ifname=name,
                kind="bridge",
                mtu=mtu,
                br_stp_state=0,
                br_forward_delay=0,
                br_ageing_time=max(1, ageing_ns // HUNDREDTHS),
                br_mcast_snooping=0,
            )
            self._routes.link("set", index=self._index(name), state="up")

    def remove(self, name: str) -> None:
        """Remove a device."""
        with _told(f"to remove {name}"):
            self._routes.link("del", index=self._index(name))

    def join(self, name: str, bridge: str, *, learns: bool, floods: bool) -> None:
        """Make a device a port of a bridge."""
        with _told(f"to make {name} a port of {bridge}"):
            index = self._index(name)
            self._routes.link("set", index=index, master=self._index(bridge))
            self._routes.brport(
                "set",
                index=index,
                learning=int(learns),
                unicast_flood=int(floods),
                mcast_flood=int(floods),
                bcast_flood=int(floods),
            )
            self._routes.link("set", index=index, state="up")

    def know(self, name: str, addresses: Iterable[str]) -> None:
        """Tell a bridge that these addresses are behind a port."""
        self._entries("add", name, addresses)

    def forget(self, name: str, addresses: Iterable[str]) -> None:
        """Take these addresses out again."""
        self._entries("del", name, addresses)

    def forget_learned(self, name: str) -> None:
        """Have a bridge forget what it has learned behind a port."""
        with _told(f"to forget the addresses behind {name}"):
            self._routes.brport("set", index=self._index(name), flush=True)

    def close(self) -> None:
        """End the conversation."""
        self._routes.close()

    def _entries(self, verb: str, name: str, addresses: Iterable[str]) -> None:
        from pyroute2.netlink.rtnl.ndmsg import flags, states

        with _told(f"to {verb} addresses behind {name}"):
            index = self._index(name)
            for address in addresses:
                self._routes.fdb(
                    verb,
                    ifindex=index,
                    lladdr=address,
                    flags=flags["master"],
                    state=states["noarp"] | states["reachable"],
                )

    def _index(self, name: str) -> int:
        found = self._routes.link_lookup(ifname=name)
        if not found:
            raise ComponentError(f"there is no network device {name}")
        return int(found[0])


@contextmanager
def connected(network: str | None = None) -> Iterator[Netlink]:
    """Talk about the devices of a network; of the host's where none is named."""
    from pyroute2 import IPRoute

    descriptor = _socket() if network is None else within(network, _socket)
    netlink = Netlink(IPRoute(fileno=descriptor))
    try:
        yield netlink
    finally:
        netlink.close()


def require_bridges() -> None:
    """Raise `NotReadyError` where this kernel makes no bridges, or not for this user."""

    def try_one() -> None:
        with connected() as netlink:
            netlink.add_bridge("br0", ageing_ns=HUNDREDTHS, mtu=1500)

    try:
        apart(try_one)
    except OSError as error:
        raise NotReadyError(
            "cannot make a network apart, in which a bridge could be tried",
            why=error.strerror or str(error),
            fix="run vsperf with sudo",
        ) from error
    except ComponentError as error:
        raise NotReadyError(
            "this kernel makes no bridge", why=error.with_why, fix="modprobe bridge"
        ) from error


def _socket() -> int:
    """Open a socket in the network of this thread."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, socket.NETLINK_ROUTE).detach()


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say what the kernel was asked when it refuses."""
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        yield
    except NetlinkError as error:
        why = os.strerror(error.code) if error.code else str(error)
        raise ComponentError(f"the kernel was asked {what}, and refused", why=why) from error


def _device(link: Any) -> Device:
    counted = link.get_attr("IFLA_STATS64") or {}
    master = link.get_attr("IFLA_MASTER")
    return Device(
        name=str(link.get_attr("IFLA_IFNAME")),
        index=int(link["index"]),
        master=None if master is None else int(master),
        state=_port_state(link),
        counted={name: int(counted[name]) for name in STATISTICS if name in counted},
    )


def _port_state(link: Any) -> int | None:
    info = link.get_attr("IFLA_LINKINFO")
    slave = None if info is None else info.get_attr("IFLA_INFO_SLAVE_DATA")
    if slave is None or not hasattr(slave, "get_attr"):
        return None
    state = slave.get_attr("IFLA_BRPORT_STATE")
    return None if state is None else int(state)
