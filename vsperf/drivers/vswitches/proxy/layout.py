"""What a case makes of the machine where a proxy is the device, and in which steps. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vsperf.config.case import CaseSpec
from vsperf.config.connections import SERVICE_PORT, protocol_of
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.hops import HopDesign, check_hop, hop_endpoints, hop_steps
from vsperf.drivers.vswitches.kernel_ports import NETWORK, step
from vsperf.drivers.vswitches.proxy.spec import ProxySpec
from vsperf.errors import UsageError
from vsperf.host.netns import entering
from vsperf.records.run import Placeholder, Placement, Step

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

    @property
    def servers(self) -> tuple[str, ...]:
        """Whom it calls in turns, each with its port."""
        return tuple(f"{ip}:{SERVICE_PORT}" for ip in self.ports[1].end.ips)

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
        Step(
            component="vswitch",
            action="start the proxy in that network, with a worker on each of these CPUs",
            argv=argv,
            lines=configuration,
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
