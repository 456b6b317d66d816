"""The driver: what a trial of vsperf is to a server of the Open Traffic Generator model.

It is believed only as far as its counters fit together.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.traffic import TrafficProfile, TrialPolicy
from vsperf.config.wiring import load_share
from vsperf.drivers.generators.base import OnSample, TrialRequest, Unmeasured
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.dpdk_ports import KINDS
from vsperf.drivers.generators.otg.accounts import (
    Asked,
    Flows,
    Ports,
    alike,
    all_left,
    changed,
    foreign_frames,
    gave_up,
    held_to_pace,
    links_down,
    never_fell,
)
from vsperf.drivers.generators.otg.client import INSTALL, Client
from vsperf.drivers.generators.otg.traffic import TrafficDirection, config, most_flows, packet
from vsperf.drivers.settings import reading
from vsperf.errors import ComponentError, DiedError, NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.dead import dead_deployments
from vsperf.host.places import NAMESPACE
from vsperf.host.process import Managed, managed, written
from vsperf.host.procfs import marked
from vsperf.host.workspace import LeftBehindError, Workspace
from vsperf.quantities.units import NANOSECONDS, CpuSet, Duration
from vsperf.records.run import Endpoint, Placeholder, Placement, Step
from vsperf.records.trial import Direction, DirectionSample, RateStep, Sample, TrialCounts
from vsperf.stop import signals_held
from vsperf.trust import own_python, trusted
from vsperf.waits import sleep

START = "start"
LOCAL = "http://127.0.0.1:8443"


def _address(value: str) -> str:
    if value != START and not value.startswith(("http://", "https://")):
        raise ValueError("must be `start`, or begin with http:// or https://")
    return value.rstrip("/")


class OtgSpec(DriverSpec):
    """Settings of a generator that implements the Open Traffic Generator model."""

    kind: Literal["otg"]
    server: Annotated[str, AfterValidator(_address)] = LOCAL
    """Where it listens, such as https://ixia-c:8443, whose certificate is not verified; or `start`
    for a private `vsperf otg serve` on the ports of the switch."""
    ports: Mapping[str, str] = Field(default_factory=dict)
    """What the server calls the ports, by links. Unless named here it is the device that the
    testbed has for the generator's end."""
    patience: Duration = Duration(10_000_000_000)
    """How long an answer may take, and a link to come up, and flows to stop when told to."""
    refresh: Duration = Duration(0)
    """How old the counters may be that the server tells; 0 where it counts when it is asked. Trials
    take as much longer, so that what has not been counted yet is not taken for lost."""
    cpus: CpuSet | None = None
    """The CPU that a private server sends from."""


_spec_of = reading("generator.kind=otg", OtgSpec, "the OTG driver")
GONE = "the OTG server is no longer connected"
POLL_S = 0.02
LEAST_QUIET_S = 0.05
LEAST_LATE_S = 0.1
"""How late the last frame may be before a trial is cut; less would be that of the conversation."""
FIRST = RateStep(1_000, NANOSECONDS)
"""Configured and never sent, so that what a server cannot do is known before a trial."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as it passes here; tests have another one."""

    now: Callable[[], float] = time.monotonic
    """In seconds."""
    sleep: Callable[[float], None] = sleep


@dataclass
class OtgSession:
    """A server that is connected, with a version that fits."""

    client: Client
    spec: OtgSpec
    profile: TrafficProfile
    policy: TrialPolicy
    ways: tuple[TrafficDirection, ...]
    locations: Mapping[str, str]
    """What the server calls the ports, by link."""
    versions: Mapping[str, str]
    clock: Clock = field(default_factory=Clock)
    warnings: tuple[str, ...] = ()
    """What the server remarked on the configuration."""
    private: Managed | None = None
    """The server, where it is this run's own."""
    broken: str | None = None
    closed: bool = False
    _ours: bool = False
    """Whether its configuration is this session's."""
    _last: Flows = field(default_factory=dict)
    """What was told at the end of the last trial."""

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Have the server for a while, and nothing of ours on it afterwards."""
        try:
            self._prepare()
            yield
            self._finish()
        finally:
            self.closed = True
            with suppress(ComponentError):
                if self._ours:
                    self.client.release()

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        if self.closed:
            raise ComponentError(GONE)
        self._check(request)
        began = time.monotonic_ns()
        try:
            counts = self._trial(request, on_sample)
        except ComponentError:
            self._stop()
            raise
        return counts.model_copy(update={"elapsed_ns": time.monotonic_ns() - began})

    def failure(self) -> str | None:
        if self.closed:
            return GONE
        if self.private is not None and (died := self.private.failure()) is not None:
            return f"{self.private.name} {died}"
        return self.broken

    def facts(self) -> dict[str, Any]:
        return {
            "server": self.client.location,
            **self.versions,
            "ports": dict(self.locations),
            "warnings": list(self.warnings),
        }

    def _prepare(self) -> None:
        """Take the server for this case; raises where it is in use, or cannot send its frames."""
        if busy := self.client.senders():
            raise NotReadyError(
                f"the OTG server at {self.client.location} is sending for somebody else",
                why=f"its ports {', '.join(busy)} send",
                fix="wait for their end, or stop them; after a run that was killed, its last trial "
                "goes on to its end",
            )
        self._ours = True
        self.warnings = self._configure(FIRST)
        self._links_up()

    def _finish(self) -> None:
        """See that what was told of the last trial still holds; raises `DiedError`."""
        now: Flows = {}
        with suppress(ComponentError):  # who is silent has not told another story
            now = self.client.flows(self._names()) if self._last else {}
        if why := changed(self._last, now):
            raise DiedError(why)

    def _check(self, request: TrialRequest) -> None:
        request.require_frames()
        latency = request.latency or request.latency_after_ns or request.latency_ranges
        if request.steps or latency:
            raise ComponentError(
                "a generator of the OTG model does not change its load in mid-trial, and tells no "
                "distribution of latency",
                why="the model has no words for that",
                fix="choose another method, or another generator",
            )

    def _trial(self, request: TrialRequest, on_sample: OnSample | None) -> TrialCounts:
        self._still_the_same()
        (step,) = request.parts
        asked = {way.name: step.shared(way.share) for way in self.ways}
        self._configure(step)
        before = self._links_up()
        began = self.clock.now()
        self.client.transmit("start", self._names())
        last = self._until_sent(asked, began, on_sample)
        last, settled = self._until_quiet(last)
        after = self._ports()
        self.clock.sleep(self.policy.pause.seconds)
        settled = settled and alike(last, self._read(last))
        foreign = foreign_frames(last, self.ways, before, after)
        self._last = last if settled else {}
        return TrialCounts(
            directions=tuple(
                Direction(
                    name=way.name,
                    intended_frames=asked[way.name].frames,
                    sent_frames=last[way.name].sent,
                    received_frames=last[way.name].received,
                    foreign_frames=foreign.get(way.receiver),
                )
                for way in self.ways
            ),
            sending_ns=None,
            elapsed_ns=0,
            settled=settled,
        )

    def _still_the_same(self) -> None:
        """See that server and figures are those of the last trial, before both are gone."""
        if (said := self.client.version()) != self.versions:
            self.broken = (
                f"the OTG server became another one: {said['application']}, model {said['model']}; "
                f"it was {self.versions['application']}, model {self.versions['model']}"
            )
        elif self._last:
            try:
                self.broken = changed(self._last, self.client.flows(self._names()))
            except ComponentError as error:
                self.broken = f"the figures of the last trial are gone: {error.with_why}"
                self._ours = False
        self._last = {}
        if self.broken is not None:
            raise ComponentError(self.broken)

    def _configure(self, step: RateStep) -> tuple[str, ...]:
        return self.client.configure(config(self.profile, self.ways, self.locations, step))

    def _links_up(self) -> Ports:
        """Wait until no link is down, and return the counters of ports."""
        deadline = self.clock.now() + self.spec.patience.seconds
        while links_down(self.client.ports(tuple(self.locations))):
            if self.clock.now() > deadline:
                break
            self.clock.sleep(POLL_S)
        return self._ports()

    def _ports(self) -> Ports:
        """Return the counters of ports; raises where a link is down."""
        found = self.client.ports(tuple(self.locations))
        if down := links_down(found):
            raise ComponentError(
                f"the OTG server has no link on {', '.join(down)}",
                why="what is sent there is lost before any switch",
                fix="see that the cable is plugged in, and the device at its other end is up",
            )
        return found

    def _until_sent(self, asked: Asked, began: float, on_sample: OnSample | None) -> Flows:
        """Wait for the time of sending, and then until all has left, or is too late."""
        started = self.clock.now()
        duration_ns = next(iter(asked.values())).duration_ns
        due_s, allowed_ns = duration_ns / NANOSECONDS, self.policy.allowed_late_ns(duration_ns)
        seconds = range(1, int(due_s)) if on_sample else range(0)
        last: Flows = {}
        for moment in sorted({*seconds, due_s / 2}):
            self._sleep_until(started + moment)
            last = self._read(last)
            elapsed_ns = int((self.clock.now() - began) * NANOSECONDS)
            held_to_pace(last, asked, elapsed_ns, allowed_ns)
            if on_sample is not None and moment in seconds:
                on_sample(self._sample(last, elapsed_ns))
        self._sleep_until(started + due_s)
        late_s = max(allowed_ns / NANOSECONDS, LEAST_LATE_S) + self.spec.refresh.seconds
        while not all_left(last := self._read(last), asked):
            if self.clock.now() > started + due_s + late_s:
                gave_up(last, asked)
                break  # what did not leave in time is unsent
            self.clock.sleep(POLL_S)
        return self._ended(last)

    def _ended(self, last: Flows) -> Flows:
        """Stop sending, and wait until all flows say that they have ended."""
        self.client.transmit("stop", self._names())
        last = self._read(last)
        patience_s = self.spec.patience.seconds + self.spec.refresh.seconds
        deadline = self.clock.now() + patience_s
        while any(one.sending for one in last.values()):
            if self.clock.now() > deadline:
                raise ComponentError(
                    f"the OTG server still sends {patience_s:g} s after it was told to stop"
                )
            self.clock.sleep(POLL_S)
            last = self._read(last)
        return last

    def _until_quiet(self, last: Flows) -> tuple[Flows, bool]:
        """Wait until counters rest for as long as the trial's policy says; say whether they did."""
        quiet_s = max(self.policy.drain.seconds, LEAST_QUIET_S) + self.spec.refresh.seconds
        since = self.clock.now()
        deadline = since + 2 * quiet_s + 1
        while True:
            self.clock.sleep(POLL_S)
            news = self._read(last)
            now = self.clock.now()
            if not alike(news, last):
                last, since = news, now
            if now - since >= quiet_s:
                return last, True
            if now > deadline:
                return last, False

    def _read(self, before: Flows) -> Flows:
        """Return the counters of all flows, which never fall while a trial lasts."""
        found = self.client.flows(self._names())
        never_fell(before, found)
        return found

    def _sleep_until(self, moment: float) -> None:
        self.clock.sleep(max(0.0, moment - self.clock.now()))

    def _names(self) -> tuple[str, ...]:
        return tuple(way.name for way in self.ways)

    def _sample(self, last: Flows, elapsed_ns: int) -> Sample:
        return Sample(
            elapsed_ns=elapsed_ns,
            directions=tuple(
                DirectionSample(
                    name=name, sent_frames=last[name].sent, received_frames=last[name].received
                )
                for name in self._names()
            ),
        )

    def _stop(self) -> None:
        """Have it stop after a failure; a session that cannot is over."""
        self._last = {}
        try:
            self.client.transmit("stop", self._names())
        except ComponentError as error:
            self.broken = self.broken or error.with_why


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

    kind = "otg"
    summary = "any generator of the Open Traffic Generator model, by snappi"
    Spec = OtgSpec

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
