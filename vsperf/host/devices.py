"""Network devices of one network of the kernel, by netlink: who they are, and what they count.

Drivers of what the kernel forwards talk about more, each of its own: bridges, or addresses.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from vsperf.errors import ComponentError
from vsperf.host.netns import path_of, within

STATISTICS = ("rx_packets", "tx_packets", "rx_dropped", "tx_dropped", "rx_errors", "tx_errors")
PERMANENT = 0x80
"""State of a neighbour that nobody asks for."""


@dataclass(frozen=True, slots=True)
class Device:
    """A network device as it is now."""

    name: str
    index: int
    mac: str
    held: bool
    """Whether there is somebody at the other end: whoever holds a tap, or the peer of a cable."""
    master: int | None
    """Number of the bridge that it is a port of."""
    state: int | None
    """Of a bridge's port."""
    counted: dict[str, int]
    """What the kernel counts, of those names that it knows."""


class Devices:
    """A conversation with the kernel; whatever it refuses is a `ComponentError`."""

    def __init__(self, routes: Any) -> None:
        self._routes = routes

    @classmethod
    @contextmanager
    def connected(cls, network: str | None = None) -> Iterator[Self]:
        """Talk about the devices of a network; of the host's where none is named."""
        from pyroute2 import IPRoute

        descriptor = _socket() if network is None else within(network, _socket)
        talking = cls(IPRoute(fileno=descriptor))
        try:
            yield talking
        finally:
            talking.close()

    def devices(self) -> dict[str, Device]:
        with told("which devices there are"):
            found = [_device(link) for link in self._routes.get_links()]
        return {device.name: device for device in found}

    def move(self, name: str, network: str) -> None:
        with told(f"to hand {name} to another network"):
            descriptor = os.open(path_of(network), os.O_RDONLY | os.O_CLOEXEC)
            try:
                self._routes.link("set", index=self._index(name), net_ns_fd=descriptor)
            finally:
                os.close(descriptor)

    def bring_up(self, name: str) -> None:
        """Have a device take and send frames."""
        with told(f"to bring {name} up"):
            self._routes.link("set", index=self._index(name), state="up")

    def remove(self, name: str) -> None:
        with told(f"to remove {name}"):
            self._routes.link("del", index=self._index(name))

    def close(self) -> None:
        self._routes.close()

    def _index(self, name: str) -> int:
        found = self._routes.link_lookup(ifname=name)
        if not found:
            raise ComponentError(f"there is no network device {name}")
        return int(found[0])


@contextmanager
def told(what: str) -> Iterator[None]:
    """Say what the kernel was asked when it refuses."""
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        yield
    except NetlinkError as error:
        why = os.strerror(error.code) if error.code else str(error)
        raise ComponentError(f"the kernel was asked {what}, and refused", why=why) from error


def _socket() -> int:
    """Open a socket in the network of this thread."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, socket.NETLINK_ROUTE).detach()


def _device(link: Any) -> Device:
    counted = link.get_attr("IFLA_STATS64") or {}
    master = link.get_attr("IFLA_MASTER")
    return Device(
        name=str(link.get_attr("IFLA_IFNAME")),
        index=int(link["index"]),
        mac=str(link.get_attr("IFLA_ADDRESS") or ""),
        held=bool(link.get_attr("IFLA_CARRIER")),
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
