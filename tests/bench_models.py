"""A bench with an exact switch on it: a capacity, a buffer in front of it, and outages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from all_methods import METHODS
from search_models import LINE_RATE, case_of

from vsperf.methods.base import PLAIN, Method, TrialOptions
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.histogram import encode
from vsperf.records.meaning import ETHERNET_SIZES
from vsperf.records.result import Level, SearchResult, Standard
from vsperf.records.trial import (
    Direction,
    Event,
    Purpose,
    Second,
    StepCounts,
    Trial,
    intended_frames,
)
from vsperf.search.base import Budget, Loads

LOADS = Loads(9001, LINE_RATE, LINE_RATE)


@dataclass
class FluidBench:
    """Frames beyond the capacity wait in a buffer, and are lost when it is full."""

    capacity_fps: int
    buffer_frames: int = 0
    outages_ns: Mapping[str, int | None] = field(default_factory=dict)
    """How long an event keeps the switch from forwarding; None if it does not come back."""
    loads: Loads = LOADS
    budget: Budget = field(default_factory=Budget)
    overhead_ns: int = 0
    lossy_loads: set[int] = field(default_factory=set)
    """Loads at which a tenth is lost, whatever the capacity."""
    collapse: float = 0.0
    """By how much less is forwarded for each frame of overload."""
    made: list[Trial] = field(default_factory=list)

    recovery_ns: int = 0
    """For how long frames are lost after an overload."""
    latencies_ns: Sequence[int] = ()
    """Of the frames of a trial in which they are measured, the tagged one first."""
    seconds: Sequence[Second] = ()
    """What is told of a long trial."""
    shown: Callable[[Trial], Trial] = lambda trial: trial
    """What becomes of a trial before anybody sees it: another switch, or another generator."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        if options.on_second is not None:
            for second in self.seconds:
                options.on_second(second)
        if options.steps:
            return self._stepped(options)
        event = options.event
        sent = intended_frames(load_fps, duration_ns)
        capacity = self.capacity_fps * duration_ns // NANOSECONDS
        overload = max(0, sent - capacity - self.buffer_frames)
        passed = sent - overload - int(overload * self.collapse)
        passed = passed * 9 // 10 if load_fps in self.lossy_loads else passed
        silence_ns, happened = NANOSECONDS // load_fps, None
        if event is not None:
            began_ns, outage_ns = duration_ns // 4, self.outages_ns[event]
            happened = Event(name=event, began_ns=began_ns, ended_ns=began_ns + (outage_ns or 1000))
            passed -= load_fps * (outage_ns or duration_ns // 2) // NANOSECONDS
            silence_ns = outage_ns or 1
        way = Direction(
            name="phy0 to phy1",
            intended_frames=sent,
            sent_frames=sent,
            received_frames=passed,
            longest_silence_ns=silence_ns,
            first_latency_ns=next(iter(self.latencies_ns), None),
            latency_histogram=encode(self.latencies_ns),
            range_histograms=tuple(
                encode([10 * (i + 1)]) for i, _ in enumerate(options.latency_ranges)
            ),
        )
        return self._kept(way, load_fps, duration_ns, options, happened)

    def _stepped(self, options: TrialOptions) -> Trial:
        high, low = options.steps
        excess = high.frames - self.capacity_fps * high.duration_ns // NANOSECONDS
        excess = max(0, excess - self.buffer_frames)
        later = low.load_fps * self.recovery_ns // NANOSECONDS if excess else 0
        sent = high.frames + low.frames
        steps = (
            StepCounts(intended_frames=high.frames, sent_frames=high.frames, began_ns=0),
            StepCounts(
                intended_frames=low.frames, sent_frames=low.frames, began_ns=high.duration_ns
            ),
        )
        way = Direction(
            name="phy0 to phy1",
            intended_frames=sent,
            sent_frames=sent,
            received_frames=sent - excess - later,
            last_loss_ns=high.duration_ns + self.recovery_ns if excess else None,
            steps=steps,
        )
        return self._kept(way, high.load_fps, high.duration_ns + low.duration_ns, options, None)

    def _kept(
        self,
        way: Direction,
        load_fps: int,
        duration_ns: int,
        options: TrialOptions,
        event: Event | None,
    ) -> Trial:
        trial = Trial(
            directions=(way,),
            sending_ns=duration_ns,
            elapsed_ns=duration_ns + self.overhead_ns,
            settled=True,
            index=len(self.made) + 1,
            purpose=options.purpose,
            load_fps=load_fps,
            duration_ns=duration_ns,
            started_at="",
            event=event,
            reference=options.reference,
        )
        trial = self.shown(trial)
        self.made.append(trial)
        if options.purpose is Purpose.WARM_UP:
            self.budget.spend(trial.elapsed_ns)  # as a measurer does: nobody else pays for it
        return trial


@dataclass
class UnevenBench(FluidBench):
    """The reverse direction is offered half of the load, and fares as the forward one."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        trial = super().trial(load_fps, duration_ns, options)
        (way,) = trial.directions
        counted = ("intended_frames", "sent_frames", "received_frames")
        halves = {name: getattr(way, name) // 2 for name in counted}
        reverse = way.model_copy(update={"name": "phy1 to phy0", **halves})
        self.made[-1] = trial.model_copy(update={"directions": (way, reverse)})
        return self.made[-1]


def method(kind: str, **settings: Any) -> Method:
    """Return a method with short trials, unless `settings` say otherwise."""
    usual: dict[str, dict[str, Any]] = {
        "back2back": {"throughput_duration": "1s", "throughput_sum": "1s"},
        "reset": {"throughput_duration": "1s", "throughput_sum": "1s", "duration": "60s"},
        "recovery": {"throughput_duration": "1s", "throughput_sum": "1s", "duration": "60s"},
        "latency": {
            "throughput_duration": "60s",
            "throughput_sum": "60s",
            "duration": "120s",
            "tag_after": "60s",
        },
        "soak": {"throughput_duration": "1s", "throughput_sum": "1s", "duration": "120s"},
        "loss": {"duration": "1s"},
        "forwarding": {"duration": "30s"},
    }
    return METHODS[kind].model_validate({"kind": kind, **usual.get(kind, {}), **settings})


def figures(result: SearchResult) -> dict[str, float | None]:
    """Return the values of a result's figures by their names."""
    return {figure.name: figure.value for figure in result.figures}


def counted(trial: Trial, **counters: Any) -> Trial:
    """Return a trial in one direction with other counters."""
    (way,) = trial.directions
    return trial.model_copy(update={"directions": (way.model_copy(update=counters),)})


def with_way_back(trial: Trial, **counters: Any) -> Trial:
    """Return a trial in one direction with a second one, which has these counters of its own."""
    (way,) = trial.directions
    back = way.model_copy(update={"name": "phy1 to phy0", **counters})
    return trial.model_copy(update={"directions": (way, back)})


def word_on(
    standard: Standard, asked: Method, result: SearchResult, *, sizes: Sequence[int] = (64,)
) -> tuple[Level, tuple[str, ...]]:
    """Return the word on a standard that a result earns by these sizes, and what deviates."""
    words = asked.compliance(case_of("mlr", search=asked), sizes, result)
    (found,) = (one for one in words if one.standard is standard)
    return found.level, found.deviations


ALL_SIZES = tuple(ETHERNET_SIZES)
