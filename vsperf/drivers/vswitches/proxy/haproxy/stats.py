"""What HAProxy tells at its socket of statistics, asked and read."""

from __future__ import annotations

import csv
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vsperf.drivers.programs.base import LONGEST_WORDS
from vsperf.drivers.vswitches.proxy.running import Told
from vsperf.errors import ComponentError
from vsperf.waits import received, sent

ANSWER_S = 5.0
LONGEST = 1 << 22
"""Bytes of an answer: some 400 for each server."""
FRONTEND, BACKEND = "FRONTEND", "BACKEND"
"""Rows that stand for no server."""
ACCEPTED, ATTEMPTS = "conn_tot", "connect"
"""Its counts of connections from clients, and of attempts to connect to a server."""
REASONS = {
    "econ": "haproxy connect errors",
    "wretr": "haproxy retries",
    "wredis": "haproxy redispatches",
    "eresp": "haproxy response errors",
}
"""Its count of a server → how it is called."""
REFUSED = {"dcon": "haproxy connections refused", "ereq": "haproxy request errors"}
"""The same of clients."""
CALLS = re.compile(r"^stream_calls: \d+ \[(?P<threads>[ \d]+)\]", re.MULTILINE)
"""How often each thread had to do with a connection; without brackets there is one thread."""
THREAD = "haproxy stream calls of thread {}"


def asked(path: Path, command: str) -> str:
    """Return what it answers; one that does not answer in time is a `ComponentError`."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as talk:
            talk.settimeout(ANSWER_S)
            talk.connect(str(path))
            sent(talk, f"{command}\n".encode())
            text = b"".join(_pieces(talk))
    except OSError as error:
        raise ComponentError(
            "haproxy does not answer", why=f"{path}: {error.strerror or error}"
        ) from error
    return text.decode(errors="replace")


def _pieces(talk: socket.socket) -> Iterator[bytes]:
    left = LONGEST
    while left > 0 and (piece := received(talk, min(left, 65_536))):
        left -= len(piece)
        yield piece
    if left <= 0:
        raise OSError(f"it says more than {LONGEST >> 20} MB")


def told_in(statistics: str, activity: str) -> Told:
    """Return what is counted, out of the answers to `show stat` and `show activity`."""
    rows = [*csv.DictReader(statistics.removeprefix("# ").splitlines())]
    clients = [row for row in rows if row.get("svname") == FRONTEND]
    servers = [row for row in rows if row.get("svname") not in (None, FRONTEND, BACKEND)]
    if not clients or not servers:
        raise ComponentError(
            "haproxy tells of no connections", why=f"it says {statistics[:LONGEST_WORDS]!r}"
        )
    counts = {
        **{called: _sum(clients, name) for name, called in REFUSED.items()},
        **{called: _sum(servers, name) for name, called in REASONS.items()},
        **_by_thread(activity),
    }
    return Told(
        accepted=_sum(clients, ACCEPTED),
        attempts=_sum(servers, ATTEMPTS),
        reasons={called: count for called, count in counts.items() if count is not None},
    )


def _sum(rows: Sequence[Mapping[str, str]], name: str) -> int | None:
    """Return the sum of a column; None where this version has none of that name."""
    found = [row[name] for row in rows if row.get(name)]
    return sum(map(int, found)) if found else None


def _by_thread(activity: str) -> dict[str, int]:
    found = CALLS.search(activity)
    counts = found["threads"].split() if found is not None else ()
    return {THREAD.format(number): int(count) for number, count in enumerate(counts, start=1)}
