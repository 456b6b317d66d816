"""One trial, judged: the only caller of the generator, the only way a search gets a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import Protocol

from vsperf.config.abilities import EVERYTHING, Capabilities
from vsperf.config.traffic import TrialPolicy
from vsperf.drivers.generators.base import (
    GeneratorSession,
    HasOwnTime,
    OnSample,
    TrialRequest,
    reservations,
)
from vsperf.drivers.vswitches.base import RunningSwitch
from vsperf.engine.assignment import CaseRun
from vsperf.engine.attempts import stayed_invalid, until_valid
from vsperf.engine.disturb import NOTHING, prepare, run_trial
from vsperf.engine.events import Parts
from vsperf.engine.judge import Asked, in_order, judge, judge_with_context
from vsperf.engine.watch import Watch, not_back
from vsperf.errors import ComponentError, DiedError
from vsperf.host.files import Roots
from vsperf.host.threads import Look, Thread
from vsperf.methods.base import PLAIN, OnSecond, TrialOptions
from vsperf.quantities.human import human_fps
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.switch import SwitchCounters
from vsperf.records.trial import Held, Purpose, Sample, Second, Trial, TrialCounts
from vsperf.search.base import Budget, Loads
from vsperf.waits import sleep

FAILED = {Flag.VNF_ERROR: "a VNF", Flag.NOISE_ERROR: "the noise beside the case"}
"""What a flag says of, where that is not the switch."""
PAID = (Purpose.SEARCH, Purpose.LATENCY, Purpose.DRAW)
"""Trials that whoever asked for them pays for, if they are valid, or taken as they are."""


class Around(Protocol):
    """Whoever looks before each trial and after it, beside the watch; it never raises."""

    def begin(self, trial: int, purpose: Purpose) -> None:
        """Look before a trial."""

    def end(self) -> None:
        """Look after it, if there was a look before."""


class Nobody:
    """Nobody looks."""

    def begin(self, trial: int, purpose: Purpose) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


@dataclass
class Seconds:
    """Makes a second of each sample of a long trial, and hands it on.

    The only place where anything is read while frames are sent: some files of the kernel and
    answers of the switch, once a second. That takes a few milliseconds of a CPU that may be the
    generator's, and is why a search does without.
    """

    switch: RunningSwitch | None
    polling_threads: Callable[[], tuple[Thread, ...]]
    hand_on: tuple[OnSecond, ...]
    _counters: SwitchCounters | None = None
    _look: Look = field(default_factory=lambda: Look({}))

    def __post_init__(self) -> None:
        """Look once, for the first second to be told from what was before."""
        self._counters, self._look = self._counted(), Look.at(self.polling_threads(), Roots())

    def __call__(self, sample: Sample) -> None:
        """Take a sample, and look at the rest."""
        counters, look = self._counted(), Look.at(self._look.threads, Roots())
        growth = None
        if counters is not None and self._counters is not None:
            growth = counters.since(self._counters)
        second = Second(sample=sample, switch=growth, threads=look.since(self._look))
        self._counters, self._look = counters, look
        for told in self.hand_on:
            told(second)

    def _counted(self) -> SwitchCounters | None:
        try:
            return None if self.switch is None else self.switch.counters()
        except ComponentError:
            return None  # whether it has died, whoever watches the trial finds out


@dataclass
class Measurer:
    """Makes trials on one deployment and keeps them."""

    generator: GeneratorSession
    watch: Watch
    policy: TrialPolicy
    budget: Budget
    directions: int
    """In which frames are to be sent."""
    even: bool = True
    """Whether they are to be sent equally far apart."""
    begin: Callable[[Purpose, int, int], None] = lambda purpose, load_fps, duration_ns: None
    """Told before each trial."""
    record: Callable[[Trial], None] = lambda trial: None
    """Given each trial as soon as it is judged, invalid ones included."""
    record_second: OnSecond = lambda second: None
    """Given each second of a trial that is long, while it goes on."""
    holding: Callable[[int], None] = lambda round_trip_ns: None
    """Told when a trial begins to be held back, and why: how far the CPUs are from each other."""
    trials: list[Trial] = field(default_factory=list)
    shares: tuple[Fraction, ...] = ()
    """What each direction is offered of the load; all of it unless told."""
    around: Around = field(default_factory=Nobody)
    generator_can: Capabilities = EVERYTHING
    """What its trials tell less exactly is said of each of them."""
    held: Held | None = None
    """For how long the next trial has been held back."""
    deployment: int = 1
    """Which one of its case it is on."""

    def hold(self, ns: int) -> None:
        """Hold the next trial back for so long, and look again where the CPUs are."""
        round_trip_ns = self.watch.known_round_trip_ns()
        assert round_trip_ns is not None  # nobody waits without having looked
        if self.held is None:
            self.holding(round_trip_ns)
        if isinstance(self.generator, HasOwnTime):
            self.generator.let_pass(ns)
        else:
            sleep(ns / NANOSECONDS)
        before_ns = self.held.ns if self.held is not None else 0
        self.held = Held(ns=before_ns + ns, round_trip_ns=round_trip_ns)
        self.watch.look_again()

    def measure(
        self,
        load_fps: int,
        duration_ns: int,
        options: TrialOptions = PLAIN,
    ) -> Trial:
        """Return a valid trial, repeating invalid ones; raise when none can be had."""
        request = TrialRequest(
            load_fps,
            duration_ns,
            latency=options.purpose is Purpose.LATENCY,
            steps=options.steps,
            latency_after_ns=options.latency_after_ns,
            latency_ranges=options.latency_ranges,
        )
        retries = 0 if options.given else self.policy.retries
        cost_ns = duration_ns + self.policy.overhead_ns
        attempt = partial(self.attempt, request, options)
        trial = until_valid(attempt, retries, self.budget, cost_ns)
        if trial.valid or options.given:
            return trial
        if trial.error is not None:
            raise ComponentError(f"the generator failed in trial {trial.index}", why=trial.error)
        named = f"trial {trial.index} at {human_fps(trial.load_fps)}"
        raise stayed_invalid(named, trial.flags, retries)

    def _on_sample(self, options: TrialOptions) -> OnSample | None:
        """Return who hears of each second, if anybody wants to."""
        if options.on_second is None:
            return None
        told = (self.record_second, options.on_second)
        return Seconds(self.watch.switch, self.watch.polling_threads, told)

    def attempt(
        self,
        request: TrialRequest,
        options: TrialOptions,
        retry_of: int | None = None,
    ) -> Trial:
        """Make one trial, judge it, record it, and return it whatever the judgement."""
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.begin(options.purpose, request.load_fps, request.duration_ns)
        error, happened = None, NOTHING
        lost: ComponentError | None = None
        try:
            prepare(self.watch.switch, options)
            self.around.begin(len(self.trials) + 1, options.purpose)
            self.watch.begin()
            self.watch.event = options.event
            counts, happened = run_trial(
                partial(self.generator.run, on_sample=self._on_sample(options)),
                request,
                options,
                Parts(self.watch.switch, self.watch.vnfs),
                self.policy.settle.ns,
            )
            asked = Asked(
                request.load_fps,
                request.duration_ns,
                self.directions,
                self.even,
                request.steps,
                self.shares,
            )
            latency = any(way.latency_histogram is not None for way in counts.directions)
            less = reservations(self.generator_can, latency=latency)
            flags = in_order({*judge(counts, asked, self.policy), *less})
            if options.event is not None and happened.event is None:
                flags = (Flag.EVENT_MISSED, *flags)
        except ComponentError as failure:
            lost = failure
            counts = TrialCounts(directions=(), sending_ns=None, elapsed_ns=0, settled=False)
            flags, error = (Flag.GENERATOR_ERROR,), failure.with_why
        seen = self.watch.end()
        self.around.end()
        if isinstance(lost, DiedError):
            seen = not_back(options.event, lost.with_why)
        if seen.failure is not None:
            flags, error = (seen.flag,), seen.failure
        elif seen.noise_slackened:
            flags = (Flag.NOISE_SLACKENED, *flags)
        trial = Trial(
            **dict(counts),
            index=len(self.trials) + 1,
            deployment=self.deployment,
            purpose=options.purpose,
            load_fps=request.load_fps,
            duration_ns=request.duration_ns,
            started_at=started_at,
            flags=flags,
            retry_of=retry_of,
            error=error,
            event=happened.event,
            rules_changed=happened.rules_changed,
            reference=options.reference,
            switch=seen.switch,
            vnfs=seen.vnfs,
            threads=seen.threads,
            noise=seen.noise,
            cache=seen.cache,
            round_trips_ns=seen.round_trips_ns,
            held=self.held if options.purpose in PAID else None,
        )
        if trial.valid:
            self.held = None if options.purpose in PAID else self.held
            flags = in_order({*trial.flags, *judge_with_context(trial, self.policy)})
            trial = trial.model_copy(update={"flags": flags})
        self.trials.append(trial)
        self.record(trial)
        if not (options.purpose in PAID and (trial.valid or options.given)):
            self.budget.spend(trial.elapsed_ns)
        if seen.failure is not None:
            part = FAILED.get(seen.flag, "the switch")
            raise DiedError(f"{part} failed during trial {trial.index}", why=seen.failure)
        if (reason := self.generator.failure()) is not None:
            raise DiedError(f"the generator failed during trial {trial.index}", why=reason)
        return trial


@dataclass(frozen=True, slots=True)
class MeasuredBench:
    """Trials on what is deployed."""

    measurer: Measurer
    loads: Loads

    @property
    def budget(self) -> Budget:
        return self.measurer.budget

    @property
    def overhead_ns(self) -> int:
        return self.measurer.policy.overhead_ns

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        """Make a trial, repeated until it is valid."""
        return self.measurer.measure(load_fps, duration_ns, options)

    def round_trip_ns(self) -> int | None:
        """Return how far the CPUs of generator and switch were from each other at the last look."""
        return self.measurer.watch.known_round_trip_ns()

    def hold(self, ns: int) -> None:
        """Hold the next trial back for so long, and look again."""
        self.measurer.hold(ns)


def warm_up(run: CaseRun, measurer: Measurer, loads: Loads) -> tuple[str, ...]:
    """Make it, if it was asked for and there is time; whatever its flags, it concludes nothing."""
    length_ns = run.case.seeded_spec.trial.warm_up.ns
    if not fits(length_ns, run.budget):
        return ("no warm-up trial: the time would not suffice for it",)
    if length_ns:
        run.enter("warm up")
        measurer.attempt(TrialRequest(loads.maximum, length_ns), TrialOptions(Purpose.WARM_UP))
    return ()


def fits(duration_ns: int, budget: Budget) -> bool:
    """Whether something that is not the search may take so long: up to a quarter of the time."""
    return budget.left_ns is None or duration_ns <= budget.left_ns // 4
