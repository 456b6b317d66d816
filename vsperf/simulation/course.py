"""What becomes of the frames of one direction in the course of a trial, in virtual time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import DirectionSample, Event, LatencySample, RateStep, Sample, StepCounts
from vsperf.simulation.base import Conditions, Forwarded
from vsperf.simulation.chance import Chance


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
        """Return when a frame leaves."""
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
