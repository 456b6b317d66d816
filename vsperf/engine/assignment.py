"""What running one case needs, and where it tells what happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field

from vsperf.config.case import Case
from vsperf.deploy.planner import OWN_ROLE, CasePlan, Drivers
from vsperf.engine.calibration import Calibrator
from vsperf.errors import RecordingError, VsperfError
from vsperf.host.cpus import running_on
from vsperf.host.workspace import Nowhere, Workspace, nothing_left_of, workspace
from vsperf.progress import (
    ConnectionsFinished,
    Emit,
    ExchangeFinished,
    PhaseEntered,
    RoundFinished,
    TrialFinished,
    TrialHeld,
    TrialStarted,
)
from vsperf.records.connections import ConnectionTrial
from vsperf.records.exchange import Exchange
from vsperf.records.files.writer import RunWriter
from vsperf.records.run import ConnectionsLine, ExchangeLine, RoundLine, SecondLine, TrialLine
from vsperf.records.trial import Purpose, Second, Trial
from vsperf.records.turns import Round
from vsperf.search.base import Budget

Made = Trial | Exchange | ConnectionTrial | Round
"""What a case is measured by: each method has one kind of them."""


def never() -> bool:
    """Keep no deployment."""
    return False


@dataclass(frozen=True, slots=True)
class CaseRun:
    """One case of a run, with all that it is to be run with."""

    case: Case
    plan: CasePlan
    drivers: Drivers
    writer: RunWriter
    emit: Emit
    budget: Budget
    calibrator: Calibrator
    keep: Callable[[], bool] = never
    """Says at the end whether the deployment stays up."""
    attempt: int = 1
    """How often the case was begun, this time included."""
    why_again: str = ""
    """What is wrong with an answer of this run that this one replaces; empty where there is none.
    """
    trials: list[Trial] = field(default_factory=list)
    """Every trial that was made, those of an attempt that failed included."""
    exchanges: list[Exchange] = field(default_factory=list)
    """Every exchange of programs, likewise."""
    connections: list[ConnectionTrial] = field(default_factory=list)
    """Every trial of connections, likewise."""
    rounds: list[Round] = field(default_factory=list)
    """Every round of turns, likewise."""
    outgrown: list[str] = field(default_factory=list)
    """Says, where the answer ended at a cap that was too low, that the generator does more now: it
    is to be replaced, as one that is refuted is."""
    undone: list[VsperfError | OSError] = field(default_factory=list)
    """What went wrong while a deployment was taken down, once there was an answer: it takes nothing
    back of that. Nothing is deployed beside what is left, so the first says it all."""

    @property
    def made(self) -> Sequence[Made]:
        """All that was made for the answer, whichever of these it is."""
        return self.exchanges or self.connections or self.rounds or self.trials

    def workspace(self) -> AbstractContextManager[Workspace]:
        """Give parts a place on this machine; models need none."""
        on_this_host = bool(self.plan.plan.placement.cpus)
        return workspace(self.writer.run) if on_this_host else nullcontext(Nowhere())

    @contextmanager
    def deploying(self) -> Iterator[tuple[Workspace, ExitStack]]:
        """Give one deployment a place on this machine, and the stack that takes it down again.

        We stay on the CPUs that are ours meanwhile. Something that is left of it is an error, and
        nothing is measured anew beside it. Where all had been measured by then, it is noted in
        `undone`, and what was found stands.
        """
        places: list[Workspace] = []
        measured = False
        try:
            with nothing_left_of(places), ExitStack() as stack:
                stack.enter_context(running_on(self.plan.plan.placement.of(OWN_ROLE)))
                place = stack.enter_context(self.workspace())
                places.append(place)
                yield place, stack
                measured = True
                self.enter("tear down")
        except RecordingError:
            raise
        except (VsperfError, OSError) as error:
            if not measured:
                raise
            self.undone.append(error)

    def enter(self, phase: str) -> None:
        self.emit(PhaseEntered(self.case, phase))

    def begin(self, purpose: Purpose, load_fps: int, duration_ns: int) -> None:
        self.emit(TrialStarted(self.case, purpose, load_fps, duration_ns))

    def hold(self, round_trip_ns: int) -> None:
        """Tell that the next trial is held back."""
        self.emit(TrialHeld(self.case, round_trip_ns))

    def record(self, trial: Trial) -> None:
        """Write a trial down, then tell of it."""
        self.writer.append(TrialLine(case=self.case.key, trial=trial))
        self.emit(TrialFinished(self.case, trial))

    def record_round(self, one: Round) -> None:
        """Keep a round and write it down, then tell of it."""
        self.rounds.append(one)
        self.writer.append(RoundLine(case=self.case.key, round=one))
        self.emit(RoundFinished(self.case, one))

    def record_exchange(self, one: Exchange) -> None:
        """Keep an exchange and write it down, then tell of it."""
        self.exchanges.append(one)
        self.writer.append(ExchangeLine(case=self.case.key, exchange=one))
        self.emit(ExchangeFinished(self.case, one))

    def record_connections(self, one: ConnectionTrial) -> None:
        """Keep a trial of connections and write it down, then tell of it."""
        self.connections.append(one)
        self.writer.append(ConnectionsLine(case=self.case.key, trial=one))
        self.emit(ConnectionsFinished(self.case, one))

    def record_second(self, second: Second) -> None:
        """Write down a second of a trial that still goes on."""
        self.writer.append(SecondLine(case=self.case.key, second=second))
