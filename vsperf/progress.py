"""What happens during a run, told to whoever listens; nothing below the CLI prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vsperf.config.case import Case
from vsperf.quantities.unit import Unit
from vsperf.records.connections import ConnectionTrial
from vsperf.records.exchange import Exchange
from vsperf.records.run import CaseRecord
from vsperf.records.trial import Purpose, Trial
from vsperf.records.turns import Round


@dataclass(frozen=True, slots=True)
class Resumed:
    """What a run that goes on takes from before, and what it does not."""

    finished: int
    """Cases that are not run again."""
    trials: int
    """Of these cases."""
    dropped: int
    """Trials of cases that were interrupted, or went by a cap that has fallen: begun anew."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run folder exists and cases follow."""

    run: str
    folder: str
    cases: tuple[Case, ...]
    estimated_s: float
    spread_s: float
    """Standard deviation of the time that it takes, by the luck of the searches."""
    here_s: float | None
    """What a model takes on this machine, while the other times pass in it; None for no model."""
    simulated: bool
    resumed: Resumed | None = None
    """None for a run that begins."""


@dataclass(frozen=True, slots=True)
class CaseStarted:
    """A case begins."""

    case: Case
    number: int
    total: int
    estimated_s: float
    spread_s: float
    here_s: float | None


@dataclass(frozen=True, slots=True)
class PhaseEntered:
    """A case enters a phase: deploy, check path, search, latency, tear down."""

    case: Case
    phase: str


@dataclass(frozen=True, slots=True)
class Calibrated:
    """It is known what a case may offer; its trials begin, or begin anew on a fresh deployment."""

    case: Case
    cap_fps: int | None
    """What the generator can do without a switch; None where that is not measured."""


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A trial begins."""

    case: Case
    purpose: Purpose
    load_fps: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class TrialHeld:
    """The next trial is held back until the machine has moved its CPUs."""

    case: Case
    round_trip_ns: int
    """How far they are from each other, there and back."""


@dataclass(frozen=True, slots=True)
class TrialFinished:
    """A trial is recorded."""

    case: Case
    trial: Trial


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """Switches begin to take turns."""

    case: Case
    load_fps: int
    length_ns: int
    rings: bool = False
    """Whether rings are filled and emptied, in place of that load."""


@dataclass(frozen=True, slots=True)
class RoundFinished:
    """A round is recorded."""

    case: Case
    round: Round


@dataclass(frozen=True, slots=True)
class ExchangeStarted:
    """Programs begin to exchange data."""

    case: Case
    traffic: str
    instances: int
    """Of all directions."""
    sending_ns: int


@dataclass(frozen=True, slots=True)
class RateSeen:
    """What came to a device, or to an instance, in the last second; no result rests on it."""

    name: str
    value: int
    unit: Unit
    frames_per_second: int | None = None
    """Of a device, as the kernel has them; None of an instance."""


@dataclass(frozen=True, slots=True)
class ExchangeGoesOn:
    """Programs have exchanged data for another second."""

    case: Case
    rates: tuple[RateSeen, ...]


@dataclass(frozen=True, slots=True)
class ExchangeFinished:
    """An exchange is recorded."""

    case: Case
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class ConnectionsStarted:
    """Connections begin to be opened."""

    case: Case
    purpose: Purpose
    rate_cps: int
    connections: int
    """That are to begin in all."""
    request_rps: int | None = None
    """Requests a second by a clock, when they are open; None: each asks when it may."""


@dataclass(frozen=True, slots=True)
class ConnectionsFinished:
    """A trial of connections is recorded."""

    case: Case
    trial: ConnectionTrial


@dataclass(frozen=True, slots=True)
class DeploymentKept:
    """The deployment of a case stays up."""

    case: Case
    folder: str
    access: tuple[str, ...]
    """Commands by which a person looks at it."""


@dataclass(frozen=True, slots=True)
class CaseFinished:
    """A case is recorded."""

    case: Case
    record: CaseRecord


Event = (
    RunStarted
    | CaseStarted
    | PhaseEntered
    | Calibrated
    | TrialStarted
    | TrialHeld
    | TrialFinished
    | RoundStarted
    | RoundFinished
    | ExchangeStarted
    | ExchangeGoesOn
    | ExchangeFinished
    | ConnectionsStarted
    | ConnectionsFinished
    | DeploymentKept
    | CaseFinished
)
Emit = Callable[[Event], None]
