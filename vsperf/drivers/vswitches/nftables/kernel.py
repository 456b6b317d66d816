"""Talks to the kernel about the router's network: devices, rules, and what is tracked there."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import TimeoutExpired

from vsperf.config.connections import NETWORK_BITS
from vsperf.drivers.vswitches.nftables.plan import MTU, RouterPort
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.netns import apart
from vsperf.host.veth import routes
from vsperf.trust.programs import program_path
from vsperf.waits import run

NFT = "nft"
PATIENCE_S = 30.0
FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
NETFILTER = Path("/proc/sys/net/netfilter")
DEVICES = Path("/proc/thread-self/net/dev")
TRACKED = Path("/proc/thread-self/net/stat/nf_conntrack")
PERMANENT = 0x80
"""State of a neighbour that nobody asks for."""
TRIED = """table ip vsperf {
chain tried {
type nat hook postrouting priority srcnat;
ct state new snat to 198.18.0.1
}
}
"""
"""What a kernel has to take that is to be a router of this kind."""


def nft_program() -> str:
    """Return where nft is, or raise `NotReadyError`."""
    place = program_path(NFT)
    if place is None:
        raise NotReadyError(
            "the program nft cannot be run", why="it is not installed", fix="apt install nftables"
        )
    return place


def nft_version() -> str:
    """Return what nft says of itself."""
    found = re.match(r"nftables v(\S+)", run([nft_program(), "--version"], PATIENCE_S).stdout)
    return found[1] if found else "unknown"


def load(rules: str) -> None:
    """Replace all rules of this thread's network."""
    try:
        ended = run([nft_program(), "-f", "-"], PATIENCE_S, given=rules)
    except TimeoutExpired as error:
        raise ComponentError(f"nft did not end within {PATIENCE_S:g} s") from error
    if ended.returncode:
        first = ended.stderr.strip().partition("\n")[0]
        raise ComponentError("the kernel did not take the rules of its router", why=first)


def require_nat() -> None:
    """Raise `NotReadyError` where this kernel rewrites no addresses, or not for this user."""
    nft_program()
    try:
        apart(partial(load, TRIED))
    except OSError as error:
        raise NotReadyError(
            "cannot make a network apart, in which rules could be tried",
            why=error.strerror or str(error),
            fix="run vsperf with sudo",
        ) from error
    except ComponentError as error:
        raise NotReadyError(
            "this kernel rewrites no addresses by nftables",
            why=error.with_why,
            fix="modprobe nf_tables; modprobe nft_nat; modprobe nf_conntrack",
        ) from error


def configure(port: RouterPort, device: str) -> None:
    """Give a port its addresses, and tell it who is behind it; in the router's network.

    Only once the generator holds the tap: DPDK gives a tap that it opens an address of its own.
    """
    index = socket.if_nametoindex(device)
    with routes() as netlink:
        netlink.link("set", index=index, address=port.mac, arp=True, mtu=MTU, state="up")
        netlink.addr("replace", index=index, address=port.end.device_ip, prefixlen=NETWORK_BITS)
        for ip in port.end.ips:
            netlink.neigh("replace", ifindex=index, dst=ip, lladdr=port.end.mac, state=PERMANENT)


def move(device: str, network_file: Path) -> None:
    """Move a device of the host into a network."""
    descriptor = os.open(network_file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with routes() as netlink:
            index = socket.if_nametoindex(device)
            netlink.link("set", index=index, net_ns_fd=descriptor)
    finally:
        os.close(descriptor)


def device_rows() -> dict[str, tuple[int, ...]]:
    """Return what the kernel counted at each device of this thread's network."""
    found = {}
    for line in DEVICES.read_text().splitlines()[2:]:
        name, _, rest = line.partition(":")
        found[name.strip()] = tuple(map(int, rest.split()))
    return found


def carriers() -> frozenset[str]:
    """Return the devices of this thread's network whose other end somebody holds."""
    with routes() as netlink:
        links = netlink.get_links()
    return frozenset(
        str(link.get_attr("IFLA_IFNAME")) for link in links if link.get_attr("IFLA_CARRIER")
    )


def tracked() -> dict[str, int]:
    """Return what the kernel counted of connections that it tracks, over all of its CPUs."""
    names, *rows = TRACKED.read_text().splitlines()
    columns = names.split()
    sums = dict.fromkeys(columns, 0)
    for row in rows:
        for name, value in zip(columns, row.split(), strict=True):
            sums[name] += int(value, 16)
    return sums


def forget() -> None:
    """Forget all connections of this thread's network."""
    from pyroute2.netlink.nfnetlink.nfctsocket import NFCTSocket

    with NFCTSocket() as table:
        table.flush()


def set_sysctl(name: str, value: int) -> None:
    """Set something of the tracking of connections in this thread's network."""
    (NETFILTER / name).write_text(f"{value}\n")


def sysctls() -> dict[str, int]:
    """Return what bounds the table of this thread's network, and how long it remembers."""
    names = ("nf_conntrack_max", "nf_conntrack_buckets", *_timeouts())
    return {name: int((NETFILTER / name).read_text()) for name in names}


def _timeouts() -> Iterator[str]:
    for state in ("syn_sent", "established", "time_wait"):
        yield f"nf_conntrack_tcp_timeout_{state}"


@contextmanager
def refused(what: str) -> Iterator[None]:
    """Say what the kernel was asked when it refuses."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise ComponentError(f"the kernel was asked {what}, and refused", why=why) from error
