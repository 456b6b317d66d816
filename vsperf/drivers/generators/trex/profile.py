"""What TRex is told of connections: a program of clients, one of servers, and how many. Pure.

Both programs count what they get, by counters that TRex leaves to them: it has none for requests
and responses of its own.
"""

from __future__ import annotations

import base64
from ipaddress import IPv4Address
from typing import Any

from vsperf.config.connections import SERVICE_PORT
from vsperf.drivers.generators.base import ConnectionsRequest
from vsperf.errors import ComponentError
from vsperf.methods.connections import ConnectionsAsked

COUNTERS = "user_counter_A", "user_counter_B", "user_counter_C"
"""As the server calls them. Clients count requests by the first one, responses by the second, and
by the third connections that have had all of theirs; servers by the first one requests that they
answer."""
MICROSECOND_NS = 1_000
LONGEST_HOLD_NS = ((1 << 32) - 1) * MICROSECOND_NS
"""Its delays are of 32 bits."""
_TURNS = 0
"""The variable of a program in which it counts down what is left to be asked."""


def profile_of(request: ConnectionsRequest) -> dict[str, Any]:
    """Return a profile as the server takes it; raises `ComponentError` for what it cannot hold."""
    asked, ends = request.asked, request.ends
    clients = ends.client.end
    if asked.hold_ns > LONGEST_HOLD_NS:
        raise ComponentError(
            f"TRex cannot hold connections for {asked.hold_ns / 1e9:,.0f} s",
            why=f"it waits for {LONGEST_HOLD_NS / 1e9:,.0f} s at most",
            fix="fewer connections, or a higher rate at which they are opened: --set search.rate=…",
        )
    pools = {"client": (clients.first_ip, clients.addresses)}
    pools["server"] = (IPv4Address(ends.called_ip), ends.called)
    return {
        "buf_list": [
            base64.b64encode(message).decode()
            for message in (request_of(asked.request_bytes), response_of(asked.response_bytes))
        ],
        "ip_gen_dist_list": [_pool(*pool, who[0]) for who, pool in pools.items()],
        "program_list": [{"commands": _client(asked)}, {"commands": _server(asked)}],
        "templates": [
            {
                "client_template": {
                    "program_index": 0,
                    "ip_gen": {
                        f"dist_{who}": {"index": number} for number, who in enumerate(pools)
                    },
                    "cluster": {},
                    "port": SERVICE_PORT,
                    "cps": float(asked.rate_cps),
                    "limit": asked.connections,
                },
                "server_template": {"program_index": 1, "assoc": [{"port": SERVICE_PORT}]},
                "tg_id": 0,
            }
        ],
        "tg_names": [],
    }


def request_of(size: int) -> bytes:
    """Return a request of HTTP of so many bytes; less than its head is a piece of it."""
    before, behind = b"GET /", b" HTTP/1.1\r\nHost: vsperf\r\n\r\n"
    return (before + b"x" * (size - len(before) - len(behind)) + behind)[:size]


def response_of(size: int) -> bytes:
    """Return a response of HTTP of so many bytes, likewise."""
    head = "HTTP/1.1 200 OK\r\nContent-Length: {:05}\r\n\r\n"
    body = max(0, size - len(head.format(0)))
    return (head.format(body).encode() + b"x" * body)[:size]


def _client(asked: ConnectionsAsked) -> list[dict[str, Any]]:
    """Return what each connection does: it asks once it is open, and is the first to close."""
    asking = [_count(0), _send(0), _await(asked.response_bytes), _count(1)]
    held = [{"name": "delay", "usec": asked.hold_ns // MICROSECOND_NS}] if asked.hold_ns else []
    return [{"name": "connect"}, *_in_turns(asked.requests, asking), _count(2), *held]


def _server(asked: ConnectionsAsked) -> list[dict[str, Any]]:
    """Return what its other end does, which ends when the client has closed it."""
    answering = [_await(asked.request_bytes), _count(0), _send(1)]
    return [*_in_turns(asked.requests, answering), {"name": "nc"}]


def _in_turns(times: int, commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if times == 1:
        return commands
    first = {"name": "set_var", "id": _TURNS, "val": times}
    return [first, *commands, {"name": "jmp_nz", "id": _TURNS, "offset": -len(commands)}]


def _send(message: int) -> dict[str, Any]:
    return {"name": "tx", "buf_index": message}


def _await(count: int) -> dict[str, Any]:
    """Return what waits for so many bytes, those of what was waited for before left out."""
    return {"name": "rx", "min_bytes": count, "clear": True}


def _count(number: int) -> dict[str, Any]:
    return {"name": "add_stats", "stats_id": number, "val": 1}


def _pool(first: IPv4Address, addresses: int, side: str) -> dict[str, str]:
    """Return addresses that are taken in turns; `side` is `c` or `s`."""
    return {
        "ip_start": str(first),
        "ip_end": str(first + addresses - 1),
        "distribution": "seq",
        "dir": side,
        "ip_offset": "0.0.0.0",  # noqa: S104 - no address: how far those of another pair of ports are
    }
