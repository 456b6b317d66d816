"""What a case makes of the machine where a proxy is the device: settings, ports, steps. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import protocol_of
from vsperf.config.counted import Counted
from vsperf.drivers.settings import require_as_many
from vsperf.drivers.vswitches.base import SwitchPlan, step
from vsperf.drivers.vswitches.hops import HopDesign, check_hop, hop_endpoints, hop_steps
from vsperf.drivers.vswitches.kernel_ports import NETWORK, OF_CONNECTIONS
from vsperf.errors import UsageError
from vsperf.host.netns import entering
from vsperf.quantities.units import CpuSet, Duration
from vsperf.records.run import Placeholder, Placement

FILES_EACH = 2
"""Sockets of a connection: one to its client, and one to its server."""
OWN_FILES = 128
"""That a worker may have open beside them, at most."""


def _at_least_a_second(value: Duration) -> Duration:
    if value.seconds < 1:
        raise ValueError("a connection may be silent for 1s at least")
    return value


class ProxySpec(DriverSpec):
    """Settings of a proxy between clients and servers."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""
    NOT_HELD: ClassVar[str] = OF_CONNECTIONS
    shares_out: ClassVar[bool] = True
    """Clients call one address of it, and it chooses a server for each call."""

    path: str | None = None
    """The program; the one in $PATH when not given."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Threads of HAProxy, or processes of nginx, when `cpus` does not say where they run."""
    cpus: CpuSet | None = None
    """CPUs of the workers, one each. The kernel's part of the work, which is TCP to both ends, is
    done on the same ones."""
    connections: Annotated[int, Field(ge=1, le=500_000), Counted] = 8_000
    """At a time, for which it has room; others wait until one of these has ended. Each takes two
    open files, of which the system may allow fewer."""
    idle: Annotated[Duration, AfterValidator(_at_least_a_second)] = Duration(600_000_000_000)
    """How long a connection may be silent before the proxy ends it."""
    time_wait_sockets: Annotated[int, Field(ge=0, le=1_048_576), Counted] | None = 0
    """Connections to servers that are over and keep their port for a minute more, at most (the
    kernel's TIME_WAIT); others are forgotten at once. As many as the kernel has room for when it
    is null: then 64,512 ports for each address of a server are what there is in a minute."""

    @model_validator(mode="after")
    def _cpus_agree(self, info: ValidationInfo) -> Self:
        require_as_many(self, "workers", "cpus", info)
        return self

    @property
    def worker_count(self) -> int:
        return self.workers if self.cpus is None else len(self.cpus)

    @property
    def room(self) -> int:
        """Connections at a time for which all workers together have room."""
        return self.connections

    @property
    def files(self) -> int:
        """Files that each worker may have open."""
        return FILES_EACH * self.connections + OWN_FILES


HOST_BITS = 32
QUEUE = 4_096
"""Connections that may wait until the proxy takes them, and handshakes that may be under way, as
kernels have it by themselves since 5.4. Longer ones would hide an overload for seconds, and have
the next trial begin with what is left of the one before."""
FIRST_PORT, LAST_PORT = 1024, 65_535
"""Ports that connections to servers come from: as many as the generator's clients have."""
CONNECT_S = 5
"""For which a server may say nothing to a connection that is being made, as both programs have it
in their own examples. The kernel has asked three times by then."""


@dataclass(frozen=True)
class Design(HopDesign):
    """What one case makes of the machine."""

    case: CaseSpec
    spec: ProxySpec
    placement: Placement

    @property
    def service(self) -> str:
        """The address that clients call."""
        return self.ports[0].end.service_ip

    def settings(self) -> Mapping[str, str]:
        """Return what the kernel is told of the network, by its file below /proc/sys/net.

        What is said here is said of every kernel, whatever it had before.
        """
        ended = self.spec.time_wait_sockets
        return {
            "ipv4/ip_local_port_range": f"{FIRST_PORT}\t{LAST_PORT}",
            "ipv4/tcp_max_syn_backlog": str(QUEUE),
            "core/somaxconn": str(QUEUE),
            **({} if ended is None else {"ipv4/tcp_max_tw_buckets": str(ended)}),
        }


def switch_plan(
    design: Design, configuration: tuple[str, ...], argv: tuple[str, ...]
) -> SwitchPlan:
    """Return all steps, and where the ports will be; refuse what it cannot do."""
    check_hop(
        design.case,
        design.cpus,
        "passes bytes on",
        "it ends connections and makes others: frames of a test are not addressed to it",
    )
    if protocol_of(design.case) != "tcp":
        raise UsageError(
            f"vswitch {design.case.vswitch.kind} passes on what comes over connections of TCP",
            why="search.protocol asks for flows of UDP",
            fix="--set search.protocol=tcp, or a switch that passes packets on: --vswitch nftables",
        )
    _check_room(design)
    clients = design.ports[0]
    steps = (
        *hop_steps(
            design.ports,
            design.cpus,
            f"{clients.device} is {design.service}/{HOST_BITS}, too: whom clients call",
        ),
        step(
            "give it all ports, and long queues",
            *(f"{name.replace('/', '.')} = {value}" for name, value in design.settings().items()),
        ),
        step(
            "start the proxy in that network, with a worker on each of these CPUs",
            *configuration,
            argv=argv,
        ),
    )
    return SwitchPlan(steps, hop_endpoints(design.case, design.ports))


def _check_room(design: Design) -> None:
    """Refuse a method that has more connections open at a time than can be, whatever it finds."""
    asked: int = getattr(design.case.search, "connections", 0)
    if asked > design.spec.room:
        raise UsageError(
            f"vswitch {design.case.vswitch.kind} has room for {design.spec.room:,} connections at "
            f"a time, and search.connections is {asked:,}",
            why="those beyond its room would never be served, at no rate",
            fix=f"--set vswitch.connections={asked}, or fewer: search.connections",
        )


def entered(*words: str) -> tuple[str, ...]:
    """Return how a program is run in the network of the deployment; not filled in."""
    return (*entering(NETWORK), *words)


def configuration_file(name: str) -> str:
    """Return where the configuration of a program is written; not filled in."""
    return f"{Placeholder.RUN}/{name}.conf"
