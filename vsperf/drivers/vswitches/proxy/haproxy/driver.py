"""The driver: HAProxy passes TCP on, thread by thread, and tells what it counted at its socket."""

from __future__ import annotations

import csv
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from vsperf.config.connections import SERVICE_PORT
from vsperf.drivers.programs.base import LONGEST_WORDS
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.drivers.vswitches.proxy.driver import ProxySwitch, proxy_check
from vsperf.drivers.vswitches.proxy.layout import (
    CONNECT_S,
    QUEUE,
    Design,
    ProxySpec,
    configuration_file,
)
from vsperf.drivers.vswitches.proxy.running import InstalledProxy, Told
from vsperf.errors import ComponentError
from vsperf.records.run import Placeholder
from vsperf.trust.plain_json import count_of
from vsperf.waits import received, sent

NAME = "haproxy"
SOCKET = f"{NAME}.sock"
HAPROXY = PackagedProgram(
    NAME, "apt-get install haproxy", "-v", r"HA-?Proxy version (\d+(?:\.\d+)+)", "vswitch.path"
)
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
    try:
        return _told(statistics, activity)
    except (csv.Error, ValueError) as error:
        raise ComponentError("what haproxy counts cannot be read", why=str(error)) from error


def _told(statistics: str, activity: str) -> Told:
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
    return sum(map(count_of, found)) if found else None


def _by_thread(activity: str) -> dict[str, int]:
    found = CALLS.search(activity)
    counts = found["threads"].split() if found is not None else ()
    return {THREAD.format(number): count_of(count) for number, count in enumerate(counts, start=1)}


class HaproxySpec(ProxySpec):
    """Settings of HAProxy."""

    kind: Literal["haproxy"]


def find(spec: ProxySpec | None) -> InstalledProxy:
    """Return where it is; raise `NotReadyError` where it is not installed."""
    found = HAPROXY.find(None if spec is None else spec.path)
    return InstalledProxy(found.path, found.version)


class Haproxy(ProxySwitch):
    """Deploys HAProxy."""

    kind = "haproxy"
    program = NAME
    summary = (
        "HAProxy as a load balancer of TCP: it ends each connection, and makes another to a server"
    )
    Spec = HaproxySpec
    sockets = (f"{SOCKET}.4194304.tmp",)  # it is called so at first
    checks = (proxy_check(NAME, HaproxySpec, find),)

    @classmethod
    def find(cls, spec: ProxySpec | None) -> InstalledProxy:
        return find(spec)

    def words(self, program: str) -> tuple[str, ...]:
        # Quiet: it would write a line for each connection that it cannot make.
        return (program, "-db", "-q", "-f", configuration_file(NAME))

    def proof(self, program: str) -> tuple[str, ...]:
        # As it is quiet, it would not say what it does not understand.
        return (program, "-c", "-f", configuration_file(NAME))

    def configuration(self, design: Design, found: InstalledProxy | None) -> tuple[str, ...]:
        spec, idle_ms = design.spec, design.spec.idle.ns // 1_000_000
        threads = f"1-{len(design.cpus)}" if len(design.cpus) > 1 else "1"
        return (
            "global",
            f"    stats socket {Placeholder.RUN}/{SOCKET} mode 600 level admin",
            f"    maxconn {spec.connections}",
            f"    nbthread {len(design.cpus)}",
            f"    cpu-map auto:1/{threads} {' '.join(map(str, design.cpus))}",
            "defaults",
            "    mode tcp",
            f"    maxconn {spec.connections}",
            f"    backlog {QUEUE}",
            f"    timeout connect {CONNECT_S}s",
            f"    timeout client {idle_ms}ms",
            f"    timeout server {idle_ms}ms",
            "frontend clients",
            f"    bind {design.service}:{SERVICE_PORT}",
            "    default_backend servers",
            "backend servers",
            "    balance roundrobin",
            *(f"    server s{n} {server}" for n, server in enumerate(design.servers, start=1)),
        )

    def ask(self, folder: Path) -> Told:
        path = folder / SOCKET
        return told_in(asked(path, "show stat"), asked(path, "show activity"))

    def commands(self, folder: Path) -> tuple[str, ...]:
        return (
            f"socat {folder / SOCKET} readline    # then: show info, show stat, show sess",
            *super().commands(folder),
        )
