"""The driver: a TRex server, started or found, whose ports are ours for all trials of a case."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import clients_of, servers_of
from vsperf.config.counted import Counted
from vsperf.config.flows import link_mac
from vsperf.drivers.ending import until_left
from vsperf.drivers.generators.base import Unmeasured
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.dpdk_ports import Port, device_port
from vsperf.drivers.generators.trex.server import Client, Server, StatelessServer, mapping
from vsperf.drivers.generators.trex.session import TrexSession
from vsperf.drivers.generators.trex.stateful import StatefulServer, StatefulSession
from vsperf.drivers.generators.trex.streams import check_flows, traffic_directions
from vsperf.drivers.settings import reading
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, missing, ok
from vsperf.host.process import Managed, managed
from vsperf.host.undo import ReleaseChassis, owner_name
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import CpuSet
from vsperf.records.run import Endpoint, Placeholder, Placement, Step

START = "start"
"""In place of an address: a server of the deployment's own."""


class TrexSpec(DriverSpec):
    """Settings of TRex, which counts frames by streams, and opens connections in another mode."""

    kind: Literal["trex"]
    server: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=253)] = START
    """Address of a server that runs, or `start` for one that ends with the deployment."""
    rpc_port: Annotated[int, Field(ge=1, le=65535)] = 4501
    """TCP port that the server is asked at."""
    install: Annotated[str, Field(pattern=r"^/[A-Za-z0-9._+/-]*$", max_length=1023)] | None = None
    """Folder of an installed TRex, with the program `_t-rex-64` in it; for `server: start`."""
    cpus: CpuSet | None = None
    """The CPU that all threads of a started server share."""
    memory_mb: Annotated[int, Field(ge=256, le=65536)] = 512
    """Memory of a started server [MiB], none of it in hugepages."""
    latency_fps: Annotated[int, Field(ge=1, le=1_000_000), Counted] = 1000
    """Frames per second and direction of the stream that latencies are measured with; part of the
    load, and never more than a tenth of it. It says nothing to connections."""
    force: bool = False
    """Take ports of a server that runs also from whoever has them. Their traffic ends."""

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if self.server != START and self.install is not None:
            raise ValueError("install: is for `server: start`; a server that runs has its own")
        if self.server == START and self.force:
            raise ValueError("force: nobody else has ports of a server that is started")
        if self.cpus is not None and len(self.cpus) != 1:
            raise ValueError(f"cpus: all threads of the server share one CPU, and not {self.cpus}")
        return self

    @property
    def starts(self) -> bool:
        return self.server == START


spec_of = reading("generator.kind=trex", TrexSpec, "TRex")
NAME = "trex"
PROGRAM = "_t-rex-64"
"""The program itself; the script beside it, without the line below, sets drivers of NICs up."""
LIBRARIES = ("so/x86_64", "so")
CONFIGURATION = f"{Placeholder.RUN}/{NAME}.yaml"
START_S = 60.0
CONNECT_S = 0.2
LOCAL = "127.0.0.1"
STATELESS, STATEFUL = ("--stl", "--hdrh"), ("--astf",)
"""What a server is to do: send frames, or open connections."""
OPTIONS = (
    "--software",  # frames are counted by streams on ports of any kind
    "--no-key",
    "--no-termio",
    "--no-scapy-server",
    "--no-ofed-check",
)
PACKET_SOCKET, MEMIF = "net_af_packet", "net_memif"
"""DPDK's driver of devices without a NIC that TRex takes, as it has no vhost-user; and one that it
has, and cannot send to: most of its frames are in several pieces, which that marks as such in a
slot of the ring, and does not unmark for one that is whole. Once the ring comes round, frames are
joined to those behind them, and read again without end."""
NUMBERED = "chassis"
"""Kind of an endpoint that is a port of a server that runs."""
PREFIX = f"{Placeholder.NAME}-trex"


def numbers_of(case: CaseSpec, endpoints: tuple[Endpoint, ...]) -> dict[str, int]:
    """Return by link which port of the server is there; a started one has them in our order."""
    spec = spec_of(case)
    if spec.starts:
        devices_of(endpoints)
        return {endpoint.link: number for number, endpoint in enumerate(endpoints)}
    found = {}
    for endpoint in endpoints:
        if endpoint.kind != NUMBERED or not endpoint.address.isdecimal():
            raise UsageError(
                f"TRex cannot send to {endpoint.link}, which is a {endpoint.kind} port",
                why=f"the server at {spec.server} runs, and its ports have numbers",
                fix=f"name the port: --set testbed.links.{endpoint.link}.generator=chassis:0",
            )
        found[endpoint.link] = int(endpoint.address)
    return found


def devices_of(endpoints: tuple[Endpoint, ...]) -> tuple[Port, ...]:
    """Return the devices of DPDK by which a started server reaches the switch."""
    for endpoint in endpoints:
        if endpoint.kind != "vdev":
            raise _unreachable(endpoint.link, f"a {endpoint.kind} port")
        name = endpoint.address.rstrip().partition(",")[0]
        if (driver := name.rstrip("0123456789")) != PACKET_SOCKET:
            raise _unreachable(endpoint.link, name, joins=driver == MEMIF)
    return tuple(device_port(endpoint.address) for endpoint in endpoints)


def _unreachable(link: str, what: str, *, joins: bool = False) -> UsageError:
    memif = ": with its driver of memif, frames are joined to others once a ring comes round"
    return UsageError(
        f"a TRex that vsperf starts cannot send to {link}, which is {what}",
        why=f"of devices without a NIC it takes {PACKET_SOCKET} only{memif if joins else ''}",
        fix="take a switch or ports that offer one, such as --vswitch ovs, or start TRex yourself "
        "and give its address: --set generator.server=192.0.2.7",
    )


def configuration(case: CaseSpec, endpoints: tuple[Endpoint, ...], cpu: int) -> tuple[str, ...]:
    """Return the lines of the file that a started server reads, not filled in."""
    spec, links = spec_of(case), case.topology.links
    devices = [f"--vdev={port.device}" for port in devices_of(endpoints)]
    if len(devices) % 2:
        devices.append("dummy")  # its ports come in pairs
    lines = [
        "- version: 2",
        f"  port_limit: {len(devices)}",
        "  interfaces:",
        *(f"    - {json.dumps(device)}" for device in devices),
        "  low_end: true",
        f"  low_end_core: {cpu}",
        f"  limit_memory: {spec.memory_mb}",
        f"  prefix: {PREFIX}",
        f"  zmq_rpc_port: {spec.rpc_port}",
        "  enable_zmq_pub: false",
        "  port_info:",
    ]
    for number in range(len(devices)):
        link = endpoints[number].link if number < len(endpoints) else endpoints[0].link
        own = links.index(link)
        lines += [
            f'    - src_mac: "{link_mac(own)}"',
            f'      dest_mac: "{link_mac(own ^ 1)}"',
        ]
    return tuple(lines)


def command(case: CaseSpec) -> tuple[str, ...]:
    """Return how the server is run, not filled in."""
    folder = folder_of(case)
    libraries = ":".join(str(folder / name) for name in LIBRARIES)
    inside = ("env", f"--chdir={folder}", f"LD_LIBRARY_PATH={libraries}")
    mode = STATEFUL if case.has_connections else STATELESS
    run = (f"./{PROGRAM}", "-i", "--cfg", CONFIGURATION, *mode, *OPTIONS, "--iom", "0")
    return (*inside, *run)


def folder_of(case: CaseSpec) -> Path:
    """Return where TRex is installed."""
    install = spec_of(case).install
    if install is None:
        raise UsageError(
            "nobody says where TRex is installed",
            why="no package has it, so a server cannot be started without its folder",
            fix="--set generator.install=/usr/local/trex, or the address of a server that runs: "
            "--set generator.server=192.0.2.7; beside other generators by --set "
            "'generator=[tgen, {kind: trex, install: /usr/local/trex}]', or, for --generator "
            "tgen,trex, by `generators: {trex: {install: /usr/local/trex}}` in the testbed",
        )
    return Path(install).absolute()


def require_program(folder: Path) -> None:
    """Raise `NotReadyError` where there is none."""
    if not (folder / PROGRAM).is_file():
        raise NotReadyError(
            f"there is no {PROGRAM} in {folder}",
            why="generator.install has to name the folder of an installed TRex",
            fix="see https://trex-tgn.cisco.com for packed versions",
        )


@contextmanager
def started(case: CaseSpec, lines: tuple[str, ...], workspace: Workspace) -> Iterator[Managed]:
    """Run a server until the context is left."""
    require_program(folder_of(case))
    port = spec_of(case).rpc_port
    if _listens(port):
        raise NotReadyError(
            f"somebody listens at TCP port {port} of this machine already",
            why="a TRex server that is started is asked there",
            fix="choose another: --set generator.rpc_port=14501",
        )
    text = "".join(f"{workspace.fill(line)}\n" for line in lines)
    Path(workspace.fill(CONFIGURATION)).write_text(text)
    with managed(
        [workspace.fill(word) for word in command(case)],
        name=NAME,
        workspace=workspace,
        ready=lambda: _listens(port),
        timeout_s=START_S,
        environment={"RUNTIME_DIRECTORY": str(workspace.folder)},
    ) as program:
        yield program


def _listens(port: int) -> bool:
    try:
        socket.create_connection((LOCAL, port), CONNECT_S).close()
    except OSError:
        return False
    return True


def _ask(here: Host) -> Answer:
    """Say where it is: elsewhere, or in the folder that is named."""
    spec = here.settings(TrexSpec)
    if spec is None or (spec.starts and spec.install is None):
        return absent(
            "no folder of one is named; for testbeds that name it as their generator",
            "unpack TRex, and name its folder: --generator trex --set generator.install=DIR",
        )
    if spec.install is None:
        return ok(f"a server that runs, to be asked at {spec.server}:{spec.rpc_port}")
    try:
        require_program(folder := Path(spec.install))
    except NotReadyError as error:
        return missing(error.problems[0], wanted=True)
    return ok(f"{folder / PROGRAM}")


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

    kind = "trex"
    summary = "TRex: frames counted by streams, latency of a sampled one; TCP connections (ASTF)"
    Spec = TrexSpec
    checks = (Check(kind, Group.PROGRAMS, _ask),)

    def capabilities(self, case: CaseSpec) -> Capabilities:
        return Capabilities(ABILITIES, flows=1 << 24, clock=CLOCK)

    def needs(self, case: CaseSpec) -> Needs:
        spec = spec_of(case)
        return Needs(cpus=(CpuNeed.of(ROLE, spec.cpus, busy=spec.starts),))

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
            with until_left(session):
                yield session


@contextmanager
def connected_stateful(
    case: CaseSpec, numbers: dict[str, int], user: str
) -> Iterator[StatefulSession]:
    """The same of a server that opens connections."""
    with _asked_at(case) as client:
        ends = (clients_of(case), servers_of(case))
        server = StatefulServer(client, tuple(numbers[end.link] for end in ends), user)
        with _taken(server, case), until_left(StatefulSession(server, case)) as session:
            yield session


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
