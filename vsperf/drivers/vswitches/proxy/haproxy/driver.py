"""The driver: HAProxy passes TCP on, thread by thread on CPUs of its own."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.connections import SERVICE_PORT
from vsperf.drivers.programs.find import Installed
from vsperf.drivers.vswitches.proxy.driver import ProxySwitch, proxy_check
from vsperf.drivers.vswitches.proxy.haproxy.stats import asked, told_in
from vsperf.drivers.vswitches.proxy.layout import CONNECT_S, QUEUE, Design, configuration_file
from vsperf.drivers.vswitches.proxy.running import Found, Told
from vsperf.drivers.vswitches.proxy.spec import ProxySpec
from vsperf.host.doctor.finding import Check
from vsperf.records.run import Placeholder

NAME = "haproxy"
SOCKET = f"{NAME}.sock"
HAPROXY = Installed(
    NAME, "apt-get install haproxy", "-v", r"HA-?Proxy version (\d+(?:\.\d+)+)", "vswitch.path"
)


class HaproxySpec(ProxySpec):
    """Settings of HAProxy."""

    kind: Literal["haproxy"]


def find(spec: ProxySpec | None) -> Found:
    """Return where it is; raise `NotReadyError` where it is not installed."""
    found = HAPROXY.found(None if spec is None else spec.path)
    return Found(found.path, found.version)


class Haproxy(ProxySwitch):
    """Deploys HAProxy."""

    kind: ClassVar[str] = "haproxy"
    program: ClassVar[str] = NAME
    summary: ClassVar[str] = (
        "HAProxy as a load balancer of TCP: it ends each connection, and makes another to a server"
    )
    Spec: ClassVar[type[DriverSpec]] = HaproxySpec
    sockets: ClassVar[tuple[str, ...]] = (f"{SOCKET}.4194304.tmp",)  # it is called so at first
    checks: ClassVar[tuple[Check, ...]] = (proxy_check(NAME, HaproxySpec, find),)

    @classmethod
    def find(cls, spec: ProxySpec | None) -> Found:
        return find(spec)

    def words(self, program: str) -> tuple[str, ...]:
        # Quiet: it would write a line for each connection that it cannot make.
        return (program, "-db", "-q", "-f", configuration_file(NAME))

    def proof(self, program: str) -> tuple[str, ...]:
        # As it is quiet, it would not say what it does not understand.
        return (program, "-c", "-f", configuration_file(NAME))

    def configuration(self, design: Design, found: Found | None) -> tuple[str, ...]:
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
