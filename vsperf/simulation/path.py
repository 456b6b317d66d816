"""The simulated path from generator through switch and back, and what becomes of its frames.

Time is virtual. A trial of an hour takes as long as the arithmetic, unless `realtime` asks for
waiting.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from vsperf.config.flows import DESTINATION_PORT, SOURCE_PORT, TTL, group_mac, link_ip, link_mac
from vsperf.config.modify import Modify
from vsperf.config.traffic import TrafficProfile
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS, LinkSpeed
from vsperf.records.histogram import encode
from vsperf.records.trial import (
    Direction,
    DirectionSample,
    Event,
    Headers,
    LatencySample,
    RateStep,
    Sample,
    StepCounts,
    TrialCounts,
)
from vsperf.simulation.base import Chance, Conditions, Forwarded
from vsperf.simulation.generator import Fault, GeneratorSettings
from vsperf.simulation.restless import RestlessHost
from vsperf.simulation.switch import SwitchModel
from vsperf.waits import sleep


@dataclass(frozen=True, slots=True)
class Course:
    """One direction of a trial, step by step."""

    name: str
    steps: tuple[RateStep, ...]
    conditions: tuple[Conditions, ...]
    forwarded: tuple[Forwarded, ...]
    outage: Event | None = None
    """When the switch forwards nothing."""

    @property
    def sent_frames(self) -> int:
        """Of all steps."""
        return sum(step.sent_frames for step in self.conditions)

    @property
    def arrived_frames(self) -> int:
        """Duplicates included."""
        return (
            sum(step.distinct_frames for step in self.forwarded)
            + self.extra_copies
            - (self._swallowed)
        )

    @property
    def extra_copies(self) -> int:
        """Frames that arrived once more."""
        return sum(step.extra_copies for step in self.forwarded)

    @property
    def begins_ns(self) -> tuple[int, ...]:
        """When each step begins, and when the last one ends."""
        lengths = (step.lasting_ns for step in self.conditions)
        return tuple(itertools.accumulate(lengths, initial=0))

    @property
    def counts(self) -> tuple[StepCounts, ...]:
        """What the generator says of each step."""
        return tuple(
            StepCounts(
                intended_frames=asked.frames,
                sent_frames=step.sent_frames,
                refused_frames=0,
                began_ns=began if step.sent_frames else None,
            )
            for asked, step, began in zip(self.steps, self.conditions, self.begins_ns, strict=False)
        )

    @property
    def last_loss_ns(self) -> int | None:
        """When the last frame left that did not arrive."""
        found = None
        for step, forwarded, began in zip(
            self.conditions, self.forwarded, self.begins_ns, strict=False
        ):
            if forwarded.distinct_frames < step.sent_frames:
                share = forwarded.last_loss
                if share is None:
                    share = Fraction(step.sent_frames - 1, step.sent_frames)
                gaps = step.leaves_ns(int(share * step.sent_frames)) if step.burst_frames else 0
                found = began + (gaps or int(share * step.sending_ns))
        if self._swallowed:
            _, behind = self._away
            found = max(found or 0, self._left_ns(behind - 1))
        return found

    @property
    def longest_silence_ns(self) -> int | None:
        """The time between the arrivals around an outage; None where there was none.

        Where frames do not come back it is the time between any two.
        """
        if self.outage is None or not self.sent_frames:
            return None
        first, behind = self._away
        if behind >= self.sent_frames or first == 0:
            return self._left_ns(1)
        return self._left_ns(behind) - self._left_ns(first - 1)

    def first_after(self, moment_ns: int, latencies: Sequence[int]) -> dict[str, Any]:
        """Return the first frame that leaves from a moment on, and its latency."""
        frame = self._first_from(moment_ns)
        if frame >= self.sent_frames or not latencies:
            return {}
        of_trial = self.conditions[-1]
        way = "forward" if of_trial.forward else "reverse"
        chance = Chance.of(of_trial.seed, "first latency", of_trial.ordinal, way)
        place = int(chance.share() * len(latencies))
        return {"first_latency_ns": latencies[place], "first_sent_ns": self._left_ns(frame)}

    def of_range(
        self, first: int, last: int, latencies: Sequence[int], flows: int, upcall_ns: int
    ) -> list[int]:
        """Return latencies of a range of frames; the first of each flow takes longer.

        `latencies` are those of all frames, from the least to the greatest.
        """
        count = min(last + 1, self.sent_frames) - first
        if count <= 0 or not latencies:
            return []
        taken = min(count, len(latencies))
        new = min(max(0, flows - first), count) * taken // count
        even = [latencies[number * len(latencies) // taken] for number in range(taken)]
        return [one + upcall_ns for one in even[:new]] + even[new:]

    def until(self, moment_ns: int) -> DirectionSample:
        """Return what has been counted by then, as if each step lost its frames evenly."""
        sent = received = Fraction(0)
        for step, forwarded, began in zip(
            self.conditions, self.forwarded, self.begins_ns, strict=False
        ):
            past = min(max(0, moment_ns - began), step.lasting_ns)
            share = Fraction(past, max(1, step.lasting_ns))
            sent += step.sent_frames * share
            received += forwarded.distinct_frames * share
        first, behind = self._away
        gone = min(max(0, int(sent) - first), behind - first)
        arrived = max(0, int(received) - gone)
        return DirectionSample(
            name=self.name,
            sent_frames=int(sent),
            received_frames=arrived,
            refused_frames=0,
            lost_frames=int(sent) - arrived,
        )

    @property
    def _away(self) -> tuple[int, int]:
        """The first frame that leaves in the outage, and the first behind it."""
        if self.outage is None:
            return 0, 0
        first = self._first_from(self.outage.began_ns)
        return first, max(first, self._first_from(self.outage.ended_ns))

    @property
    def _swallowed(self) -> int:
        """How many frames left in the outage; the others may have been lost besides."""
        first, behind = self._away
        return min(behind - first, sum(step.distinct_frames for step in self.forwarded))

    def _first_from(self, moment_ns: int) -> int:
        """Return the number of the first frame that leaves at a moment or later."""
        before = 0
        for step, began in zip(self.conditions, self.begins_ns, strict=False):
            due = step.due(moment_ns - began)
            if due < step.sent_frames:
                return before + due
            before += step.sent_frames
        return before

    def _left_ns(self, frame: int) -> int:
        for step, began in zip(self.conditions, self.begins_ns, strict=False):
            if frame < step.sent_frames:
                return began + step.leaves_ns(frame)
            frame -= step.sent_frames
        return self.begins_ns[-1]


def samples(
    courses: Sequence[Course], latencies: Sequence[Sequence[int]] | None = None
) -> Iterator[Sample]:
    """Yield a sample for each second of a trial.

    `latencies` are those of the frames of each direction, from the least to the greatest: a model
    has no better seconds and worse ones.
    """
    arrived = [0] * len(courses)
    for second in range(1, courses[0].begins_ns[-1] // NANOSECONDS + 1):
        moment_ns = second * NANOSECONDS
        ways = [course.until(moment_ns) for course in courses]
        for number, way in enumerate(ways if latencies is not None else ()):
            assert latencies is not None
            news, arrived[number] = way.received_frames - arrived[number], way.received_frames
            latency = _latency(latencies[number], news)
            ways[number] = way.model_copy(update={"latency": latency})
        yield Sample(elapsed_ns=moment_ns, directions=tuple(ways))


def _latency(sorted_ns: Sequence[int], frames: int) -> LatencySample | None:
    """Return the latencies of so many frames; None where none arrived."""
    if frames <= 0 or not sorted_ns:
        return None
    p50, p99, p999 = (sorted_ns[int(len(sorted_ns) * share)] for share in (0.5, 0.99, 0.999))
    return LatencySample(
        frames=frames,
        min_ns=sorted_ns[0],
        p50_ns=p50,
        p99_ns=p99,
        p999_ns=p999,
        max_ns=sorted_ns[-1],
    )


@dataclass(frozen=True, slots=True)
class TrafficDirection:
    """One direction of the test traffic."""

    enters: str
    leaves: str
    entry: LinkSpeed
    """Speed of the link that it enters by."""
    exit: LinkSpeed
    """Speed of the link that it leaves by."""
    share: Fraction = Fraction(1)
    """What it is offered of the load."""

    @property
    def name(self) -> str:
        return f"{self.enters} to {self.leaves}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A trial on a path."""

    steps: tuple[RateStep, ...]
    latency: bool = False
    latency_after_ns: int = 0
    latency_ranges: tuple[tuple[int, int], ...] = ()
    outage: Event | None = None
    """When the switch forwards nothing."""
    on_sample: Callable[[Sample], None] | None = None
    headers: bool = False


@dataclass
class SimulatedPath:
    """A session between a simulated generator and a simulated switch."""

    switch: SwitchModel
    generator: GeneratorSettings
    traffic: TrafficProfile
    ways: tuple[TrafficDirection, ...]
    overhead_ns: int
    """Time that each trial takes beyond its traffic."""
    host: RestlessHost | None = None
    """On which the switch runs; None for one that never changes."""
    trials: int = 0
    """Trials so far."""
    traffic_ns: int = 0
    """Time for which traffic was sent so far."""
    late: Counter[str] = field(default_factory=Counter)
    """Frames by direction that a trial left for the next one to count."""

    def run(self, asked: Asked) -> TrialCounts:
        self.trials += 1
        asked = self._within_bursts(asked)
        duration_ns = sum(step.duration_ns for step in asked.steps)
        began_s = time.monotonic()
        sending_ns = self.generator.sending_ns(duration_ns)
        if self.generator.raises_in(self.trials):
            self.traffic_ns += sending_ns
            self._wait(began_s, duration_ns)
            raise ComponentError(
                f"the simulated generator failed in its trial {self.trials}",
                why="it was asked to: generator.fault is `raises`",
                fix="--set generator.fault=none",
            )
        paces = [self._paces(step) for step in asked.steps]
        ways = [self._one_way(way, asked, paces) for way in self.ways]
        sending_ns += max(step.lasting_ns - step.sending_ns for step in ways[0].conditions)
        self.traffic_ns += sending_ns
        if self.host is not None:
            self.host.let_pass(self.overhead_ns)
        if asked.on_sample is not None:
            latencies = [_latencies_of(course) for course in ways] if asked.latency else None
            for sample in samples(ways, latencies):
                self._wait(began_s, sample.elapsed_ns)
                asked.on_sample(sample)
        self._wait(began_s, duration_ns)
        return TrialCounts(
            directions=tuple(
                self._looked_at(way, self._counted(course, asked), asked)
                for way, course in zip(self.ways, ways, strict=True)
            ),
            sending_ns=sending_ns,
            elapsed_ns=sending_ns + self.overhead_ns,
            settled=self.generator.fault is not Fault.EARLY_COUNTERS,
        )

    def _wait(self, began_s: float, elapsed_ns: int) -> None:
        """Wait until so much of a trial would be over, if time is to pass as in a real one."""
        due_s = began_s + self.generator.realtime * elapsed_ns / NANOSECONDS
        sleep(max(0.0, due_s - time.monotonic()))

    def _within_bursts(self, asked: Asked) -> Asked:
        """Return a trial without the gaps between its bursts, if frames come in bursts."""
        bursts = self.traffic.bursts
        if bursts is None:
            return asked
        if len(asked.steps) > 1:
            raise ComponentError(
                "the loads of a trial cannot change while frames come in bursts",
                fix="choose another method, or no traffic.bursts",
            )
        (step,) = asked.steps
        frames = int(bursts.frames) * bursts.count(step.load_fps, step.duration_ns)
        busy_ns = -(-frames * NANOSECONDS // step.load_fps)
        return replace(asked, steps=(RateStep(step.load_fps, busy_ns),))

    def let_pass(self, ns: int) -> None:
        """Let so much time pass in which nothing is sent."""
        if self.host is not None:
            self.host.let_pass(ns)
        sleep(self.generator.realtime * ns / NANOSECONDS)

    def _paces(self, step: RateStep) -> list[float]:
        """Return the share of its rate that the switch has in each moment of a step."""
        return [1.0] if self.host is None else self.host.paces(step.duration_ns)

    def _one_way(
        self, way: TrafficDirection, asked: Asked, paces: Sequence[Sequence[float]]
    ) -> Course:
        steps = tuple(step.shared(way.share) for step in asked.steps)
        conditions = [
            self._conditions(way, step, pace) for step, pace in zip(steps, paces, strict=True)
        ]
        forwarded = self.switch.model.forward_steps(conditions)
        return Course(way.name, steps, tuple(conditions), tuple(forwarded), asked.outage)

    def _counted(self, course: Course, asked: Asked) -> Direction:
        arrived = course.arrived_frames
        uncounted = self.generator.uncounted_frames(arrived)
        from_before, self.late[course.name] = self.late[course.name], 0
        if self.generator.fault is Fault.LATE_COUNTERS:
            self.late[course.name] = uncounted
        return Direction(
            name=course.name,
            intended_frames=sum(step.frames for step in course.steps),
            sent_frames=course.sent_frames,
            received_frames=arrived - uncounted + from_before,
            duplicate_frames=course.extra_copies if self.generator.sees_duplicates else None,
            longest_silence_ns=course.longest_silence_ns,
            last_loss_ns=course.last_loss_ns,
            steps=course.counts if len(asked.steps) > 1 else (),
            **self._latencies(course, asked),
        )

    def _latencies(self, course: Course, asked: Asked) -> dict[str, Any]:
        """Return what is known of latencies, each by the load of the last step."""
        if not (asked.latency or asked.latency_after_ns or asked.latency_ranges):
            return {}
        samples = _latencies_of(course)
        flows, upcall_ns = int(self.traffic.flows), self.switch.upcall_takes.ns
        found: dict[str, Any] = {
            "range_histograms": tuple(
                encode(latencies) if latencies else None
                for first, last in asked.latency_ranges
                for latencies in [course.of_range(first, last, samples, flows, upcall_ns)]
            )
        }
        if asked.latency or asked.latency_after_ns:
            found["latency_histogram"] = encode(samples)
        if asked.latency_after_ns:
            found |= course.first_after(asked.latency_after_ns, samples)
        return found

    @property
    def modify(self) -> Modify:
        """What is really done to each frame."""
        return (self.switch.modify if self.switch.modifies else None) or Modify()

    def _looked_at(self, way: TrafficDirection, counted: Direction, asked: Asked) -> Direction:
        """Add the headers of a frame, if they are wanted and one arrived."""
        if not asked.headers or not counted.good_frames:
            return counted
        ends = (self.switch.ports.index(end) for end in (way.enters, way.leaves))
        seen = arriving(self.traffic, self.modify, *ends)
        return counted.model_copy(update={"first_headers": (seen,)})

    def _conditions(
        self, way: TrafficDirection, step: RateStep, paces: Sequence[float]
    ) -> Conditions:
        size, flows = self.traffic.frame_size, int(self.traffic.flows)
        capacity_fps = self.switch.capacity_fps(size, flows, len(self.ways))
        if self.switch.capacity is None:  # one core for all ways, each of which takes what it needs
            offered = sum(other.share for other in self.ways)
            capacity_fps = max(1, int(capacity_fps * len(self.ways) * way.share / offered))
        capacity_fps = max(1, int(capacity_fps * self.switch.drawn(self.generator.seed)))
        capacity_fps = _at_paces(capacity_fps, step.load_fps, paces)
        leaving_bytes = size.on_wire + self.modify.grows_bytes
        leaving_fps = way.exit.bps / (8 * leaving_bytes)
        if leaving_fps < way.entry.frames_per_second(size):
            capacity_fps = min(capacity_fps, int(leaving_fps))
        sent = self.generator.sent_frames(step.frames, step.duration_ns, size, way.entry)
        sending_ns = self.generator.sending_ns(step.duration_ns)
        kept = sent == step.frames and sending_ns == step.duration_ns
        return Conditions(
            capacity_fps=capacity_fps,
            sent_frames=sent,
            sending_ns=sending_ns,
            forward=self.switch.is_forward(way.enters, way.leaves),
            ordinal=self.trials,
            traffic_before_ns=self.traffic_ns,
            seed=self.generator.seed,
            load_fps=step.load_fps if kept else None,
            burst_frames=int(self.traffic.bursts.frames) if self.traffic.bursts else 0,
            gap_ns=self.traffic.bursts.gap.ns if self.traffic.bursts else 0,
        )


def _at_paces(capacity_fps: int, load_fps: int, paces: Sequence[float]) -> int:
    """Return the capacity of a step in which only a share of it is there in each moment.

    Where the load is too much in some of them, it is what came through in all of the time.
    """
    if min(paces) == max(paces):
        return max(1, int(capacity_fps * paces[0]))
    passed = sum(min(load_fps, pace * capacity_fps) for pace in paces) / len(paces)
    return max(1, int(passed if passed < load_fps else min(paces) * capacity_fps))


def _latencies_of(course: Course) -> tuple[int, ...]:
    """Return a sample of the latencies of the last step, from the least to the greatest."""
    return tuple(latencies_ns(course.conditions[-1], course.forwarded[-1]))


FLOOR_NS = 4_000
"""Ports, buses and one pass through an idle switch."""
FLOOR_SPREAD = 0.1
BATCH_FRAMES = 32
"""Frames that a poll-mode core takes at once; each waits for those before it."""
RING_FRAMES = 2_048
"""Frames that a full queue holds; a longer wait is impossible, for the rest is dropped."""
SAMPLES = 10_000


def latencies_ns(conditions: Conditions, forwarded: Forwarded) -> Iterator[int]:
    """Return a sample of the latencies, evenly drawn over the frames that arrived.

    The wait is exponential with mean batch × service × ρ / 2(1 − ρ), as of a queue with one
    server that is used to the share ρ, and ends at the length of the ring.
    """
    samples = min(SAMPLES, forwarded.distinct_frames)
    service_ns = NANOSECONDS / forwarded.capacity_fps if forwarded.capacity_fps else 0.0
    used = min(0.999, float(conditions.offered_fps) * service_ns / NANOSECONDS)
    mean_ns = BATCH_FRAMES * service_ns * used / (2 * (1 - used))
    full_ns = RING_FRAMES * service_ns
    way = "forward" if conditions.forward else "reverse"
    chance = Chance.of(conditions.seed, "latency", conditions.ordinal, way)
    for number in range(samples):
        place = (number + chance.share()) / samples
        wait_ns = min(-math.log(1 - place) * mean_ns, full_ns * (0.9 + 0.1 * place))
        yield round(FLOOR_NS * (1 + FLOOR_SPREAD * place) + wait_ns)


def arriving(traffic: TrafficProfile, modify: Modify, source: int, destination: int) -> Headers:
    """Return the headers of a frame from one link to another, both by number."""
    layer3 = traffic.outer_layer3
    ttl = TTL - 1 if modify.ttl == "decrement" else modify.ttl
    return Headers(
        source_mac=modify.source_mac or link_mac(source),
        destination_mac=modify.destination_mac or group_mac(traffic.destination, destination),
        vlans=modify.tags_of(traffic),
        mpls=traffic.mpls,
        layer3=layer3,
        source_ip=modify.source_ip or link_ip(source, layer3),
        destination_ip=modify.destination_ip or link_ip(destination, layer3),
        dscp=modify.dscp or 0,
        ttl=TTL if ttl is None else ttl,
        source_port=SOURCE_PORT,
        destination_port=DESTINATION_PORT,
    )
