"""Devices of places: pairs that are made with a promise to remove them, and what is handed over."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from vsperf.errors import NotReadyError
from vsperf.host.netns import path_of
from vsperf.host.undo import RemoveVeth
from vsperf.host.veth import routes
from vsperf.host.workspace import Workspace


@dataclass(frozen=True, slots=True)
class FarEnd:
    """The device that is in a place, such as the end of a pair."""

    network: str
    """By name; it is there already. That of the host without one."""
    device: str
    mac: str
    mtu: int

    @contextmanager
    def _told(self) -> Iterator[dict[str, Any]]:
        """Give what the kernel is told of it, while its network is open."""
        descriptor = os.open(path_of(self.network), os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield {
                "ifname": self.device,
                "net_ns_fd": descriptor,
                "address": self.mac,
                "mtu": self.mtu,
            }
        finally:
            os.close(descriptor)


@contextmanager
def veth(name: str, workspace: Workspace, *, mtu: int, far: FarEnd) -> Iterator[None]:
    """Give a pair for the time of the context; whoever uses either end must end before."""
    with workspace.undoing(RemoveVeth(name=name)):
        joined(name, workspace, mtu=mtu, far=far)
        yield


def joined(name: str, workspace: Workspace, *, mtu: int, far: FarEnd) -> None:
    """Make a pair without a promise, in a network that goes with both ends.

    One end is here, up and silent, and the other one in its network, down.
    """
    with (
        NotReadyError.if_refused(
            f"cannot make the pair of devices {name}, which leads to a port of the switch",
            fix="run vsperf with sudo, on a kernel with veth (CONFIG_VETH, modprobe veth)",
        ),
        far._told() as far_end,
        routes() as found,
    ):
        found.link("add", ifname=name, kind="veth", mtu=mtu, peer=far_end)
        index = socket.if_nametoindex(name)
        with suppress(OSError):  # a help for people, and no more
            found.link("set", index=index, ifalias=workspace.name)
        found.link("set", index=index, arp=False, state="up")


def handed(name: str, *, far: FarEnd) -> None:
    """Give a place a device of this network, whose removal its own network's, or a promise, is.

    All in one request: so it is never there under a name that nobody promised to remove, and here
    it is told to be gone under the name that its holder knows it by. A holder that saw it renamed
    before would take it for one of its own network that is down, as OVS does, and send nothing to
    it.
    """
    with (
        NotReadyError.if_refused(
            f"the device {name} cannot be given to a place",
            fix="run vsperf with sudo; or have pairs of devices: --set vswitch.ports=packet",
        ),
        far._told() as there,
        routes() as found,
    ):
        found.link("set", index=socket.if_nametoindex(name), **there)
