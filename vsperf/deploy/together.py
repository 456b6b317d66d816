"""Carrying out the plan of a comparison: all switches at the same time, and one generator.

Each switch lives in a workspace of its own, with its own journal, so whatever becomes of one is
undone as if it was alone. The generator lives in that of the case. There it is promised, after
everything else and so carried out first, that whoever was stopped goes on: a generator waits for an
answer of each switch when its ports are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial

from vsperf.config.case import CaseSpec
from vsperf.deploy.deployment import awaited, blaming, patience_s
from vsperf.deploy.planner import CasePlan, Drivers
from vsperf.deploy.sides import SidePlan
from vsperf.drivers.generators.base import TakesTurns, TurnSide, TurnsSession
from vsperf.drivers.vnfs.base import HeldVnfs, RunningVnfs
from vsperf.drivers.vswitches.base import HeldStill, RunningSwitch
from vsperf.errors import UsageError
from vsperf.host.procfs import is_stopped, start_ticks
from vsperf.host.undo import ContinueProcess
from vsperf.host.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StandingSide:
    """A switch of a comparison that runs, with its VNFs."""

    plan: SidePlan
    switch: RunningSwitch
    place: Workspace
    vnfs: RunningVnfs | None = None
    """None where no VNF takes part."""

    @property
    def processes(self) -> tuple[int, ...]:
        """What is held still while others have their turn."""
        switch = self.switch.processes() if isinstance(self.switch, HeldStill) else ()
        return (*switch, *(self.vnfs.processes() if isinstance(self.vnfs, HeldVnfs) else ()))

    @property
    def is_held(self) -> bool:
        return any(map(is_stopped, self.processes))

    def failure(self) -> str | None:
        """Return which part no longer works, and why; None while all do."""
        vnfs = self.vnfs.failure() if self.vnfs is not None else None
        return vnfs or self.switch.failure()


@dataclass(frozen=True, slots=True)
class Together:
    """All switches of a comparison and the generator; they end with the stack."""

    sides: tuple[StandingSide, ...]
    generator: TurnsSession

    @property
    def access(self) -> tuple[str, ...]:
        return tuple(
            one
            for side in self.sides
            for part in (side.vnfs, side.switch)
            if part is not None
            for one in part.access()
        )

    def failure(self) -> str | None:
        """Return which part no longer works, and why; None while all do.

        A generator that was killed let nobody go on: those whom it held still are not to blame.
        """
        gone = self.generator.failure()
        for side in self.sides:
            if gone is not None and side.is_held:
                continue
            if (why := side.failure()) is not None:
                return f"{side.plan.side.letter} ({side.plan.side.name}): {why}"
        return gone


def start_sides(
    plans: Sequence[SidePlan],
    own_place: Callable[[], AbstractContextManager[Workspace]],
    stack: ExitStack,
    *,
    last_first: bool,
) -> tuple[StandingSide, ...]:
    """Start every switch of a comparison in a place of its own; return them in their order.

    Whoever starts first has the choice of memory, and is not to be the same one each time.
    """
    step = -1 if last_first else 1
    return tuple([_start(one, own_place, stack) for one in plans[::step]][::step])


def deploy_together(
    spec: CaseSpec,
    plan: CasePlan,
    drivers: Drivers,
    place: Workspace,
    sides: tuple[StandingSide, ...],
    stack: ExitStack,
) -> Together:
    """Start the generator, in the case's place, beside the switches, which run."""
    for side in sides:  # who waits for the generator does what the switches have to do meanwhile
        when = "while the generator started"
        stack.enter_context(place.errand(partial(side.place.attend, when)))
    generator = drivers.generator
    assert isinstance(generator, TakesTurns)  # by the plan
    seen = tuple(map(_as_seen, sides))
    directions = plan.plan.directions
    with blaming("the generator started", *sides):
        session = stack.enter_context(
            generator.start_turns(spec, seen, directions, plan.plan.placement, place)
        )
    _promise_to_go_on(seen, place, stack)
    for side in sides:
        if side.vnfs is not None:
            with blaming("VNFs were waited for", side, session):
                side.vnfs.await_forwarding()
    for side in sides:
        alone = side.plan.side.spec
        side.switch.await_ports(awaited(alone, with_generator=True), patience_s(alone))
    return Together(sides, session)


def _start(
    one: SidePlan,
    own_place: Callable[[], AbstractContextManager[Workspace]],
    stack: ExitStack,
) -> StandingSide:
    place = stack.enter_context(own_place())
    spec = one.side.spec
    vnfs: RunningVnfs | None = None
    if one.vnf is not None:
        wires = tuple(
            wire.model_copy(update={"address": place.fill(wire.address)}) for wire in one.wires
        )
        vnfs = stack.enter_context(one.vnf.start(spec, wires, one.placement, place))
    starting = one.driver.start(spec, one.switch, one.placement, place)
    return StandingSide(one, stack.enter_context(starting), place, vnfs)


def _as_seen(one: StandingSide) -> TurnSide:
    """Return a switch as the generator has to know it."""
    if not isinstance(one.switch, HeldStill):
        raise UsageError(
            f"{one.plan.side.name} says that it can be held still, and not how",
            fix="its driver needs `processes`",
        )
    fill = one.place.fill
    endpoints = (
        endpoint.model_copy(update={"address": fill(endpoint.address)})
        for endpoint in one.plan.ends
    )
    return TurnSide(tuple(endpoints), one.processes)


def _promise_to_go_on(seen: Sequence[TurnSide], place: Workspace, stack: ExitStack) -> None:
    """Promise that each process that will be stopped goes on, whatever becomes of this one."""
    for pid in (pid for side in seen for pid in side.processes):
        if (started := start_ticks(pid)) is not None:
            stack.enter_context(place.undoing(ContinueProcess(pid=pid, started=started)))
