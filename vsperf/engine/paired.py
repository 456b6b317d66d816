"""A comparison from its plan to its record: rounds of turns on switches that all stand at once.

What decides how rounds are made is the method's; here everything is made anew between them, looked
at, and written down.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from vsperf.deploy.deployment import prepare
from vsperf.deploy.together import Together, deploy_together, start_sides
from vsperf.drivers.generators.base import TurnsRequest
from vsperf.engine.assignment import CaseRun
from vsperf.engine.attempts import stayed_invalid, until_valid
from vsperf.engine.closing import as_failure, close_case
from vsperf.engine.conditions import clipped, uneven
from vsperf.engine.criteria import check_all
from vsperf.engine.draws import drawn_anew
from vsperf.errors import (
    ComponentError,
    DiedError,
    PathError,
    PathLostError,
    RecordingError,
    VsperfError,
)
from vsperf.host.workspace import LeftBehindError, Workspace, nothing_left_of
from vsperf.methods.base import loads_of, method_of
from vsperf.methods.turns import Compares, TurnsAsked
from vsperf.progress import DeploymentKept, RoundStarted
from vsperf.records.host import Conditions
from vsperf.records.result import SearchResult
from vsperf.records.run import CaseRecord
from vsperf.records.turn_columns import Turn
from vsperf.records.turns import Named, Role, Round, answering
from vsperf.search.base import Budget, Loads

CHECK_FPS = 1_000
CHECK_TURN_NS = 50_000_000
CHECK_GUARD_NS = 2_000_000
PATIENT = 10
"""Times that the path is checked, where the machine may have kept a switch from running."""


def measure_together(run: CaseRun, warnings: tuple[str, ...] = ()) -> CaseRecord:
    """Deploy all switches, have the method compare them, and return what it found."""
    spec, plan = run.case.seeded_spec, run.plan
    method = method_of(spec)
    assert isinstance(method, Compares)  # its cases have sides
    with run.deploying() as (place, stack):
        prepare(spec, plan, place, stack)
        run.enter("calibrate")
        jitter = run.calibrator.jitter(spec, plan, run.drivers, place)
        calibration = run.calibrator.calibration(spec, plan, run.drivers, place)
        loads = loads_of(spec, calibration.cap_fps if calibration else None)
        warnings += clipped(spec, loads) + uneven(spec)
        bench = stack.enter_context(_bench(run, place, loads))
        result = _played(run, method, bench)
        found = bench.found.model_copy(
            update={
                "calibration": calibration,
                "stalls": jitter.stalls,
                "round_trip_ns": jitter.round_trip_ns,
            }
        )
        if run.keep() and not result.spoiled:
            bench.keep()
    record = close_case(run.case, plan, result, (), found, warnings)
    made = {"trials": len(bench.made), "measured_ns": bench.measured_ns}
    return record.model_copy(update=made)


def _played(run: CaseRun, method: Compares, bench: RoundsBench) -> SearchResult:
    """Return what the method found; a part that fails takes nothing back of the rounds before it.

    Unless they are too few for an answer, or nobody knows since when a path was dead.
    """
    try:
        return method.play(bench)
    except (PathLostError, RecordingError):
        raise
    except (VsperfError, OSError) as error:
        count = len(answering(bench.made))
        if count < method.least_rounds:
            raise
        if isinstance(error, LeftBehindError):
            run.undone.append(error)
        why = f"{count} rounds were made, and no more: {as_failure(error).with_why}"
        return method.answered(bench.made, spoiled=why)


@contextmanager
def _bench(run: CaseRun, place: Workspace, loads: Loads) -> Iterator[RoundsBench]:
    bench = RoundsBench(run, place, loads)
    with nothing_left_of(bench.places):
        try:
            yield bench
        finally:
            bench.standing.close()


@dataclass
class RoundsBench:
    """Rounds on what is deployed; everything is made anew when the method asks for that."""

    run: CaseRun
    place: Workspace
    """Of the case: the generator's."""
    loads: Loads
    standing: ExitStack = field(default_factory=ExitStack)
    """Takes down what stands."""
    places: list[Workspace] = field(default_factory=list)
    """Of all switches so far."""
    together: Together | None = None
    deployments: int = 0
    made: list[Round] = field(default_factory=list)
    """Every round that was recorded, in order."""
    measured_ns: int = 0
    found: Conditions = field(default_factory=Conditions)
    """What the first deployment found around itself."""

    @property
    def budget(self) -> Budget:
        return self.run.budget

    @property
    def sides(self) -> tuple[Named, ...]:
        return tuple(
            Named(letter=one.side.letter, name=one.side.name) for one in self.run.plan.sides
        )

    @property
    def warm_up_ns(self) -> int:
        """As long as the warm-up of a trial would be."""
        return self.run.case.seeded_spec.trial.warm_up.ns

    def round(self, asked: TurnsAsked) -> Round:
        """Have all sides take their turns, on what stands or on what is made anew.

        A round that is not valid is repeated on the same deployment, as any trial would be.
        """
        if asked.anew:
            self._take_down()
        retries = self.run.case.seeded_spec.trial.retries
        attempt = partial(self._attempt, asked)
        one = until_valid(attempt, retries, self.budget, asked.length_ns)
        if not one.valid:
            why = "; ".join(one.reasons)
            raise stayed_invalid(f"round {one.index}", one.flags, retries, why)
        return one

    def _attempt(self, asked: TurnsAsked, retry_of: int | None) -> Round:
        """Make a round, and see before it, and behind one on which there is doubt, who forwards."""
        stood = self.together is not None
        together = self._deployed()
        if stood:  # while it stood, rules may have run out
            self._check(together, asked.role)
        one = self._made(together, asked, retry_of)
        if silent_at_the_end(one) or not one.valid:
            self._check(together, asked.role, after=one)
        return one

    def judged(self, result: SearchResult) -> tuple[tuple[str, bool | None], ...]:
        """Return what each criterion of the case makes of a result, as it does in the end."""
        spec = self.run.case.spec
        checks = check_all(spec, result, ())
        asked = zip(spec.expect, checks, strict=True)
        return tuple((expected.metric, check.met) for expected, check in asked)

    def keep(self) -> None:
        """Leave everything up."""
        together = self._deployed()
        for place in (*(side.place for side in together.sides), self.place):
            place.keep()
        folder = str(self.place.folder)
        self.run.emit(DeploymentKept(self.run.case, folder, together.access))

    def _take_down(self) -> None:
        if self.together is None:
            return
        self.run.enter("tear down")
        self.together = None
        self.standing.close()
        for place in self.places:
            place.require_nothing_left()
        self.places.clear()

    def _deployed(self) -> Together:
        """Return what stands, made and checked if nothing does."""
        if self.together is not None:
            return self.together
        self.run.enter("deploy")
        self.deployments += 1
        run, plan = self.run, self.run.plan
        spec = drawn_anew(run.case.seeded_spec, self.deployments)
        last_first = self.deployments % 2 == 0
        sides = start_sides(plan.sides, self._own_place, self.standing, last_first=last_first)
        self.together = together = deploy_together(
            spec, plan, run.drivers, self.place, sides, self.standing
        )
        if self.deployments == 1:
            self.found = _conditions(together)
        run.enter("check the path")
        self._check(together)
        run.enter("search")
        return together

    @contextmanager
    def _own_place(self) -> Iterator[Workspace]:
        with self.run.workspace() as place:
            self.places.append(place)
            yield place

    def _check(
        self, together: Together, role: Role = Role.CHECK, after: Round | None = None
    ) -> None:
        """See that each side forwards: rules may have run out, and a search on silence is none.

        Where it is no longer so behind a round or before one, each of them did so before.
        """
        order = tuple(range(len(together.sides)))
        asked = TurnsAsked(Role.CHECK, CHECK_FPS, order, CHECK_TURN_NS, CHECK_GUARD_NS)
        dead: list[str] = []
        for _ in range(PATIENT):
            one = self._made(together, asked)
            turns = {turn.side: turn for turn in one.turns.rows()}
            dead = [
                f"{side.named}{missing}"
                for place, side in enumerate(self.sides)
                if (missing := _missing(turns.get(place), one)) is not None
            ]
            if not dead:
                return
        if role is not Role.CHECK:
            when = "before a round" if after is None else f"in round {after.index}"
            raise PathLostError(
                f"{', '.join(dead)} forwarded frames at first, and does so no more {when}",
                why="rules that have a time-out run out while their switch is held still, and what "
                "it forwards from then on is not its rate",
                fix="give rules no time-out (idle_timeout, hard_timeout), and a switch that ages "
                "addresses fixed ones; or ask for shorter rounds: --set search.pairs=…",
            )
        raise PathError(
            f"no frame came through {', '.join(dead)}",
            why="a switch that forwards nothing is no slow switch",
            fix="`vsperf plan` shows the path; check the ports and flow rules along it",
        )

    def _made(self, together: Together, asked: TurnsAsked, retry_of: int | None = None) -> Round:
        run = self.run
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        run.emit(RoundStarted(run.case, asked.load_fps, asked.length_ns, asked.rings))
        request = TurnsRequest(
            asked.order,
            asked.load_fps,
            asked.turn_ns,
            asked.guard_ns,
            latency=asked.latency,
            rings=asked.rings,
        )
        try:
            found = together.generator.take_turns(request)
        except ComponentError as error:
            if (why := together.failure()) is not None:
                raise DiedError("a part failed while switches took turns", why=why) from error
            raise
        if (why := together.failure()) is not None:
            raise DiedError("a part failed while switches took turns", why=why)
        one = Round(
            index=len(self.made) + 1,
            role=asked.role,
            started_at=started_at,
            deployment=self.deployments,
            sides=self.sides,
            load_fps=asked.load_fps,
            directions=len(run.plan.plan.directions),
            direction_names=tuple(" to ".join(one) for one in run.plan.plan.directions),
            turn_ns=asked.turn_ns,
            guard_ns=asked.guard_ns,
            elapsed_ns=found.elapsed_ns,
            turns=found.columns,
            counts=found.sides,
            settled=found.settled,
            ring_frames=found.ring_frames,
            warm_passes=asked.warm_passes,
            retry_of=retry_of,
        )
        self.measured_ns += one.elapsed_ns
        run.record_round(one)
        self.made.append(one)
        run.budget.spend(one.elapsed_ns)
        return one


def _missing(turn: Turn | None, one: Round) -> str | None:
    """Return in how much of a side nothing came through; None where all directions forward.

    Where nobody counts directions, one is dead where its share of so light a load is missing.
    """
    if turn is None or not turn.turn_received_frames:
        return ""
    came, sent = turn.received_by_direction, turn.sent_by_direction
    if came is not None and sent is not None:
        ways = enumerate(zip(came, sent, strict=True))
        dead = [one.direction(number) for number, (back, left) in ways if left and not back]
        return f" from {' and from '.join(dead)}" if dead else None
    if turn.turn_received_frames * one.directions > turn.turn_sent_frames * (one.directions - 1):
        return None
    return " in one direction"


def silent_at_the_end(one: Round) -> bool:
    """Whether nothing came through a side in its last turn: that may be the machine, or no path.

    One direction in which nothing came is enough.
    """
    last = {turn.side: turn for turn in one.turns.rows()}
    return any(
        turn.turn_sent_frames > 0
        and (turn.turn_received_frames == 0 or 0 in (turn.received_by_direction or ()))
        for turn in last.values()
    )


def _conditions(together: Together) -> Conditions:
    """Return what the parts say of themselves: the first switch, and the others by letter."""
    first, *others = together.sides
    rivals: dict[str, Any] = {one.plan.side.letter: one.switch.facts() for one in others}
    return Conditions(
        switch={**first.switch.facts(), "rivals": rivals},
        vnfs={} if first.vnfs is None else first.vnfs.facts(),
        generator=together.generator.facts(),
    )
