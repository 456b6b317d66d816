"""One trial, judged: the only caller of the generator, and the only way a search gets a number.

Retry policy: a trial with an invalid flag is repeated at once, up to `trial.retries` times. Every
attempt is recorded and counts against the budget. If the last one is invalid too, the case ends;
a search never sees an invalid trial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vsperf.engine.disturb import Disturbance, run_disturbed
from vsperf.engine.judge import Asked, judge, judge_with_context
from vsperf.engine.watch import Seen, Watch
from vsperf.errors import ComponentError, DiedError, InvalidTrialError
from vsperf.human import human_fps
from vsperf.record.flags import Flag, Severity
from vsperf.record.trial import Purpose, Trial, TrialCounts
from vsperf.search.base import Budget
from vsperf.spec.traffic import TrialPolicy
from vsperf.trafficgens.base import GeneratorSession, TrialRequest


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
    trials: list[Trial] = field(default_factory=list)
    disturbance: Disturbance | None = None
    """What is done to the switch in each trial of the search."""

    def measure(
        self,
        load_fps: int,
        duration_ns: int,
        purpose: Purpose = Purpose.SEARCH,
        reference: str | None = None,
    ) -> Trial:
        """Return a valid trial, repeating invalid ones; raise when none can be had."""
        request = TrialRequest(load_fps, duration_ns, latency=purpose is Purpose.LATENCY)
        trial = self.attempt(request, purpose, reference)
        for _ in range(self.policy.retries):
            if trial.valid:
                return trial
            self.budget.require(duration_ns + self.policy.overhead_ns)
            trial = self.attempt(request, purpose, reference, retry_of=trial.index)
        if trial.valid:
            return trial
        raise _unbelievable(trial, self.policy.retries)

    def attempt(
        self,
        request: TrialRequest,
        purpose: Purpose,
        reference: str | None = None,
        retry_of: int | None = None,
    ) -> Trial:
        """Make one trial, judge it, record it, and return it whatever the judgement."""
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.begin(purpose, request.load_fps, request.duration_ns)
        error, event = None, None
        lost: ComponentError | None = None
        self.watch.begin()
        try:
            if self.disturbance is not None and purpose is Purpose.SEARCH:
                self.watch.restarted = True
                counts, event = run_disturbed(
                    self.generator, request, self.disturbance, self.policy.settle.ns
                )
            else:
                counts = self.generator.run(request)
            asked = Asked(request.load_fps, request.duration_ns, self.directions, self.even)
            flags = judge(counts, asked, self.policy)
        except ComponentError as failure:
            lost = failure
            counts = TrialCounts(directions=(), sending_ns=None, elapsed_ns=0, settled=False)
            flags, error = (Flag.GENERATOR_ERROR,), failure.with_why
        seen = self.watch.end()
        if isinstance(lost, DiedError):
            seen = Seen(failure=lost.with_why)
        if seen.failure is not None:
            flags, error = (seen.flag,), seen.failure
        trial = Trial(
            **dict(counts),
            index=len(self.trials) + 1,
            purpose=purpose,
            load_fps=request.load_fps,
            duration_ns=request.duration_ns,
            started_at=started_at,
            flags=flags,
            retry_of=retry_of,
            error=error,
            event=event,
            reference=reference,
            switch=seen.switch,
            machines=seen.machines,
            threads=seen.threads,
            round_trips_ns=seen.round_trips_ns,
        )
        if trial.valid:
            flags = (*trial.flags, *judge_with_context(trial, self.policy))
            trial = trial.model_copy(update={"flags": tuple(sorted(flags, key=list(Flag).index))})
        self.trials.append(trial)
        self.record(trial)
        if not (trial.valid and purpose is Purpose.SEARCH):
            self.budget.spend(trial.elapsed_ns)  # a search pays for what it is given itself
        if seen.failure is not None:
            part = "a machine" if seen.flag is Flag.MACHINE_ERROR else "the switch"
            raise DiedError(f"{part} failed during trial {trial.index}", why=seen.failure)
        if (reason := self.generator.failure()) is not None:
            raise DiedError(f"the generator failed during trial {trial.index}", why=reason)
        return trial


def _unbelievable(trial: Trial, retries: int) -> Exception:
    """Return the error for a trial that stayed invalid."""
    if trial.error is not None:
        return ComponentError(f"the generator failed in trial {trial.index}", why=trial.error)
    flag = next(flag for flag in trial.flags if flag.severity is Severity.INVALID)
    return InvalidTrialError(
        f"trial {trial.index} at {human_fps(trial.load_fps)} stayed invalid after {retries} "
        f"{'repeat' if retries == 1 else 'repeats'}: {flag.value}",
        why=flag.meaning,
        fix=f"`vsperf explain {flag.value}` says more; the run's record holds every attempt",
    )
