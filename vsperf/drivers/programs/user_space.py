"""A server of HTTP in user space, in nginx's place: tgen, which polls and has a stack of its own.

It answers each request of a connection with the same object, on one CPU that it never leaves. It
says nothing of requests until it is ended, so what its client told is what there is.
"""

from __future__ import annotations

import json
from pathlib import Path

from vsperf.config.case import CaseSpec
from vsperf.config.places import place_ip, place_mac, place_mtu
from vsperf.config.wiring import directions_of
from vsperf.drivers.generators.dpdk_ports import reaching
from vsperf.drivers.programs import serve_user_space
from vsperf.drivers.programs.base import Rendezvous
from vsperf.drivers.vswitches.ports import PLACE_DEVICE
from vsperf.errors import UsageError
from vsperf.host.own_program import OwnProgram
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.trust import own_python

TGEN = OwnProgram("tgen", "the program that serves in user space")
HEAD_BYTES = 77
"""Of an answer, without the digits of its length."""
MOST_BYTES = 1 << 20
"""Of an answer."""
HEADERS_BYTES = 40
"""Of IPv4 and TCP, in each packet."""
MOST_DATA = 1460
DAY_NS = 24 * 3600 * 1_000_000_000
"""For which it serves, and waits for a request: it is ended long before."""
SPARE = 64
"""Connections beyond those of its client."""
DEVICE_FRAMES, SOCKET_FRAMES = 2048, 1024
"""In its rings at the device of a network, and at a vhost-user port."""


def words(case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous) -> tuple[str, ...]:
    """Return how it is run for one client."""
    file = Path(serve_user_space.__file__)
    request = json.dumps(request_of(case, asked, meet))
    return own_python.script(file, program, _port(meet), str(meet.port), request)


def _port(meet: Rendezvous) -> str:
    """Return its port, as DPDK is told of it: that of the switch, or the device of its network."""
    if meet.socket is not None:
        who = "a server in user space"
        return reaching(meet.socket, 0, who, ring=SOCKET_FRAMES, queues=1).device
    return f"net_af_packet0,iface={PLACE_DEVICE},qdisc_bypass=0,framecnt={DEVICE_FRAMES}"


def request_of(case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> dict[str, object]:
    """Return what tgen is asked for; a usage error where the object is longer than an answer."""
    length = asked.response_bytes + HEAD_BYTES + len(str(asked.response_bytes))
    if length > MOST_BYTES:
        raise UsageError(
            f"a server in user space has answers of {MOST_BYTES:,} bytes at most, head and all",
            why=f"`search.object` makes it {length:,}",
            fix="--set search.object=512KiB, or --set program.stack=kernel",
        )
    ways = directions_of(case.topology, case.traffic.direction)
    target = next(link for _, link in ways if place_ip(case, link) == meet.address)
    source = next(link for link, server in ways if server == target)
    return {
        "verb": "connections",
        "server": {
            "port": 0,
            "source_mac": place_mac(case, target),
            "destination_mac": place_mac(case, source),
            "ip": meet.address,
            "service_port": meet.port,
            "connections": asked.connections + SPARE,
        },
        "duration_ns": DAY_NS,
        "idle_ns": DAY_NS,
        "response_bytes": length,
        "segment_bytes": min(MOST_DATA, place_mtu(case) - HEADERS_BYTES),
    }
