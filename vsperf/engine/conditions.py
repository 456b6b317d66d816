"""What the machine has to do with a result: shared CPUs and CPUs that moved. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from vsperf.config.case import CaseSpec
from vsperf.config.traffic import FULL
from vsperf.methods.base import loads_of
from vsperf.quantities.human import counted, human_fps, human_ns
from vsperf.records.clean import LEAST, clean_share
from vsperf.records.flags import Flag
from vsperf.records.host import Calibration, Conditions
from vsperf.records.regime import Regime, boundary_of, regime_of
from vsperf.records.result import COUNTED, Limit, SearchResult
from vsperf.records.trial import Purpose, Trial
from vsperf.search.base import Loads

PARTS = 4
"""Of the second half of a warm-up. Where it is not over, each is faster than the one before, and"""
WARMER = Fraction(21, 20)
"""the last is so many times as fast as the first; less may be chance."""
LEAST_SLOTS = 5
"""In each part that say something."""
MOVED = Fraction(3, 2)
"""A cache line that takes so many times longer than before takes another way."""


def sorted_flags(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """Return each flag once, in the order in which they are defined."""
    return tuple(sorted(set(flags), key=list(Flag).index))


def flags_around(
    trials: Sequence[Trial], conditions: Conditions, *, shared_cpu: bool
) -> tuple[Flag, ...]:
    """Return the flags that a case earns by where it ran."""
    trips = [trip for trial in trials for trip in trial.round_trips_ns]
    said = {
        Flag.SHARED_CPU: shared_cpu,
        Flag.EMULATED: any(
            emulated(facts) for facts in (*conditions.vnfs.values(), conditions.generator)
        ),
        Flag.TOO_BUSY: busy(trials),
        Flag.CORES_MOVED: moved(trips),
        Flag.STILL_WARMING: any(warming(one) for one in trials if one.purpose is Purpose.WARM_UP),
    }
    return tuple(flag for flag, applies in said.items() if applies)


def busy(trials: Sequence[Trial]) -> bool:
    """Whether most of the time of what was measured was not clean."""
    share = clean_of(trials)
    return share is not None and share < LEAST


def clean_of(trials: Sequence[Trial]) -> Fraction | None:
    """Return which share of the time of what was measured was clean; None if nobody knows."""
    return clean_share(one for one in trials if one.valid and one.purpose in COUNTED)


def warming(trial: Trial) -> bool:
    """Whether more and more came through in the second half of a trial, in clean slots of time.

    A slot that is not stored lost nothing, so all that was due in it came through.
    """
    slots = trial.slots
    if slots is None or slots.cut:
        return False
    due = trial.intended_frames * slots.width_ns // max(1, trial.duration_ns)
    through = {slot.index: sum(slot.received_frames) for slot in slots.noted}
    left_out = {slot.index for slot in slots.left_out(silent=True)}
    length = slots.count // (2 * PARTS)
    begins = [slots.count - 1 - (PARTS - part) * length for part in range(PARTS)]
    parts = [
        [through.get(n, due) for n in range(begin, begin + length) if n not in left_out]
        for begin in begins
    ]
    if any(len(part) < LEAST_SLOTS for part in parts):
        return False
    means = [Fraction(sum(part), len(part)) for part in parts]
    return means == sorted(means) and means[-1] > WARMER * means[0]


def moved(round_trips_ns: Sequence[int]) -> bool:
    """Whether a hypervisor changed the distance of the CPUs between two looks."""
    return bool(round_trips_ns) and max(round_trips_ns) > MOVED * min(round_trips_ns)


def distances(trials: Sequence[Trial], result: SearchResult) -> tuple[str, ...]:
    """Say how far apart the CPUs were, if that changed: a rate is that of a distance.

    Where the result tells how far, by the trials that it rests on, this has no figures: those of
    all trials are others.
    """
    worst = [max(trial.round_trips_ns) for trial in trials if trial.round_trips_ns]
    if not moved(worst):
        return ()
    boundary = boundary_of(trials)
    nearest = MOVED * min(worst) if boundary is None else boundary.near_ns
    near = [trip for trip in worst if trip <= nearest]
    far = [trip for trip in worst if trip > nearest]
    few = f"in {counted(len(near), 'trial')}"
    regimes = [one for goal in result.goals for one in goal.regimes]
    if result.round_trips_ns is not None:
        where = f"nearer to each other {few} than in {len(far)}"
    elif boundary is not None and any(one.limit is not None for one in regimes):
        met = Counter(regime_of(one, boundary) for one in trials if one.round_trips_ns)
        where = (
            f"near each other in {counted(met[Regime.NEAR], 'trial')}, far from each other in "
            f"{met[Regime.FAR]}" + (f", and moved in {met[None]}" if met[None] else "")
        )
    else:
        where = f"{_span(near)} apart (there and back) {few} and {_span(far)} in {len(far)}"
    return (f"the CPUs of generator and switch were {where}, and rates follow that",)


def _span(times_ns: Sequence[int]) -> str:
    least, most = min(times_ns), max(times_ns)
    return human_ns(least) if least == most else f"{least} to {most} ns"


def emulated(facts: object) -> bool:
    """Whether what is known of a machine says that its processors are not real."""
    return isinstance(facts, dict) and facts.get("accelerator") == "tcg"


def clipped(spec: CaseSpec, loads: Loads) -> tuple[str, ...]:
    """Say so if loads that were given are more than the generator can do."""
    if not loads.fixed or loads.generator_cap is None:
        return ()
    asked = max(loads_of(spec).fixed)
    if asked <= loads.generator_cap:
        return ()
    return (
        f"{human_fps(asked)} is more than the generator can do without a switch; offered was "
        f"{human_fps(loads.generator_cap)}",
    )


def uneven(spec: CaseSpec) -> tuple[str, ...]:
    """Say so if the directions are not offered the same, or not all of the time."""
    if spec.traffic.bursts is not None:
        bursts = spec.traffic.bursts
        return (f"rates are those within bursts of {bursts.frames} frames, {bursts.gap} apart",)
    share = spec.traffic.reverse_load
    if share == FULL:
        return ()
    return (
        f"rates are those of the forward direction; the reverse one is offered {share} of them",
    )


def outdated(calibration: Calibration, result: SearchResult, trials: Sequence[Trial]) -> bool:
    """Whether a result ends where the generator did, and it may do more.

    That is so of what it did in an earlier run, and of what it did with the CPUs farther apart than
    they were in trials.
    """
    if Limit.GENERATOR not in result.limits:
        return False
    then_ns = calibration.round_trip_ns or 0
    worst = (max(trial.round_trips_ns) for trial in trials if trial.round_trips_ns)
    return calibration.cached or any(trip * MOVED < then_ns for trip in worst)
