"""What the machine has to do with a result: shared CPUs, CPUs that moved, loss by stalls. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from vsperf.human import human_fps, human_ns
from vsperf.record.flags import Flag
from vsperf.record.histogram import excess_ns
from vsperf.record.host import Calibration, Stalls, Surroundings
from vsperf.record.result import Limit, SearchResult
from vsperf.record.trial import Trial
from vsperf.search.base import Loads
from vsperf.search.build import loads_of
from vsperf.search.verdict import percent
from vsperf.spec.case import CaseSpec
from vsperf.units import NANOSECONDS

MOVED = Fraction(3, 2)
"""A cache line that takes so many times longer than before takes another way."""


def sorted_flags(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """Return each flag once, in the order in which they are defined."""
    return tuple(sorted(set(flags), key=list(Flag).index))


def flags_around(
    trials: Sequence[Trial], surroundings: Surroundings, *, shared_cpu: bool
) -> tuple[Flag, ...]:
    """Return the flags that a case earns by where it ran."""
    trips = [trip for trial in trials for trip in trial.round_trips_ns]
    said = {
        Flag.SHARED_CPU: shared_cpu,
        Flag.EMULATED: any(emulated(facts) for facts in surroundings.machines.values()),
        Flag.CORES_MOVED: moved(trips),
    }
    return tuple(flag for flag, applies in said.items() if applies)


def moved(round_trips_ns: Sequence[int]) -> bool:
    """Whether a hypervisor changed the distance of the CPUs between two looks."""
    return bool(round_trips_ns) and max(round_trips_ns) > MOVED * min(round_trips_ns)


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


def outdated(calibration: Calibration, result: SearchResult) -> bool:
    """Whether a result ends where the generator did in an earlier run, and may no longer."""
    limits = [goal.limit for goal in result.goals] + [load.limit for load in result.loads]
    return calibration.cached and Limit.GENERATOR in limits


def host_losses(
    result: SearchResult, trials: Sequence[Trial], surroundings: Surroundings
) -> tuple[str, ...]:
    """Say what loss the stalls of the machine alone explain at a load that passed without any.

    A CPU that stands still for longer than its ring lasts loses what arrives after that. When no
    loss was seen all the same, the trials were short enough to fall between two such stalls.
    """
    generator = next((t.generator for t in trials if t.generator is not None), None)
    if generator is None or generator.ring_frames is None or generator.paused_ns is not None:
        return ()
    ring = generator.ring_frames
    found = []
    for goal in result.goals:
        if goal.lower_fps is None or Fraction(goal.loss_ratio) != 0:
            continue
        holds_ns = ring * NANOSECONDS // goal.lower_fps
        ratio = max((loss_by(stalls, holds_ns) for stalls in surroundings.stalls), default=0.0)
        if ratio > 0:
            longest = max(stalls.longest_ns for stalls in surroundings.stalls)
            found.append(
                f"{goal.goal}: the machine stalls for up to {human_ns(longest)}, and at "
                f"{human_fps(goal.lower_fps)} the rings hold {human_ns(holds_ns)}; that alone "
                f"explains a loss of {percent(Fraction(ratio))} over longer times"
            )
    return tuple(found)


def loss_by(stalls: Stalls, holds_ns: int) -> float:
    """Return the share of time in stalls beyond what a ring can hold."""
    if stalls.histogram is None or stalls.longest_ns <= holds_ns:
        return 0.0
    return excess_ns(stalls.histogram, holds_ns) / stalls.observed_ns
