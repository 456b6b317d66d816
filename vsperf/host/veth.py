"""Pairs of network devices that are joined: what one sends, the other receives.

Asked of the kernel by netlink. A place at the end of a link has one end, and the switch the other;
or it is handed a device whose other end the switch holds.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from ipaddress import IPv4Network
from typing import Any

from vsperf.host.tuntap import is_there


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
