"""What every driver of a chassis does: it reserves, loads and releases; a dialect says how."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import ClassVar

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import Unmeasured
from vsperf.drivers.generators.directions import check_directions
from vsperf.errors import ComponentError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.undo import ReleaseChassis, owner_name
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placement, Step
from vsperf_chassis.session import Chassis, ChassisSession, unseen_s
from vsperf_chassis.spec import ChassisSpec
from vsperf_chassis.streams import streams_of

ROLE = "generator"
ABILITIES = frozenset(
    {
        *(Ability.PACED, Ability.EXACT, Ability.UNEQUAL, Ability.PER_DIRECTION),
        *(Ability.OWN_COUNTS, Ability.NUMBERED, Ability.VLAN, Ability.QINQ),
        *(Ability.BROADCAST, Ability.MULTICAST),
        *(Ability.VARY_IP, Ability.VARY_MAC, Ability.VARY_PORT),
    }
)
"""What is built for any chassis; that it can do more itself is of no use until it is.

Its trials are not brief: it tells so late for how long it sent that nobody would know the rate of a
burst.
"""


class ChassisGenerator(Unmeasured):
    """A generator whose ports are in a chassis."""

    who: ClassVar[str]
    """What it is called in sentences."""
    rest_s: ClassVar[float]
    """That of its dialect (`Chassis`)."""

    @abstractmethod
    def check(self, spec: ChassisSpec, places: dict[str, str]) -> None:
        """Refuse settings and names of ports that this dialect does not know. Pure."""

    @abstractmethod
    def connect(
        self, spec: ChassisSpec, owner: str, places: tuple[str, ...]
    ) -> AbstractContextManager[Chassis]:
        """Connect under a name; nothing is changed yet, and leaving the context hangs up."""

    def capabilities(self, case: CaseSpec) -> Capabilities:
        return Capabilities(ABILITIES)

    def needs(self, case: CaseSpec) -> Needs:
        return Needs(cpus=(CpuNeed(ROLE, 1, busy=False),))

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        spec = self._spec_of(case)
        places = places_of(self.who, endpoints)
        self.check(spec, places)
        ports = ", ".join(f"{place} ({link})" for link, place in places.items())
        traffic = case.traffic
        return (
            Step(
                component=ROLE,
                action=f"reserve the ports {ports} of {self.who} {spec.address}; one that somebody "
                "else has is left to them",
            ),
            Step(
                component=ROLE,
                action=f"build a stream for each direction: {traffic.frame_size} frames, "
                f"{traffic.flows} flows; each trial sends an exact number of frames at a rate, and "
                f"a port that is slower than that is seen when it is {unseen_s(self.rest_s):g} s "
                "late",
            ),
        )

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[ChassisSession]:
        spec = self._spec_of(case)
        places = places_of(self.who, endpoints)
        self.check(spec, places)
        check_senders(self.who, places, directions)
        streams = streams_of(case, directions, places)
        ports = tuple(places.values())
        owner = owner_name(workspace.name)
        undo = ReleaseChassis(
            dialect=self.kind,
            chassis=spec.address,
            owner=owner,
            ports=ports,
            password_file=spec.password_file,
        )
        with self.connect(spec, owner, ports) as chassis, workspace.undoing(undo) as becomes:
            try:
                chassis.reserve()
                chassis.load(streams)
                session = ChassisSession(self.who, chassis, streams, case.trial)
                try:
                    yield session
                finally:
                    session.close()
            finally:
                with suppress(ComponentError):  # the undo tries again, by another connection
                    chassis.release()
                    becomes(undo.model_copy(update={"ports": ()}))

    def _spec_of(self, case: CaseSpec) -> ChassisSpec:
        if not isinstance(case.generator, self.Spec):
            raise UsageError(
                f"{self.who} was given settings of kind {case.generator.kind!r}",
                fix=f"--set generator.kind={self.kind}",
            )
        assert isinstance(case.generator, ChassisSpec)  # by the class attribute
        if case.generator.chassis is None:
            raise UsageError(
                f"nobody says where {self.who} is",
                why="its address is of the testbed, and there is no default for it",
                fix="--set generator.chassis=192.0.2.7",
            )
        return case.generator


KIND = "chassis"
"""Of an endpoint that is a port of a chassis."""
OTHER = "--set generator.kind=tgen"


def places_of(who: str, endpoints: tuple[Endpoint, ...]) -> dict[str, str]:
    """Return by link which port of the chassis is there; refuse ports that are elsewhere."""
    for endpoint in endpoints:
        if endpoint.kind != KIND:
            raise UsageError(
                f"{who} cannot send to {endpoint.link}, which is a {endpoint.kind} port",
                why="its ports are in a chassis, and cables lead to the switch from there",
                fix=f"name the port: --set testbed.links.{endpoint.link}.generator=chassis:PORT",
            )
    return {endpoint.link: endpoint.address for endpoint in endpoints}


def check_senders(
    who: str, places: dict[str, str], directions: tuple[tuple[str, str], ...]
) -> None:
    """Refuse directions that begin or end where no port is, and several from one port."""
    senders = [way[0] for way in directions]
    if len(set(senders)) < len(senders):
        raise UsageError(
            f"{who} is told to send one stream from each port, and this needs several of one",
            fix=f"--set topology=p2p, or {OTHER}",
        )
    check_directions(who, places, directions, known="there are ports on")


def check_places(
    places: Mapping[str, str], pattern: re.Pattern[str], who: str, called: str, example: str
) -> None:
    """Refuse what is no name of a port; `who` ends the sentence on a port that there is not."""
    for link, place in places.items():
        if not pattern.fullmatch(place):
            raise UsageError(
                f"testbed link {link} names the port {place!r}, which {who}",
                why=f"its ports are called by {called}",
                fix=f"--set testbed.links.{link}.generator=chassis:{example}",
            )
