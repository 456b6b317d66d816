"""One trial: what was asked, what was counted, and what is to be said against it.

Counters are integers and missing is None. Whatever can be computed is a property, so a stored
trial holds no number twice.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pydantic import Field

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.base import Record
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.slots import Slots
from vsperf.records.switch import (
    CacheActivity,
    NoiseActivity,
    PmdCounters,
    SwitchCounters,
    VnfCounters,
    cycles_of,
)
from vsperf.records.threads import GENERATOR, ThreadActivity

# Loads as frames: how many a rate means over a time.


def intended_frames(load_fps: int, duration_ns: int) -> int:
    """Return how many frames a load means over a duration: the nearest whole number."""
    return (2 * load_fps * duration_ns + NANOSECONDS) // (2 * NANOSECONDS)


@dataclass(frozen=True, slots=True)
class RateStep:
    """A stretch of a trial with a load of its own."""

    load_fps: int
    """Per direction."""
    duration_ns: int

    @property
    def frames(self) -> int:
        """What is to be sent per direction."""
        return intended_frames(self.load_fps, self.duration_ns)

    def shared(self, share: Fraction) -> RateStep:
        """Return the step of a direction that is offered a share of the load: a frame at least."""
        return RateStep(max(1, int(self.load_fps * share)), self.duration_ns)


# What stood in the headers of a frame that arrived: the proof of what became of it.


class Headers(Record):
    """The outer headers of one frame, as they were when it arrived."""

    source_mac: str
    destination_mac: str
    vlans: tuple[int, ...] = ()
    """Ids of the VLAN tags, outermost first."""
    mpls: tuple[int, ...] = ()
    """MPLS labels, outermost first."""
    layer3: Literal["ipv4", "ipv6"] | None = None
    """None of a frame without IP; what follows is then unknown."""
    source_ip: str | None = None
    destination_ip: str | None = None
    dscp: int | None = None
    ttl: int | None = None
    """TTL, or hop limit."""
    source_port: int | None = None
    """Of UDP or TCP; None where there is neither, as in GRE."""
    destination_port: int | None = None


# How a generator itself fared during a trial.


class GeneratorActivity(Record):
    """How the generator itself fared during a trial."""

    busy_ppm: int | None = None
    """Share of its time in which its loop had something to do; of the busiest worker. None, as
    with the next two, where the generator does not watch its own time."""
    longest_gap_ns: int | None = None
    """Longest time in which the machine kept one of its loops from running."""
    gaps_over_10us: int | None = None
    """How often it was kept from running for more than 10 µs."""
    paused_ns: int | None = None
    """Time that its schedule stood still because it was kept from running: what was due then was
    sent later, and not faster. Of the worker that had most of it; None of one that catches up."""
    no_buffers: int = 0
    """Times that it had no buffer for a frame."""
    ring_frames: int | None = None
    """Frames that wait in a receive ring of it at most, while it does not run."""
    behind_ns: int = 0
    """Time in which half a receive ring or more waited for it: it found nothing but full bursts."""
    missed_frames: int = 0
    """Frames that its device says it dropped, because its ring was full."""


class Purpose(enum.StrEnum):
    """Why a trial was made."""

    PATH_CHECK = "path-check"
    """A few frames, to see that they arrive at all; judged by no search."""
    WARM_UP = "warm-up"
    """Ignored: the switch fills its caches."""
    SEARCH = "search"
    LATENCY = "latency"
    DRAW = "draw"
    """To ask another deployment what was found on the first; it says nothing of that one."""


class StepCounts(Record):
    """Counters of one step of a trial, in one direction."""

    intended_frames: int
    sent_frames: int
    refused_frames: int | None = None
    """Of those that were not sent, what the port did not take; None when the generator cannot
    tell."""
    began_ns: int | None = None
    """When its first frame left, since the trial began; None if none did."""


class Direction(Record):
    """Counters of one way through the switch, such as phy0 to phy1."""

    name: str
    intended_frames: int
    sent_frames: int
    received_frames: int
    """Frames of the test that arrived, duplicates and corrupted ones included."""
    duplicate_frames: int | None = None
    corrupted_frames: int | None = None
    reordered_frames: int | None = None
    foreign_frames: int | None = None
    refused_frames: int | None = None
    """Frames not sent because the port was full to the end: on a virtual port, the switch did not
    take them; None when the generator cannot tell."""
    unmarked_frames: int | None = None
    """Of the frames sent, those without room for the generator's mark: they are counted when they
    arrive, but cannot be told from others. None where all frames have one."""
    longest_silence_ns: int | None = None
    """Longest time between two arrivals in which no frame came; None when nobody can tell."""
    receiving_ns: int | None = None
    """Time from the first arrival to the last; None when the generator cannot tell."""
    latency_histogram: str | None = None
    """Latencies [ns] as a compressed HdrHistogram V2, base64; None when not measured. Of all
    frames, or of those that left from the moment on that was asked for."""
    first_latency_ns: int | None = None
    """Latency of the first frame that left at or after that moment, and arrived."""
    first_sent_ns: int | None = None
    """When that frame left, since the trial began."""
    range_histograms: tuple[str | None, ...] = ()
    """The same for each range of frames that was asked for; None where none of them arrived."""
    last_loss_ns: int | None = None
    """When the last of the frames left that did not arrive, or that the port refused, since the
    trial began; None when there are none, or when nobody can tell."""
    steps: tuple[StepCounts, ...] = ()
    """Of a trial whose load changes on the way."""

    first_headers: tuple[Headers, ...] = ()
    """What stood in the headers of the first frames that arrived; empty when nobody looked."""

    def recovery_ns(self, step: int = 1) -> int | None:
        """Return the time from the begin of a step, counted from 0, to the last loss.

        It is 0 when nothing was lost from then on; None when nobody can tell.
        """
        if len(self.steps) <= step or (began_ns := self.steps[step].began_ns) is None:
            return None
        if self.last_loss_ns is not None:
            return max(0, self.last_loss_ns - began_ns)
        return 0 if self.offered_frames == self.good_frames else None

    @property
    def good_frames(self) -> int:
        """Distinct, intact frames that arrived."""
        return self.received_frames - (self.duplicate_frames or 0) - (self.corrupted_frames or 0)

    @property
    def unsent_frames(self) -> int:
        """Frames that should have been sent and were not."""
        return self.intended_frames - self.sent_frames

    @property
    def short_frames(self) -> int:
        """Frames that the generator was too slow for; what the switch refused is not among them."""
        return self.unsent_frames - (self.refused_frames or 0)

    @property
    def offered_frames(self) -> int:
        """Frames that the switch took or refused to take."""
        return self.sent_frames + (self.refused_frames or 0)

    @property
    def lost_frames(self) -> int:
        """Intended frames that did not arrive; what was not sent counts as lost."""
        return self.intended_frames - self.good_frames

    @property
    def loss_ratio(self) -> Fraction:
        """Lost share of the intended frames; a direction that intended nothing lost everything."""
        if self.intended_frames <= 0:
            return Fraction(1)
        return Fraction(self.lost_frames, self.intended_frames)

    @property
    def switch_loss_ratio(self) -> Fraction:
        """Lost share of what was really offered: the part that is the switch's."""
        if self.offered_frames <= 0:
            return Fraction(0)
        return Fraction(self.offered_frames - self.good_frames, self.offered_frames)


class TrialCounts(Record):
    """What a generator reports of one trial, before anybody has judged it."""

    directions: tuple[Direction, ...]
    sending_ns: int | None
    """Time from the first to the last frame sent; None when the generator cannot tell."""
    elapsed_ns: int
    """Time that the trial took with all its waits."""
    settled: bool
    """Whether the counters had come to rest when they were read."""
    generator: GeneratorActivity | None = None
    """None when the generator does not watch itself."""
    slots: Slots | None = None
    """The same by slots of time; None when the generator does not count so."""

    @property
    def paced_ns(self) -> int | None:
        """Time of sending without the pauses of the generator; None when it cannot tell."""
        return None if self.sending_ns is None else self.sending_ns - self._paused_ns

    @property
    def pauses(self) -> Fraction:
        """Share of the time of sending in which the generator did not run, as far as it tells."""
        return Fraction(self._paused_ns, self.sending_ns) if self.sending_ns else Fraction(0)

    @property
    def _paused_ns(self) -> int:
        return (self.generator and self.generator.paused_ns) or 0


def to_vnfs(event: str | None) -> bool:
    """Whether an event is done to VNFs, and not to the switch, which its name says."""
    return event is not None and event.endswith("-vnfs")


class Event(Record):
    """Something that was done to the switch, or to the VNFs, while frames were sent."""

    name: str
    """Such as restart-switch."""
    began_ns: int
    """Since the trial began."""
    ended_ns: int
    """When what was restarted was said to be up again; forwarding may come later, or earlier."""

    @property
    def to_vnfs(self) -> bool:
        """Whether it was done to VNFs, and not to the switch."""
        return to_vnfs(self.name)


class Held(Record):
    """A wait before a trial, while the CPUs were in a regime in which nothing was to be asked."""

    ns: int
    round_trip_ns: int
    """By the last look at which they were."""


class Trial(TrialCounts):
    """A judged trial."""

    index: int
    """Number of the trial within its case, from 1, repeated ones included."""
    deployment: int = Field(default=1, ge=1)
    """Counts how often switch and generator were made anew, for this trial and those before it."""
    purpose: Purpose
    load_fps: int
    """Intended load per direction [frames/s]."""
    duration_ns: int
    """Intended duration of sending."""
    started_at: str
    """UTC, ISO 8601."""
    flags: tuple[Flag, ...] = ()
    retry_of: int | None = None
    """Index of the invalid trial that this one repeats."""
    error: str | None = None
    """What the generator said when it failed."""
    switch: SwitchCounters | None = None
    """How the switch's counters grew; None when it has none."""
    vnfs: tuple[VnfCounters, ...] = ()
    """How the counters of the VNFs grew."""
    threads: tuple[ThreadActivity, ...] = ()
    """What kept each polling thread from running; empty where nobody looked, as in a model."""
    cache: tuple[CacheActivity, ...] = ()
    """What each part of the last-level cache held and moved; empty where it is not shared out."""
    noise: tuple[NoiseActivity, ...] = ()
    """What each load beside the case did; empty where there was none."""
    round_trips_ns: tuple[int, ...] = ()
    """Time of a cache line from the generator's CPU to the switch's and back, before and after."""
    held: Held | None = None
    """For how long it was held back until its CPUs were where it was to be made; None for none."""
    event: Event | None = None
    """What was done to the switch in the middle of the trial."""
    rules_changed: int | None = None
    """Rules that were added to the switch and taken out during the trial; None where none were
    to be."""
    reference: str | None = None
    """What the load refers to, such as `50% of ndr`; None for a load that stands for itself."""

    @property
    def outage_ns(self) -> int | None:
        """Time without a frame around what was done to the switch, worse direction.

        None when nothing was done, when nobody can tell, or when the frames did not come back.
        """
        silences = [way.longest_silence_ns for way in self.directions]
        if self.event is None or not silences or any(silence is None for silence in silences):
            return None
        known = [silence for silence in silences if silence is not None]
        # Where frames never came back, the longest silence is one of before. A program that is
        # asked to end may forward for most of the event; what came after it says that it is back.
        ended_ns = self.event.ended_ns
        came_later = all((way.receiving_ns or 0) > ended_ns for way in self.directions)
        came_back = came_later or 2 * min(known) >= ended_ns - self.event.began_ns
        return max(known) if came_back else None

    @property
    def valid(self) -> bool:
        """Whether a search may build on this trial."""
        return worst(self.flags) is not Severity.INVALID

    @property
    def worst_direction(self) -> Direction:
        """The direction that lost the greatest share; searches judge a trial by it."""
        return max(self.directions, key=lambda direction: direction.loss_ratio)

    @property
    def loss_ratio(self) -> Fraction:
        """Loss ratio of the worse direction."""
        return self.worst_direction.loss_ratio

    @property
    def switch_loss_ratio(self) -> Fraction:
        """Loss ratio of what was really sent, worse direction."""
        return max(direction.switch_loss_ratio for direction in self.directions)

    @property
    def intended_frames(self) -> int:
        """Sum over directions."""
        return sum(direction.intended_frames for direction in self.directions)

    @property
    def sent_frames(self) -> int:
        """Sum over directions."""
        return sum(direction.sent_frames for direction in self.directions)

    @property
    def received_frames(self) -> int:
        """Sum over directions."""
        return sum(direction.received_frames for direction in self.directions)

    @property
    def lost_frames(self) -> int:
        """Sum over directions, unsent frames included."""
        return sum(direction.lost_frames for direction in self.directions)

    @property
    def behind_frames(self) -> int:
        """Frames per direction that can have been lost before the generator's own rings.

        Those that came while it was behind, at the trial's load, and what its devices missed; but
        no frame that the switch counts as lost before it sent it on.
        """
        if self.generator is None:
            return 0
        arrived = self.generator.behind_ns * self.load_fps // NANOSECONDS
        elsewhere = 0 if self.switch is None else self.switch.lost_on_the_way
        under_way = sum(way.sent_frames - way.good_frames for way in self.directions)
        return min(arrived + self.generator.missed_frames, max(0, under_way - elsewhere))

    @property
    def kept_ns(self) -> int:
        """Time that polling threads of the switch and of VNFs were kept from running."""
        return sum(one.kept_ns for one in self.threads if one.part != GENERATOR)

    @property
    def held_up(self) -> tuple[ThreadActivity, ...]:
        """Polling threads that alone can explain the whole loss by not running, worst first.

        What came in all that time at the trial's load, less what a ring holds, is as much as can
        have been lost by it. Threads of the generator count apart, by what it says of itself, and
        so does what it was too slow for: no switch that stands still keeps it from sending but by
        a full port.
        """
        lost = max((way.lost_frames - self.late_frames(way) for way in self.directions), default=0)
        ring = (self.generator and self.generator.ring_frames) or 0
        enough_ns = (lost + ring) * NANOSECONDS
        found = (
            thread
            for thread in self.threads
            if thread.part != GENERATOR and thread.kept_ns * self.load_fps >= enough_ns
        )
        return tuple(sorted(found, key=lambda thread: -thread.kept_ns)) if lost > 0 else ()

    def late_frames(self, way: Direction) -> int:
        """Return what the generator was too slow for, as far as its port cannot have been full.

        It says what the port refused to the end. Nor was it full before that, if frames arrived
        again and again before a ring could fill. Where neither is known it is 0.
        """
        ring = self.generator and self.generator.ring_frames
        if way.refused_frames is None or way.longest_silence_ns is None or not ring:
            return 0
        filled = way.longest_silence_ns * self.load_fps >= ring * NANOSECONDS
        return 0 if filled else max(0, way.short_frames)

    @property
    def switch_busy(self) -> Fraction | None:
        """Share of the sending time in which the switch's polling threads had work; about.

        They idle while the trial drains, so that time is taken out. None when nobody counted.
        """
        return None if self.switch is None else self.busy_share(self.switch.pmds)

    def busy_share(self, pmds: Sequence[PmdCounters]) -> Fraction | None:
        """Return the same of some of the threads, or of one."""
        busy, idle = cycles_of(pmds)
        if busy is None or idle is None or busy + idle <= 0 or not self.sending_ns:
            return None
        return min(Fraction(1), Fraction(busy * self.elapsed_ns, (busy + idle) * self.sending_ns))

    @property
    def vnf_frames(self) -> int:
        """Frames that VNFs lost: those inside, and those they had no room for."""
        return self.refused_by_vnfs + sum(one.lost_frames or 0 for one in self.vnfs)

    @property
    def refused_by_vnfs(self) -> int:
        """Frames that a VNF had no room for: handed on by the switch, or by the generator.

        The generator is plugged into a VNF where a direction begins at one.
        """
        names = {f"{vnf.name} to " for vnf in self.vnfs}
        outer = (
            way.refused_frames or 0
            for way in self.directions
            if any(way.name.startswith(name) for name in names)
        )
        return sum(outer) + (self.switch.refused_by_vnfs if self.switch is not None else 0)

    @property
    def counts_backwards(self) -> bool:
        """Whether a counter of the switch or of a VNF fell: it was reset, or wrapped."""
        switch = self.switch is not None and self.switch.least_growth < 0
        return switch or any(vnf.least_growth < 0 for vnf in self.vnfs)

    @property
    def explained_frames(self) -> int | None:
        """Frames whose loss a counter explains; None when the switch or a VNF has none.

        A counter that fell counts nothing.
        """
        inside = [vnf.lost_frames for vnf in self.vnfs]
        if self.switch is None or None in inside or self.counts_backwards:
            return None
        return self.switch.dropped_frames + sum(lost for lost in inside if lost is not None)

    @property
    def unexplained_frames(self) -> int | None:
        """Frames that were sent, did not arrive, and were counted as dropped by nobody.

        Below zero when the switch dropped frames that were not of the test.
        """
        if self.explained_frames is None:
            return None
        missing = sum(way.sent_frames - way.good_frames for way in self.directions)
        return missing - self.explained_frames

    @property
    def forwarding_fps(self) -> Fraction:
        """Frames per second and direction that came through, worse direction.

        Of a direction that is offered a share of the load, it is what all of it would have been.
        """
        most = max(way.intended_frames for way in self.directions)
        good = min(
            Fraction(way.good_frames * most, max(1, way.intended_frames)) for way in self.directions
        )
        return Fraction(good * NANOSECONDS, self.duration_ns)


# What a generator says while a trial runs, about once a second.


class LatencySample(Record):
    """Latencies of the frames that arrived since the sample before."""

    frames: int
    min_ns: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


class DirectionSample(Record):
    """Counters of one direction since the trial began; approximate, as frames are on their way."""

    name: str
    sent_frames: int
    received_frames: int
    refused_frames: int | None = None
    """What should have been sent by now, and the port did not take; it may take it later."""
    lost_frames: int | None = None
    """Frames missing before one that arrived; None when nobody can tell before the end."""
    latency: LatencySample | None = None
    """None when it is not measured, or when no frame arrived since the sample before."""


class Sample(Record):
    """All directions at a moment of a trial."""

    elapsed_ns: int
    """Since the trial began."""
    directions: tuple[DirectionSample, ...]


# A second of a long trial: what the generator said, and what the machine did meanwhile.


class Second(Record):
    """All that is known of about a second; what was counted, is so since the one before."""

    sample: Sample
    """Of the generator; its frames count since the trial began."""
    switch: SwitchCounters | None = None
    """None where the switch does not count, or could not be asked."""
    threads: tuple[ThreadActivity, ...] = ()
    """What kept polling threads from running."""
