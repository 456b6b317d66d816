# vsperf-wires/vsperf_wires/switch.py
"""A switch that any machine has: a small program that carries frames between sockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.method import GIVEN_OTHER_RULES, RESTARTED
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan, wire_of
from vsperf.drivers.vswitches.forwarding import partners
from vsperf.drivers.vswitches.ports import Place, places_of, vhost_socket
from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, ok, unknown, warning
from vsperf.host.doctor.wants import Want
from vsperf.host.files import integer
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.switch import SwitchCounters
from vsperf.trust.own_python import script
from vsperf_wires import relay

PORT = "seqpacket"
"""What is spoken at the ports: any name, by which generators and VNFs know them."""
ROLE = "switch relay"
LEAST_ROOM = 200_000


class RelaySpec(DriverSpec):
    """Settings: whatever stands here can be written in a testcase, and is refused if misspelled."""

    NOT_HELD: ClassVar[str] = "whoever is held still lets its neighbours wait for room"

    kind: Literal["relay"]
    pinned: bool = True
    """Whether it stays on the CPU that it is given."""


@dataclass
class RunningRelay:
    """A relay that carries frames."""

    program: Managed
    stopped: bool = False

    def failure(self) -> str | None:
        return "the relay was stopped" if self.stopped else self.program.failure()

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        """Whoever has called is joined, so there is nothing left to wait for."""

    def counters(self) -> SwitchCounters | None:
        return None  # it does not count, and what nobody counts is missing, never 0

    def facts(self) -> dict[str, Any]:
        return {"argv": list(self.program.argv)}

    def restart(self, *, kill: bool) -> None:
        raise cannot_be(RESTARTED)

    def forget_flows(self) -> None:
        """It knows no flow."""

    def change_rules(self, count: int) -> None:
        raise cannot_be(GIVEN_OTHER_RULES)

    def access(self) -> tuple[str, ...]:
        return (f"tail -f {self.program.log}",)


def room(here: Host) -> Answer:
    """Look how much a socket of this machine holds."""
    found = integer(here.roots.proc / "sys" / "net" / "core" / "wmem_max")
    if found is None:
        return unknown("the kernel does not say how much a socket holds")
    if found < LEAST_ROOM:
        return warning(f"{found} bytes", f"sysctl net.core.wmem_max={LEAST_ROOM}")
    return ok(f"{found} bytes, some {found // 400} short frames")


class RelaySwitch:
    """Deploys a relay."""

    kind: ClassVar[str] = "relay"
    summary: ClassVar[str] = "a small program that carries frames between sockets, on any machine"
    Spec: ClassVar[type[DriverSpec]] = RelaySpec
    wants: ClassVar[frozenset[Want]] = frozenset({Want.QUIET_CPUS})
    checks: ClassVar[tuple[Check, ...]] = (Check("room of sockets", Group.MEMORY, room),)

    def needs(self, case: CaseSpec) -> Needs:
        return Needs(cpus=(CpuNeed(ROLE, 1, busy=False),))

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        places = places_of(case.topology)
        argv = command_line(case, placement)
        if case.search.done_to_switch is not None:
            raise cannot_be(case.search.done_to_switch)
        if any(link.switch for link in case.testbed.links.values()):
            raise cannot_be("plugged into a device: its ports are sockets")
        step = Step(component="vswitch", action="join the ports in pairs by a relay", argv=argv)
        endpoints = [
            Endpoint(link=place.name, kind=PORT, address=vhost_socket(place))
            for place in places
            if place.nic is None
        ]
        wires = [wire_of(one.nic, PORT, vhost_socket(one)) for one in places if one.nic is not None]
        return SwitchPlan((step,), tuple(endpoints), tuple(wires))

    def require(self, case: CaseSpec) -> None:
        """Python is there, and so are sockets."""

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningRelay]:
        argv = [workspace.fill(word) for word in command_line(case, placement)]
        sockets = [Path(workspace.fill(vhost_socket(one))) for one in places_of(case.topology)]
        with managed(
            argv,
            name="relay",
            workspace=workspace,
            ready=lambda: all(socket.is_socket() for socket in sockets),
        ) as program:
            running = RunningRelay(program)
            try:
                yield running
            finally:
                running.stopped = True


def command_line(case: CaseSpec, placement: Placement) -> tuple[str, ...]:
    """Return what is run, with the folder of a deployment not filled in."""
    spec = spec_of(case)
    joined = partners(case.topology, "a relay", "--set topology=p2p, or another switch")
    pairs = [(port, other) for port, other in joined.items() if port < other]
    sockets = [vhost_socket(Place(name)) for pair in pairs for name in pair]
    cpus = ",".join(map(str, placement.of(ROLE))) if spec.pinned else ""
    return script(Path(relay.__file__), cpus or "any", "listen", *sockets)


def spec_of(case: CaseSpec) -> RelaySpec:
    return own_settings(case.vswitch, RelaySpec, "a relay", "vswitch.kind=relay")


def cannot_be(what: str) -> UsageError:
    return UsageError(f"a relay cannot be {what}", fix="choose another testcase, or switch")
