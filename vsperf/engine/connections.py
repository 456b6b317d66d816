"""A case of connections, from its plan to its record: the generator is client and server.

What decides which connections are opened is the method's; here all is deployed and looked at, and
what became of connections is judged and written down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from vsperf.config.connections import answering_of, clients_of
from vsperf.deploy.deployment import Deployment, deploy, prepare
from vsperf.drivers.generators.base import (
    ConnectionEnd,
    ConnectionEnds,
    ConnectionsRequest,
    ConnectsSession,
)
from vsperf.drivers.vswitches.base import ForgetsConnections, KeepsConnections, Routes
from vsperf.engine.assignment import CaseRun
from vsperf.engine.attempts import stayed_invalid, until_valid
from vsperf.engine.closing import close_case
from vsperf.engine.disturb import NOTHING, Happened, acted
from vsperf.engine.events import Parts
from vsperf.engine.instruments import Instruments, disturbed, instruments, looked_back
from vsperf.engine.judge import in_order
from vsperf.engine.judge_connections import judged
from vsperf.engine.measurer import FAILED, PAID
from vsperf.engine.watch import Seen, not_back
from vsperf.errors import ComponentError, DiedError, PathError
from vsperf.methods.base import SHARE_BEFORE, method_of
from vsperf.methods.connections import ConnectionsAsked, OpensConnections
from vsperf.progress import ConnectionsStarted, DeploymentKept
from vsperf.records.connections import ConnectionCounts, ConnectionTrial, Unbalanced
from vsperf.records.flags import Flag
from vsperf.records.run import CaseRecord
from vsperf.records.switch import Kept
from vsperf.search.base import Budget
from vsperf.waits import Aside

LOOK_S = 0.5
"""Between two looks at what a switch keeps while connections are held."""
PATIENT = 3
"""Times that it is tried whether any connection comes through: the machine may be away."""


def measure_connections(run: CaseRun, warnings: tuple[str, ...] = ()) -> CaseRecord:
    """Deploy, see that connections come through, have the method ask, return what it found."""
    spec, plan, first = run.case.seeded_spec, run.plan, len(run.connections)
    method = method_of(spec)
    assert isinstance(method, OpensConnections)  # its cases have connections
    with run.deploying() as (place, stack):
        groups = prepare(spec, plan, place, stack)
        run.enter("calibrate")
        jitter = run.calibrator.jitter(spec, plan, run.drivers, place)
        run.enter("deploy")
        deployment = deploy(spec, plan, run.drivers, place, stack)
        around = stack.enter_context(instruments(run, deployment, place, (None, jitter), groups))
        bench = MeasuredConnections(run, around, deployment, ends_of(run, deployment))
        run.enter("check the path")
        check(bench, method.checking())
        stack.enter_context(disturbed(run, around, place))
        run.enter("search")
        result = method.play(bench)
        warnings += around.collecting.without_frames()
        found = looked_back(around.found, deployment.generator)
        if run.keep():
            place.keep()
            run.emit(DeploymentKept(run.case, str(place.folder), deployment.access))
    made = run.connections[first:]
    seen = tuple(one.as_load(one.rate) for one in made if one.accounts is not None)
    record = close_case(run.case, plan, result, seen, found, warnings)
    return record.model_copy(
        update={"trials": len(made), "measured_ns": sum(one.elapsed_ns for one in made)}
    )


def ends_of(run: CaseRun, deployment: Deployment) -> ConnectionEnds:
    """Return both ends, which send to each other, or to a device that is a hop between them."""
    spec = run.case.seeded_spec
    clients, servers = clients_of(spec), answering_of(spec)
    hops: Mapping[str, str] = {clients.link: servers.mac, servers.link: clients.mac}
    if isinstance(deployment.switch, Routes):
        hops = deployment.switch.next_hops()
    shared_out: bool = getattr(spec.vswitch, "shares_out", False)
    return ConnectionEnds(
        ConnectionEnd(clients, hops[clients.link]),
        ConnectionEnd(servers, hops[servers.link]),
        clients.service_ip if shared_out else str(servers.first_ip),
        1 if shared_out else servers.addresses,
    )


def check(bench: MeasuredConnections, asked: ConnectionsAsked) -> None:
    """Raise `PathError` unless connections come to their end in order, one at least."""
    for _ in range(PATIENT):
        one = bench.attempt(asked, None)
        if one.client is not None and one.client.completed:
            return
    if one.error is not None:
        raise ComponentError(
            "the generator failed in the path check",
            why=one.error,
            fix="`vsperf doctor` checks what it needs; `vsperf plan` prints its commands",
        )
    became = one.causes_text or "none was begun"
    raise PathError(
        f"no connection comes through: of {asked.connections}, {became}",
        why="a search on a dead path would end at its lowest load and call that a result",
        fix="`vsperf plan` shows the path; check the rules along it, and those for new connections",
    )


def added_up(counts: ConnectionCounts) -> ConnectionCounts:
    """Return what a generator tells; raise `ComponentError` where its accounts do not add up."""
    try:
        return counts.balanced()
    except Unbalanced as error:
        raise ComponentError(
            f"the generator tells of {error}",
            why="each connection, and each request that was due, has one outcome",
            fix="its driver, or the generator, counts wrongly: take another (--generator tgen)",
        ) from error


@dataclass
class MeasuredConnections:
    """Connections through what is deployed."""

    run: CaseRun
    around: Instruments
    deployment: Deployment
    ends: ConnectionEnds
    kept: tuple[Kept, Kept, Kept] | None = None
    """By the switch, of the last trial: before it, at most, and after it."""

    @property
    def budget(self) -> Budget:
        return self.run.budget

    @property
    def overhead_ns(self) -> int:
        beside_ns = self.run.plan.generator_can.trial_ns
        return self.run.case.seeded_spec.trial.overhead_ns + beside_ns

    @property
    def switched(self) -> bool:
        """Whether anything is between both ends."""
        return self.run.case.seeded_spec.switched

    def round_trip_ns(self) -> int | None:
        """Return how far the CPUs of generator and switch were from each other at the last look."""
        return self.around.measurer.watch.known_round_trip_ns()

    def hold(self, ns: int) -> None:
        """Hold the next trial back for so long, and look again."""
        self.around.measurer.hold(ns)

    def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
        """Open connections, again as often as trials are repeated that are invalid."""
        retries = self.run.case.seeded_spec.trial.retries
        cost_ns = asked.lasting_ns + self.overhead_ns
        one = until_valid(partial(self.attempt, asked), retries, self.budget, cost_ns)
        if one.valid:
            return one
        if one.error is not None:
            raise ComponentError(f"the generator failed in trial {one.index}", why=one.error)
        named = f"trial {one.index} at {one.rate:,} {one.noun} a second"
        raise stayed_invalid(named, one.flags, retries)

    def attempt(self, asked: ConnectionsAsked, retry_of: int | None) -> ConnectionTrial:
        """Make one trial, judge it, record it, and return it whatever the judgement."""
        run, watch = self.run, self.around.measurer.watch
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        begun = ConnectionsStarted(
            run.case, asked.purpose, asked.rate_cps, asked.connections, asked.request_rps
        )
        run.emit(begun)
        generator = self.deployment.generator
        assert isinstance(generator, ConnectsSession)  # it says that it is able to
        self.around.collecting.begin(len(run.connections) + 1, asked.purpose)
        watch.begin()
        watch.event = asked.event
        counts: ConnectionCounts | None = None
        error, happened, self.kept = None, NOTHING, None
        lost: ComponentError | None = None
        try:
            made, happened = self._connect(generator, asked)
            counts = added_up(made)
        except ComponentError as failure:
            lost, error = failure, failure.with_why
        seen = watch.end()
        if isinstance(lost, DiedError):
            seen = not_back(asked.event, lost.with_why)
        self.around.collecting.end()
        one = self._judged(asked, retry_of, started_at, counts, error, seen)
        if asked.event is not None and counts is not None:
            missed = (Flag.EVENT_MISSED,) if happened.event is None else ()
            update = {"event": happened.event, "flags": in_order({*one.flags, *missed})}
            one = one.model_copy(update=update)
        run.record_connections(one)
        if counts is not None and not (one.valid and asked.purpose in PAID):
            run.budget.spend(counts.elapsed_ns)
        if seen.failure is not None:
            part = FAILED.get(seen.flag, "the switch")
            raise DiedError(f"{part} failed during trial {one.index}", why=seen.failure)
        if (reason := generator.failure()) is not None:
            raise DiedError(f"the generator failed during trial {one.index}", why=reason)
        return one

    def _connect(
        self, generator: ConnectsSession, asked: ConnectionsAsked
    ) -> tuple[ConnectionCounts, Happened]:
        """Have connections opened, and meanwhile do to the switch what is asked for."""
        request, switch = ConnectionsRequest(asked, self.ends), self.deployment.switch
        if asked.is_of_open_ones and isinstance(switch, ForgetsConnections):
            switch.forget_connections()  # those of the trial before are open no more
        if asked.event is None:
            return self._looking(lambda: generator.connect(request), asked), NOTHING
        parts = Parts(switch, self.deployment.vnfs)
        acts_ns = asked.duration_ns // SHARE_BEFORE
        return acted(
            lambda: generator.connect(request), asked.event, parts, acts_ns, asked.duration_ns
        )

    def _looking(
        self, connect: Callable[[], ConnectionCounts], asked: ConnectionsAsked
    ) -> ConnectionCounts:
        """Connect, and look at what the switch keeps: meanwhile only where connections are held."""
        before = self._kept()
        if before is None:
            return connect()
        most, connecting = before, Aside(connect)
        while not connecting.over(LOOK_S if asked.hold_ns else None):
            most = most.most(self._kept() or before)
        counts = connecting.returned()
        after = self._kept()
        if after is not None:
            self.kept = (before, most.most(after), after)
        return counts

    def _kept(self) -> Kept | None:
        """Return what the switch keeps now; None where it cannot tell."""
        switch = self.deployment.switch
        try:
            return switch.kept() if isinstance(switch, KeepsConnections) else None
        except ComponentError:
            return None  # whether it still works is for its watch to say

    def _judged(
        self,
        asked: ConnectionsAsked,
        retry_of: int | None,
        started_at: str,
        counts: ConnectionCounts | None,
        error: str | None,
        seen: Seen,
    ) -> ConnectionTrial:
        measurer = self.around.measurer
        one = ConnectionTrial(
            index=len(self.run.connections) + 1,
            retry_of=retry_of,
            purpose=asked.purpose,
            started_at=started_at,
            protocol=asked.protocol,
            rate_cps=asked.rate_cps,
            asked=asked.connections,
            hold_ns=asked.hold_ns,
            requests=asked.requests,
            request_bytes=asked.request_bytes,
            response_bytes=asked.response_bytes,
            request_rps=asked.request_rps,
            requests_due=asked.requests_due,
            flood_fps=asked.flood_fps,
            kept=self.kept,
            clients=self.ends.client.end.addresses,
            servers=self.ends.server.end.addresses,
            counts=counts,
            switch=seen.switch,
            threads=seen.threads,
            flags=(),
            error=error or seen.failure,
            round_trips_ns=seen.round_trips_ns,
            held=measurer.held,
        )
        flag = seen.flag if seen.failure is not None else None
        policy = self.run.case.seeded_spec.trial
        found = judged(one, policy, flag, noise_slackened=seen.noise_slackened)
        if found.valid:
            measurer.held = None
        return found
