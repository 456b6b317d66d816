"""What a search looks for and how hard it tries; one model per method, chosen by `kind`."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from vsperf.spec.base import Spec
from vsperf.units import NANOSECONDS, Count, Duration, Rate, Ratio

GoalName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
ZERO = Ratio.parse("0")
NARROWEST = Fraction(1, 10**6)
"""Narrower intervals than this are below what a clock can pace."""
WIDEST_EXCEED = 0.999
SHORTEST_NS = 1_000_000
"""Of shorter trials too few frames are left to tell one load from another."""


def _above_zero(duration: Duration) -> Duration:
    if duration.ns < SHORTEST_NS:
        raise ValueError("a trial must last longer than nothing")
    return duration


SwitchEvent = Literal["restart-switch", "kill-switch"]
LEAST_EVENT_NS = 4 * NANOSECONDS

TrialDuration = Annotated[Duration, AfterValidator(_above_zero)]


class Goal(Spec):
    """One question to the switch: the highest load with at most this loss."""

    loss_ratio: Ratio
    """Loss that still counts as success: 0 for NDR, 0.5% for a usual PDR."""


class MlrGoal(Goal):
    """A goal of an MLRsearch (RFC 9971); what is not given here is taken from the search."""

    exceed_ratio: Ratio | None = None
    initial_duration: Duration | None = None
    final_duration: Duration | None = None
    duration_sum: Duration | None = None
    width: Ratio | None = None


class LoadRange(Spec):
    """The loads that a search may try, per direction."""

    min_load: Rate
    max_load: Rate


class MlrSearch(LoadRange):
    """Multiple loss ratio search: several goals at once, short trials first (RFC 9971)."""

    kind: Literal["mlr"]
    goals: dict[GoalName, MlrGoal] = Field(min_length=1)
    exceed_ratio: Ratio
    """Share of the trial time at a load that may lose more than the goal allows."""
    initial_duration: Duration
    final_duration: Duration
    duration_sum: Duration
    """Trial time at a load after which its classification is final."""
    width: Ratio
    """Relative width of the interval at which the search ends."""
    verify_upper: int = Field(default=2, ge=0, le=10)
    """Repeats at an upper bound that rests on a single trial, to tell overload from accident."""

    @model_validator(mode="after")
    def _shares_make_sense(self) -> Self:
        for name, goal in self.resolved_goals().items():
            if goal.exceed_ratio is not None and float(goal.exceed_ratio) > WIDEST_EXCEED:
                raise ValueError(f"goal {name}: exceed_ratio must not be above 99.9%")
            if goal.width is not None and not NARROWEST <= goal.width.value < 1:
                raise ValueError(f"goal {name}: width must lie between 0.0001% and 100%")
            if float(goal.loss_ratio) >= 1:
                raise ValueError(f"goal {name}: loss_ratio must be below 100%")
            durations = (goal.initial_duration, goal.final_duration, goal.duration_sum)
            if any(duration is None or duration.ns < SHORTEST_NS for duration in durations):
                raise ValueError(f"goal {name}: durations must be at least 1ms")
            if goal.initial_duration > goal.final_duration:  # type: ignore[operator]
                raise ValueError(f"goal {name}: initial_duration exceeds final_duration")
            if goal.final_duration > goal.duration_sum:  # type: ignore[operator]
                raise ValueError(f"goal {name}: final_duration exceeds duration_sum")
        return self

    def resolved_goals(self) -> dict[str, MlrGoal]:
        """Return the goals with every value filled in."""
        shared = {
            field: getattr(self, field) for field in MlrGoal.model_fields if field != "loss_ratio"
        }
        return {
            name: goal.model_copy(
                update={key: value for key, value in shared.items() if getattr(goal, key) is None}
            )
            for name, goal in self.goals.items()
        }


class Rfc2544Search(LoadRange):
    """Plain bisection on full-length trials: RFC 2544 section 26.1 to the letter."""

    kind: Literal["rfc2544"]
    goals: dict[GoalName, Goal] = Field(min_length=1)
    duration: TrialDuration
    """Length of a trial; the standard asks for 60 s."""
    resolution: Ratio
    """Width of the final interval, as a share of the highest load."""
    verify_upper: int = Field(default=2, ge=0, le=10)
    """Repeats at the upper bound, to tell overload from accident."""


class Tst009Search(LoadRange):
    """Binary search with loss verification over an array of loads (ETSI GS NFV-TST 009)."""

    kind: Literal["tst009"]
    goals: dict[GoalName, Goal] = Field(min_length=1)
    duration: TrialDuration
    step: Rate
    """Distance of two loads of the array; a percentage is one of the highest load: the line rate,
    or of `max_load` or what the generator can do where that is less."""
    max_repeats: int = Field(ge=0, le=100)
    """max(r): how often a lossy trial is repeated before its loss is believed."""
    loss_threshold: int = Field(ge=0)
    """z: with more frames lost than this, loss is overload and is not verified."""


class FixedLoad(Spec):
    """No search: given loads for a given time (`continuous`)."""

    kind: Literal["fixed"]
    loads: tuple[Rate, ...] = Field(min_length=1)
    duration: TrialDuration | None = None
    """Length of a trial; not needed when the number of frames is given."""
    frames: Count | None = None
    """Frames per direction of a trial, as a burst at the load; wins over a duration."""
    repeats: int = Field(default=1, ge=1, le=1000)
    loss_ratio: Ratio = ZERO
    """Loss up to which a load counts as passed."""
    event: SwitchEvent | None = None
    """What is done to the switch in the middle of each trial, to see how long frames stay away
    (RFC 6201): a restart in good order, or one after a kill."""

    @model_validator(mode="after")
    def _event_leaves_time(self) -> Self:
        if self.event is not None and (self.frames or self.duration_ns(1) < LEAST_EVENT_NS):
            raise ValueError("an event needs a duration of at least 4s, and no number of frames")
        return self

    @model_validator(mode="after")
    def _ends_somewhere(self) -> Self:
        if self.duration is None and self.frames is None:
            raise ValueError("a fixed load needs a duration, or a number of frames")
        return self

    def duration_ns(self, load_fps: int) -> int:
        """Return the length of a trial at a load."""
        if self.frames is not None:
            return -(-self.frames.value * NANOSECONDS // load_fps)
        assert self.duration is not None  # by the model
        return self.duration.ns


Search = Annotated[
    MlrSearch | Rfc2544Search | Tst009Search | FixedLoad, Field(discriminator="kind")
]
