"""What tgen itself can do: its ports against each other, with no switch between them.

A result of a switch that comes near these figures is one of the generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from vsperf.config.traffic import TrialPolicy
from vsperf.drivers.generators.tgen.byhand import Sending, Stream, directions_between, trial
from vsperf.drivers.generators.tgen.cap import arrived_fps, nothing_came
from vsperf.drivers.generators.tgen.driver import TgenSession
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS, Duration, Ratio
from vsperf.search.base import Budget, Loads, Measure, Probe
from vsperf.search.classify import DurationRule
from vsperf.search.mlr import MlrGoal, MultipleLossRatio

WIDTH = Fraction(1, 100)
FLOOR_RATE_FPS = "10000"
"""Slow enough that no frame waits for another."""

MakeMeasure = Callable[[TgenSession, TrialPolicy, Budget], Measure]
"""Makes the engine's measurer, which this layer must not know."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was found for one frame size, per direction."""

    frame_size: int
    directions: int
    maximum_fps: int
    """What arrived per second while sending flat out, worse direction."""
    loss_free_lower_fps: int | None
    loss_free_upper_fps: int | None
    floor_min_ns: int
    floor_p50_ns: int
    floor_p99_ns: int
    """Latency at a light load: of the ports and the method, not of a switch."""
    workers: int
    """CPUs of the generator."""
    per_cpu_fps: int
    """The maximum, still per direction, shared out among them."""


def calibrate(
    tgen: Tgen, size: int, duration_ns: int, budget_ns: int, make_measure: MakeMeasure
) -> Calibration:
    """Find the maximum rate, the loss-free rate and the floor of latency for one frame size."""
    ways = directions_between(len(tgen.ports()), "both")
    stream = Stream(size)
    flat_out = Sending(duration_ns=duration_ns, latency=False)
    found = trial(tgen, ways, stream, flat_out, lambda event: None)
    workers = len(found["workers"])
    maximum = arrived_fps(found["streams"])
    if not maximum:
        raise nothing_came(found["streams"])
    policy = _policy()
    session = TgenSession(tgen, TgenSpec(kind="tgen"), policy, ways)
    budget = Budget(budget_ns)
    lower, upper = _loss_free(make_measure(session, policy, budget), budget, maximum, duration_ns)
    slow = Sending(FLOOR_RATE_FPS, NANOSECONDS, burst=1)
    floors = trial(tgen, ways, stream, slow, lambda event: None)["streams"]
    if not all(one.get("latency", {}).get("count") for one in floors):
        raise ComponentError(
            f"no frame of {size} B came back, so there is no floor of latency",
            why=f"not even at {FLOOR_RATE_FPS} frames a second",
            fix="`vsperf tgen trial` on the same ports says where they end",
        )
    floor = max((one["latency"] for one in floors), key=lambda one: one["percentiles_ns"]["50"])
    return Calibration(
        frame_size=size,
        directions=len(ways),
        maximum_fps=maximum,
        loss_free_lower_fps=lower,
        loss_free_upper_fps=upper,
        floor_min_ns=floor["min_ns"],
        floor_p50_ns=floor["percentiles_ns"]["50"],
        floor_p99_ns=floor["percentiles_ns"]["99"],
        workers=workers,
        per_cpu_fps=maximum // workers,
    )


def _loss_free(
    measure: Measure, budget: Budget, maximum: int, duration_ns: int
) -> tuple[int | None, int | None]:
    highest = max(2, math.ceil(maximum * Fraction(21, 20)))
    rule = DurationRule(Fraction(0), Fraction(0), duration_ns, duration_ns)
    goal = MlrGoal(rule, duration_ns, WIDTH)
    search = MultipleLossRatio({"ndr": goal}, Loads(max(1, highest // 1000), highest, highest), 0)
    answer = search.run(Probe(measure, budget)).goals[0]
    return answer.lower_fps, answer.upper_fps


def _policy() -> TrialPolicy:
    """Return a policy for short trials, in which a stall of the host is long."""
    return TrialPolicy(
        warm_up=Duration(0),
        learning=False,
        settle=Duration(0),
        drain=Duration(20_000_000),
        pause=Duration(0),
        retries=10,
        offered_tolerance=Ratio(Fraction(1, 1000)),
        stretch_tolerance=Ratio(Fraction(1, 10)),
    )
