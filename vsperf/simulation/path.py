"""The simulated path from generator through switch and back: where a trial takes place.

Time is virtual. A trial of an hour takes as long as the arithmetic, unless `realtime` asks for
waiting.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from vsperf.errors import ComponentError
from vsperf.record.histogram import encode
from vsperf.record.trial import Direction, TrialCounts, intended_frames
from vsperf.simulation.base import Conditions
from vsperf.simulation.generator import Fault, GeneratorSettings
from vsperf.simulation.latency import latencies_ns
from vsperf.simulation.switch import SwitchModel
from vsperf.spec.traffic import TrafficProfile
from vsperf.units import NANOSECONDS, LinkSpeed


@dataclass(frozen=True, slots=True)
class Way:
    """One direction of the test traffic."""

    enters: str
    leaves: str
    entry: LinkSpeed
    """Speed of the link that it enters by."""
    exit: LinkSpeed
    """Speed of the link that it leaves by."""

    @property
    def name(self) -> str:
        """The name of the direction in records."""
        return f"{self.enters} to {self.leaves}"


@dataclass
class SimulatedPath:
    """A session between a simulated generator and a simulated switch."""

    switch: SwitchModel
    generator: GeneratorSettings
    traffic: TrafficProfile
    ways: tuple[Way, ...]
    overhead_ns: int
    """Time that each trial takes beyond its traffic."""
    trials: int = 0
    """Trials so far."""
    traffic_ns: int = 0
    """Time for which traffic was sent so far."""
    late: Counter[str] = field(default_factory=Counter)
    """Frames by direction that a trial left for the next one to count."""

    def run(self, load_fps: int, duration_ns: int, latency: bool) -> TrialCounts:
        """Make one trial."""
        self.trials += 1
        if self.generator.realtime:
            time.sleep(self.generator.realtime * duration_ns / NANOSECONDS)
        sending_ns = self.generator.sending_ns(duration_ns)
        if self.generator.raises_in(self.trials):
            self.traffic_ns += sending_ns
            raise ComponentError(
                f"the simulated generator failed in its trial {self.trials}",
                why="it was asked to: generator.fault is `raises`",
                fix="--set generator.fault=none",
            )
        intended = intended_frames(load_fps, duration_ns)
        directions = [self._one_way(way, intended, duration_ns, latency) for way in self.ways]
        self.traffic_ns += sending_ns
        return TrialCounts(
            directions=tuple(directions),
            sending_ns=sending_ns,
            elapsed_ns=sending_ns + self.overhead_ns,
            settled=self.generator.fault is not Fault.EARLY_COUNTERS,
        )

    def _one_way(self, way: Way, intended: int, duration_ns: int, latency: bool) -> Direction:
        conditions = self._conditions(way, intended, duration_ns)
        forwarded = self.switch.model.forward(conditions)
        arrived = forwarded.distinct_frames + forwarded.extra_copies
        uncounted = self.generator.uncounted_frames(arrived)
        from_before, self.late[way.name] = self.late[way.name], 0
        if self.generator.fault is Fault.LATE_COUNTERS:
            self.late[way.name] = uncounted
        return Direction(
            name=way.name,
            intended_frames=intended,
            sent_frames=conditions.sent_frames,
            received_frames=arrived - uncounted + from_before,
            duplicate_frames=forwarded.extra_copies if self.generator.sees_duplicates else None,
            latency_histogram=encode(latencies_ns(conditions, forwarded)) if latency else None,
        )

    def _conditions(self, way: Way, intended: int, duration_ns: int) -> Conditions:
        size, flows = self.traffic.frame_size, int(self.traffic.flows)
        capacity_fps = self.switch.capacity_fps(size, flows, len(self.ways))
        if way.exit < way.entry:
            capacity_fps = min(capacity_fps, int(way.exit.frames_per_second(size)))
        return Conditions(
            capacity_fps=capacity_fps,
            sent_frames=self.generator.sent_frames(intended, duration_ns, size, way.entry),
            sending_ns=self.generator.sending_ns(duration_ns),
            forward=self.switch.is_forward(way.enters, way.leaves),
            ordinal=self.trials,
            traffic_before_ns=self.traffic_ns,
            seed=self.generator.seed,
        )
