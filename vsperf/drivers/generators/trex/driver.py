"""The driver: a TRex server, started or found, whose ports are ours for all trials of a case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import ClassVar

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import clients_of, servers_of
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
from vsperf.drivers.generators.trex.server import Client, Server, StatelessServer, mapping
from vsperf.drivers.generators.trex.session import TrexSession
from vsperf.drivers.generators.trex.spec import TrexSpec
from vsperf.drivers.generators.trex.stateful import StatefulServer, StatefulSession
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
        *(Ability.CONNECTIONS, Ability.SEVERAL_REQUESTS, Ability.HELD),
    }
)
CLOCK = "the CPU's time stamp counter, in whole microseconds"


class TrexGenerator(Unmeasured):
    """Trials of frames by TRex in its stateless mode, and of connections in its stateful one."""

    kind: ClassVar[str] = "trex"
    summary: ClassVar[str] = (
        "TRex: frames counted by streams, latency of a sampled one; TCP connections (ASTF)"
    )
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
        ports = ", ".join(f"{number} ({link})" for link, number in numbers.items())
        building = Step(component=ROLE, action=f"take the ports {ports}, and {_trials(case)}")
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
    ) -> Iterator[TrexSession | StatefulSession]:
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
            if case.has_connections:
                yield stack.enter_context(connected_stateful(case, numbers, user))
            else:
                yield stack.enter_context(connected(case, numbers, directions, user))

    def release(
        self, address: str, owner: str, places: tuple[str, ...], password_file: str | None
    ) -> None:
        """Release what a deployment that is gone has taken under its name."""
        host, _, port = address.rpartition(":")
        with closing(Client(host, int(port))) as client:
            server = _found(client, tuple(int(place) for place in places), owner)
            server.greet()
            server.ports = tuple(port for port in server.ports if server.owner(port) == owner)
            if server.ports:
                server.acquire(force=True)  # our own name, of a connection that is gone
                server.release()


def _found(client: Client, ports: tuple[int, ...], user: str) -> Server:
    """Return a server in whichever mode it runs."""
    version = mapping(client.ask("get_version"), "get_version")
    stateful = version.get("mode") == StatefulServer.api[0]
    kind: type[Server] = StatefulServer if stateful else StatelessServer
    return kind(client, ports, user)


def _trials(case: CaseSpec) -> str:
    """Say what a trial is; refuse what no trial can be."""
    if case.has_connections:
        return (
            "load a program of clients, at the first one, and one of servers, at the second one; "
            "each trial begins an exact number of connections at a rate"
        )
    _check_latency(case)
    check_flows(case)
    return (
        f"build streams for each direction: {case.traffic.size_label} frames, "
        f"{case.traffic.flows} flows; each trial sends an exact number of frames at a rate"
    )


@contextmanager
def connected(
    case: CaseSpec,
    numbers: dict[str, int],
    directions: tuple[tuple[str, str], ...],
    user: str,
) -> Iterator[TrexSession]:
    """Take ports of a server that runs, by link; leaving the context lets go of them."""
    with _asked_at(case) as client:
        server = StatelessServer(client, tuple(numbers.values()), user)
        with _taken(server, case):
            ways = traffic_directions(case, directions, numbers)
            session = TrexSession(server, case, ways, spec_of(case).latency_fps)
            try:
                yield session
            finally:
                session.closed = True


@contextmanager
def connected_stateful(
    case: CaseSpec, numbers: dict[str, int], user: str
) -> Iterator[StatefulSession]:
    """The same of a server that opens connections."""
    with _asked_at(case) as client:
        ends = (clients_of(case), servers_of(case))
        server = StatefulServer(client, tuple(numbers[end.link] for end in ends), user)
        with _taken(server, case):
            session = StatefulSession(server, case)
            try:
                yield session
            finally:
                session.closed = True


def _asked_at(case: CaseSpec) -> closing[Client]:
    """Return who asks the server of a case, until the context is left."""
    spec = spec_of(case)
    return closing(Client(LOCAL if spec.starts else spec.server, spec.rpc_port))


@contextmanager
def _taken(server: Server, case: CaseSpec) -> Iterator[None]:
    """Have the ports of a server, until the context is left."""
    try:
        server.greet()
        server.acquire(force=spec_of(case).force)
        yield
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
