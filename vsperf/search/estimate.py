"""How long a case will take: the very search, run against an ideal switch."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from vsperf.record.trial import Direction, Purpose, Trial, intended_frames
from vsperf.search.base import Budget, BudgetExhausted, Loads, Probe
from vsperf.search.build import build
from vsperf.spec.search import Search
from vsperf.spec.traffic import LatencyTrials, TrialPolicy
from vsperf.units import NANOSECONDS

PRESUMED_CAPACITY = Fraction(3, 5)
"""Where in the range of loads the capacity is presumed; the trials needed depend on it little."""
PRESUMED_KNEE = Fraction(24, 25)
"""Share of the capacity at which loss begins: goals of different loss have different answers."""
KNEE_LOSS = Fraction(1, 1000)
"""Loss ratio between the knee and the capacity."""


MOST_TRIALS = 3000
"""An estimate goes no further than this, so that planning does not take long itself."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a case is expected to need, if the switch is steady and no trial must be repeated."""

    trials: int
    seconds: float


def estimate(
    spec: Search, policy: TrialPolicy, loads: Loads, latency: LatencyTrials | None
) -> Estimate:
    """Return the trials and the time of a case: warm-up, search and latency trials."""
    capacity = loads.minimum + int((loads.maximum - loads.minimum) * PRESUMED_CAPACITY)
    overhead = policy.overhead_ns
    durations = [policy.warm_up.ns] if policy.warm_up.ns else []

    def measure(load_fps: int, duration_ns: int) -> Trial:
        if len(probe.trials) >= MOST_TRIALS:
            raise BudgetExhausted  # whoever asks for more trials than this knows that it takes long
        return _ideal_trial(load_fps, duration_ns, capacity)

    probe = Probe(measure, Budget())
    build(spec, loads).run(probe)
    durations += [trial.duration_ns for trial in probe.trials]
    if latency is not None:
        durations += [latency.duration.ns] * len(latency.loads)
    total = sum(durations) + len(durations) * overhead
    return Estimate(len(durations), total / NANOSECONDS)


def _ideal_trial(load_fps: int, duration_ns: int, capacity_fps: int) -> Trial:
    """Return the trial of a steady switch, with a little loss just below its capacity."""
    sent = intended_frames(load_fps, duration_ns)
    forwarded = min(sent, intended_frames(capacity_fps, duration_ns))
    if load_fps > capacity_fps * PRESUMED_KNEE:
        forwarded = min(forwarded, int(sent * (1 - KNEE_LOSS)))
    direction = Direction(
        name="ideal",
        intended_frames=sent,
        sent_frames=sent,
        received_frames=forwarded,
    )
    return Trial(
        directions=(direction,),
        sending_ns=duration_ns,
        elapsed_ns=duration_ns,
        settled=True,
        index=1,
        purpose=Purpose.SEARCH,
        load_fps=load_fps,
        duration_ns=duration_ns,
        started_at="",
    )
