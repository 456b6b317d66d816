"""The driver: a TRex server, started or found, whose ports are ours for all trials of a case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import ClassVar

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import Unmeasured
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.trex.private import (
    LOCAL,
    command,
    configuration,
    numbers_of,
    spec_of,
    started,
)
from vsperf.drivers.generators.trex.server import Client, Server
from vsperf.drivers.generators.trex.session import TrexSession
from vsperf.drivers.generators.trex.spec import TrexSpec
from vsperf.drivers.generators.trex.streams import check_flows, traffic_directions
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Check
from vsperf.host.doctor.programs import program_check
from vsperf.host.undo import ReleaseChassis, owner_name
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placement, Step

ROLE = "generator"
ABILITIES = frozenset(
    {
        *(Ability.PACED, Ability.EXACT, Ability.BRIEF, Ability.UNEQUAL, Ability.MIX),
        *(Ability.PER_DIRECTION, Ability.OWN_COUNTS),
        *(Ability.VLAN, Ability.QINQ, Ability.IPV6, Ability.LEARNING),
        *(Ability.BROADCAST, Ability.MULTICAST, Ability.LATENCY),
        *(Ability.VARY_IP, Ability.VARY_MAC, Ability.VARY_PORT),
    }
)
CLOCK = "the CPU's time stamp counter, in whole microseconds"


class TrexGenerator(Unmeasured):
    """Trials by TRex in its stateless mode."""

    kind: ClassVar[str] = "trex"
    summary: ClassVar[str] = "TRex, stateless: counted by streams, latency of a sampled stream"
    Spec: ClassVar[type[DriverSpec]] = TrexSpec
    checks: ClassVar[tuple[Check, ...]] = (
        program_check(
            kind,
            "testbeds that name it as their generator",
            names=("t-rex-64",),
            otherwise="unpack TRex, and name its folder: --generator trex "
            "--set generator.install=DIR",
        ),
    )

    def capabilities(self, case: CaseSpec) -> Capabilities:
        return Capabilities(ABILITIES, flows=1 << 24, clock=CLOCK)

    def needs(self, case: CaseSpec) -> Needs:
        spec = spec_of(case)
        pinned = None if spec.cpus is None else spec.cpus.cpus
        return Needs(cpus=(CpuNeed(ROLE, 1, pinned=pinned, busy=spec.starts),))

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        spec = spec_of(case)
        numbers = numbers_of(case, endpoints)
        _check_latency(case)
        check_flows(case)
        ports = ", ".join(f"{number} ({link})" for link, number in numbers.items())
        size = case.traffic.size_label
        building = Step(
            component=ROLE,
            action=f"take the ports {ports}, and build streams for each direction: {size} frames, "
            f"{case.traffic.flows} flows; each trial sends an exact number of frames at a rate",
        )
        if not spec.starts:
            where = f"{spec.server}:{spec.rpc_port}"
            said = "also from whoever has them" if spec.force else "left to whoever has one"
            return (Step(component=ROLE, action=f"ask TRex at {where}; ports are {said}"), building)
        cpu = _cpu(placement)
        return (
            Step(
                component=ROLE,
                action="write the configuration of TRex",
                lines=configuration(case, endpoints, cpu),
            ),
            Step(
                component=ROLE,
                action=f"start TRex on CPU {cpu}; who reaches TCP port {spec.rpc_port} of this "
                "machine can ask it, too",
                argv=command(case),
            ),
            building,
        )

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[TrexSession]:
        spec = spec_of(case)
        numbers = numbers_of(case, endpoints)
        check_directions("TRex", numbers, directions)
        user = owner_name(workspace.name)
        with ExitStack() as stack:
            if spec.starts:
                lines = configuration(case, endpoints, _cpu(placement))
                stack.enter_context(started(case, lines, workspace))
            else:
                undo = ReleaseChassis(
                    dialect=self.kind,
                    chassis=f"{spec.server}:{spec.rpc_port}",
                    owner=user,
                    ports=tuple(str(port) for port in numbers.values()),
                )
                stack.enter_context(workspace.undoing(undo))
            yield stack.enter_context(connected(case, numbers, directions, user))

    def release(
        self, address: str, owner: str, places: tuple[str, ...], password_file: str | None
    ) -> None:
        """Release what a deployment that is gone has taken under its name."""
        host, _, port = address.rpartition(":")
        with closing(Client(host, int(port))) as client:
            server = Server(client, tuple(int(place) for place in places), owner)
            server.greet()
            ours = tuple(port for port in server.ports if server.owner(port) == owner)
            server.ports = ours
            server.acquire(force=True)  # our own name, of a connection that is gone
            server.release()


@contextmanager
def connected(
    case: CaseSpec,
    numbers: dict[str, int],
    directions: tuple[tuple[str, str], ...],
    user: str,
) -> Iterator[TrexSession]:
    """Take ports of a server that runs, by link; leaving the context lets go of them."""
    spec = spec_of(case)
    address = LOCAL if spec.starts else spec.server
    with closing(Client(address, spec.rpc_port)) as client:
        server = Server(client, tuple(numbers.values()), user)
        try:
            server.greet()
            server.acquire(force=spec.force)
            ways = traffic_directions(case, directions, numbers)
            session = TrexSession(server, case, ways, spec.latency_fps)
            try:
                yield session
            finally:
                session.closed = True
        finally:
            _let_go(server)


def _let_go(server: Server) -> None:
    """Release by this connection; where it is broken, the undo does it by another one."""
    with suppress(ComponentError, NotReadyError):
        server.release()


def _cpu(placement: Placement) -> int:
    """Return the CPU of all threads; the first one where nobody placed them."""
    return next(iter(placement.of(ROLE)), 0)


def _check_latency(case: CaseSpec) -> None:
    """Refuse latencies of frames that have no common size."""
    if case.latency is None or not case.latency.loads or not case.search.asked():
        return
    if case.traffic.imix is not None:
        raise UsageError(
            f"TRex measures no latency of {case.traffic.size_label} frames",
            why="frames of the stream that is sampled have one size",
            fix="--set latency.loads=[], or --set generator.kind=tgen",
        )
