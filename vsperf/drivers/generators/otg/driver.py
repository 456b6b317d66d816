"""The driver: what a trial of vsperf is to a server of the Open Traffic Generator model."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import ClassVar

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.wiring import load_share
from vsperf.drivers.generators.base import Unmeasured
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.dpdk_ports import KINDS
from vsperf.drivers.generators.otg.client import INSTALL, Client
from vsperf.drivers.generators.otg.session import Clock, OtgSession
from vsperf.drivers.generators.otg.spec import START, OtgSpec
from vsperf.drivers.generators.otg.traffic import TrafficDirection, most_flows, packet
from vsperf.drivers.settings import own_settings
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.dead import dead_deployments
from vsperf.host.places import NAMESPACE
from vsperf.host.process import Managed, managed, written
from vsperf.host.procfs import marked
from vsperf.host.workspace import LeftBehindError, Workspace
from vsperf.records.run import Endpoint, Placeholder, Placement, Step
from vsperf.stop import signals_held
from vsperf.trust import own_python, trusted

ROLE = "generator"
NAME = "otg-server"
"""Of the private server among the programs of a workspace."""
PASSWORD = f"{NAME}.password"
"""File in a workspace; a command line is read by everybody."""
PASSWORD_BYTES = 24
ELSEWHERE = ("vdev", "pci", "chassis")
"""Endpoints that are the generator's own devices, and so a server's by another name."""
SERVER_S = 60.0
LISTENING = re.compile(r"^listening on (http://\S+),", re.MULTILINE)
DOES = frozenset(
    {
        Ability.PACED,
        Ability.EXACT,
        Ability.BRIEF,
        Ability.UNEQUAL,
        Ability.IPV6,
        Ability.VLAN,
        Ability.QINQ,
        Ability.BROADCAST,
        Ability.MULTICAST,
        Ability.VARY_IP,
        Ability.VARY_MAC,
        Ability.VARY_PORT,
        Ability.PER_DIRECTION,
        Ability.OWN_COUNTS,
    }
)
"""What the model has words for, and every implementation counts by itself. Of latency it has three
numbers and no distribution, so there is none here."""


class OtgGenerator(Unmeasured):
    """Sends by whatever implements the model."""

    kind: ClassVar[str] = "otg"
    summary: ClassVar[str] = "any generator of the Open Traffic Generator model, by snappi"
    Spec: ClassVar[type[DriverSpec]] = OtgSpec

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()

    def capabilities(self, case: CaseSpec) -> Capabilities:
        return Capabilities(DOES, flows=most_flows(case.traffic))

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        if spec.server != START:
            return Needs()
        return Needs(cpus=(CpuNeed(ROLE, 1, pinned=spec.cpus.cpus if spec.cpus else None),))

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        spec = _spec_of(case)
        steps = []
        if spec.server == START:
            argv = _server(endpoints, placement)
            steps.append(
                Step(
                    component="generator",
                    action=f"start a private OTG server on CPU {argv[argv.index('--cpus') + 1]}",
                    argv=argv,
                )
            )
        named = ", ".join(
            f"{link} ({place})" for link, place in _locations(case, spec, endpoints).items()
        )
        where = "it" if spec.server == START else f"the OTG server at {spec.server}"
        packet(
            case.traffic, TrafficDirection("", 0, 1, "", "")
        )  # says what the model has no words for
        flows = int(case.traffic.flows)
        action = (
            f"have {where} send {case.traffic.size_label} frames, {flows} "
            f"{'flow' if flows == 1 else 'flows'} per direction, on the ports {named}"
        )
        return (*steps, Step(component="generator", action=action))

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[OtgSession]:
        spec = _spec_of(case)
        locations = _locations(case, spec, endpoints)
        ways = _ways(case, locations, directions)
        with ExitStack() as stack:
            address, password, private = spec.server, None, None
            if address == START:
                password = _new_password(workspace)
                started = _private(endpoints, placement, workspace)
                address, private = stack.enter_context(started)
            client = Client(address, spec.patience.seconds, password)
            stack.enter_context(closing(client))
            session = OtgSession(
                client,
                spec,
                case.traffic,
                case.trial,
                ways,
                locations,
                client.version(),
                self.clock,
                private=private,
            )
            with session.measuring():
                yield session


def _spec_of(case: CaseSpec) -> OtgSpec:
    return own_settings(case.generator, OtgSpec, "the OTG driver", "generator.kind=otg")


def _locations(case: CaseSpec, spec: OtgSpec, endpoints: tuple[Endpoint, ...]) -> dict[str, str]:
    """Return what the server calls the ports, by link."""
    if unknown := sorted(set(spec.ports) - set(case.testbed.links)):
        raise UsageError(
            f"generator.ports names the link {unknown[0]!r}, which there is not",
            why="the links of the testbed are " + ", ".join(case.testbed.links),
            fix="name ports by these links",
        )
    known = KINDS if spec.server == START else ELSEWHERE
    for endpoint in endpoints:
        if endpoint.kind not in known:
            raise UsageError(
                f"an OTG server cannot send to {endpoint.link}, which is a {endpoint.kind} port",
                why="it speaks " + ", ".join(known),
                fix="take a switch that offers one of these, such as external, another generator, "
                "or a private server: --set generator.server=start",
            )
    if spec.server == START:
        return {endpoint.link: endpoint.link for endpoint in endpoints}
    return {
        endpoint.link: spec.ports.get(endpoint.link, endpoint.address) for endpoint in endpoints
    }


def _ways(
    case: CaseSpec, locations: dict[str, str], directions: tuple[tuple[str, str], ...]
) -> tuple[TrafficDirection, ...]:
    check_directions("the OTG server", locations, directions, known="there are ports on")
    links = case.topology.links
    return tuple(
        TrafficDirection(
            f"{enters} to {leaves}",
            links.index(enters),
            links.index(leaves),
            enters,
            leaves,
            load_share(case.topology, case.traffic, (enters, leaves)),
        )
        for enters, leaves in directions
    )


def _server(endpoints: tuple[Endpoint, ...], placement: Placement) -> tuple[str, ...]:
    """Return the command line of a private server on the ports of a switch."""
    cpus = ",".join(str(cpu) for cpu in placement.of(ROLE))
    ports = (
        word
        for one in endpoints
        for word in (
            "--port",
            f"{one.link}={one.address}"
            if one.kind == "vdev"
            else f"{one.link}={one.kind}:{one.address}",
        )
    )
    listen = ("--listen", "127.0.0.1:0", "--no-hugepages", "--cpus", cpus or "0", "--burst", "8")
    secret = ("--password-file", f"{Placeholder.RUN}/{PASSWORD}")
    return own_python.module("vsperf", "otg", "serve", *ports, *listen, *secret)


def _new_password(workspace: Workspace) -> str:
    """Make a password, so that no other user of the machine can use the private server."""
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    trusted.replace(workspace.folder / PASSWORD, f"{password}\n".encode())
    return password


@contextmanager
def _private(
    endpoints: tuple[Endpoint, ...], placement: Placement, workspace: Workspace
) -> Iterator[tuple[str, Managed]]:
    """Run a private server for the time of the context; return where it listens, and itself."""
    argv = tuple(workspace.fill(word) for word in _server(endpoints, placement))
    numbers: set[int] = set()

    def listens() -> bool:
        numbers.update(marked(f"{workspace.name}/{NAME}"))
        return LISTENING.search(written(NAME, workspace)) is not None

    with (
        _nothing_left_of(numbers),
        managed(argv, name=NAME, workspace=workspace, ready=listens, timeout_s=SERVER_S) as program,
    ):
        found = LISTENING.search(written(NAME, workspace))
        if found is None:
            raise NotReadyError("the private OTG server does not say where it listens", fix=INSTALL)
        yield found[1], program


@contextmanager
def _nothing_left_of(numbers: Collection[int]) -> Iterator[None]:
    """Take down what a server leaves that was killed: tgen is in a deployment of the server's."""
    try:
        yield
    finally:
        with signals_held():
            names = tuple(f"{NAMESPACE}-{number}-" for number in numbers)
            dead = [one for one in dead_deployments() if one.folder.name.startswith(names)]
            left = [why for one in dead for why in one.take_down()]
    if left:
        raise LeftBehindError(
            "something of the private OTG server is left on this machine",
            why="; ".join(left),
            fix="mend what stands in the way, then: vsperf clean",
        )
