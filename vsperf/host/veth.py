"""Pairs of network devices that are joined: what one sends, the other receives.

Asked of the kernel by netlink. A place at the end of a link has one end, and the switch the other;
or it is handed a device whose other end the switch holds.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from ipaddress import IPv4Network
from typing import Any

from vsperf.host.netns import path_of
from vsperf.host.tuntap import is_there


def make_veth(  # noqa: PLR0913 - named arguments, each of its own
    name: str, *, mtu: int, label: str, far: str, far_network: str, far_mac: str, far_mtu: int
) -> None:
    """Make a pair: one end here, up and silent, the other one in a network of that name, down.

    Raises OSError, also where one is called so already. `label` says to people whose it is.
    """
    descriptor = os.open(path_of(far_network), os.O_RDONLY | os.O_CLOEXEC)
    try:
        with routes() as found:
            far_end = {"ifname": far, "net_ns_fd": descriptor, "address": far_mac, "mtu": far_mtu}
            found.link("add", ifname=name, kind="veth", mtu=mtu, peer=far_end)
            index = socket.if_nametoindex(name)
            with suppress(OSError):  # a help for people, and no more
                found.link("set", index=index, ifalias=label)
            found.link("set", index=index, arp=False, state="up")
    finally:
        os.close(descriptor)


def hand_over(name: str, *, far: str, far_network: str, far_mac: str, far_mtu: int) -> None:
    """Give a device of this network to the one of that name, as the end of a pair would be there.

    All in one request: so it is never there under a name that nobody promised to remove, and here
    it is told to be gone under the name that its holder knows it by. A holder that saw it renamed
    before would take it for one of its own network that is down, as OVS does, and send nothing to
    it. Raises OSError, also where one is called so already.
    """
    descriptor = os.open(path_of(far_network), os.O_RDONLY | os.O_CLOEXEC)
    try:
        with routes() as found:
            index = socket.if_nametoindex(name)
            there = {"net_ns_fd": descriptor, "ifname": far, "address": far_mac, "mtu": far_mtu}
            found.link("set", index=index, **there)
    finally:
        os.close(descriptor)


def remove_veth(name: str) -> None:
    """Remove a pair by the end that is here, if it is, or a device that was given; raises OSError.

    One that a daemon holds may go with it meanwhile.
    """
    if not is_there(name):
        return
    try:
        with routes() as found:
            found.link("del", index=socket.if_nametoindex(name))
    except OSError:
        if is_there(name):
            raise


def known_in(network: str) -> tuple[str, ...]:
    """Return addresses of this thread's network, and networks that it has ways to, within one."""
    with routes() as found:
        ends = [(one.get_attr("IFA_LOCAL"), 32) for one in found.get_addr(family=socket.AF_INET)]
        ways = [
            (one.get_attr("RTA_DST"), one["dst_len"])
            for one in found.get_routes(family=socket.AF_INET)
        ]
    every = (f"{address}/{bits}" for address, bits in (*ends, *ways) if address is not None)
    wanted = IPv4Network(network)
    inside = (one for one in every if IPv4Network(one, strict=False).subnet_of(wanted))
    return tuple(dict.fromkeys(inside))


@contextmanager
def routes() -> Iterator[Any]:
    """Talk to the kernel about devices of this thread's network; what it refuses is an OSError."""
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    descriptor = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, socket.NETLINK_ROUTE).detach()
    try:
        with closing(IPRoute(fileno=descriptor)) as found:
            yield found
    except NetlinkError as error:
        raise OSError(error.code, os.strerror(error.code) if error.code else str(error)) from error
