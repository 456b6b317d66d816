"""The load beside a case: it settles before the first trial, and is looked at around each one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from vsperf.config.noise import NOISE, NoiseSpec
from vsperf.drivers.loads.base import RunningLoad
from vsperf.engine.assignment import CaseRun
from vsperf.errors import ComponentError
from vsperf.host.workspace import Workspace
from vsperf.records.host import Conditions
from vsperf.records.switch import NoiseActivity
from vsperf.waits import sleep

LOOK_S = 0.1
"""Between two looks at what it has done, which are looks at a condition."""
WINDOW_NS = 500_000_000
"""Time over which a rate is taken while it settles."""


@dataclass
class BackgroundLoad:
    """A load that has settled."""

    load: RunningLoad
    rates: Mapping[str, float] = field(default_factory=dict)
    """What each instance did per second when it had settled; empty where that is not judged."""
    least: float = 0.0
    """The part of that rate below which a trial is not to be believed."""
    _before: tuple[NoiseActivity, ...] = ()

    def begin(self) -> None:
        self._before = self.load.counts()

    def end(self) -> tuple[NoiseActivity, ...]:
        before = {one.instance: one for one in self._before}
        return tuple(
            one.since(before.get(one.instance, NoiseActivity(instance=one.instance)))
            for one in self.load.counts()
        )

    def failure(self) -> str | None:
        """Return why it no longer runs, or None while it does."""
        return self.load.failure()

    def slackened(self, found: Sequence[NoiseActivity]) -> bool:
        """Whether an instance was not heard of, whatever its load, or did less than it should."""
        return any(one.elapsed_ns is None or self._fell_behind(one) for one in found)

    def _fell_behind(self, one: NoiseActivity) -> bool:
        if one.instance not in self.rates:
            return False
        rate = rate_of(one)
        return rate is None or rate < self.least * self.rates[one.instance]


def with_noise(found: Conditions, beside: BackgroundLoad | None) -> Conditions:
    """Return what a case found around itself, with what runs beside it."""
    if beside is None:
        return found
    settled = {name: round(rate, 3) for name, rate in beside.rates.items()}
    noise = {**beside.load.facts(), "settled": settled, "least": beside.least}
    return found.model_copy(update={"noise": noise})


@contextmanager
def background_load(run: CaseRun, workspace: Workspace) -> Iterator[BackgroundLoad | None]:
    """Start the load of a case and let it settle; None for a case without one."""
    spec, plan, drivers = run.case.spec, run.plan, run.drivers
    if drivers.noise is None or not isinstance(spec.noise, NoiseSpec):
        yield None
        return
    run.enter("settle the noise")
    placement = plan.plan.placement
    with drivers.noise.start(spec, placement, workspace) as load:
        if not drivers.noise.judged(spec):
            _require_staying(load, workspace)
            yield BackgroundLoad(load)
            return
        rates = _settled(load, spec.noise, workspace)
        alone = NOISE not in plan.shared_roles
        least = 1 - float(spec.noise.tolerance) if alone else 0.0
        yield BackgroundLoad(load, rates, least)


def rate_of(activity: NoiseActivity) -> float | None:
    """Return what is judged of an instance: bytes per second, else its share of a CPU.

    None where it was not heard of since the look before.
    """
    found = activity.bytes_per_second
    return activity.cpu_share if found is None else found


def _require_running(load: RunningLoad) -> None:
    if (reason := load.failure()) is not None:
        raise ComponentError(
            "the noise did not start",
            why=reason,
            fix="`vsperf doctor` says whether its program is there and runs; `--set noise=none` "
            "measures without it",
        )


def _attend(load: RunningLoad, workspace: Workspace, during: str) -> None:
    """Attend to all that runs; a load that ended is told in one way, whoever sees it first."""
    _require_running(load)
    try:
        workspace.attend(during)
    except ComponentError:
        _require_running(load)
        raise


def _require_staying(load: RunningLoad, workspace: Workspace) -> None:
    """See that a load without a rate did not end at once, as one does that was asked wrongly."""
    until_ns = time.monotonic_ns() + WINDOW_NS
    while True:
        _attend(load, workspace, "while the noise started")
        if time.monotonic_ns() >= until_ns:
            return
        sleep(LOOK_S)  # between two looks at a condition, never instead of one


def _require_heard(load: RunningLoad, now: Sequence[NoiseActivity], spec: NoiseSpec) -> None:
    """Tell of instances that run and were never heard of, such as a guest that hangs."""
    silent = [one.instance for one in now if one.elapsed_ns is None]
    if silent:
        words = load.last_words(silent[0])
        raise ComponentError(
            f"nothing was heard of {', '.join(silent)} within {spec.settle_timeout}",
            why=f"it runs, and its last words are: {words}"
            if words
            else "it runs, and has not said a word: a guest that hangs, or a program that waits",
            fix="give it more time (noise.settle_timeout), or look at how it was started: "
            "vsperf plan",
        )


def _settled(load: RunningLoad, spec: NoiseSpec, workspace: Workspace) -> dict[str, float]:
    """Return the rates of all instances as soon as two windows in a row have the same."""
    deadline = time.monotonic() + spec.settle_timeout.seconds
    tolerance = float(spec.tolerance)
    before: tuple[NoiseActivity, ...] = ()
    last: dict[str, float] = {}
    while True:
        _attend(load, workspace, "while the noise settled")
        now = load.counts()
        if not before:
            before = now if all(one.elapsed_ns is not None for one in now) else ()
        else:
            found = [one.since(then) for one, then in zip(now, before, strict=True)]
            if all((one.elapsed_ns or 0) >= WINDOW_NS for one in found):
                rates = {one.instance: rate for one in found if (rate := rate_of(one))}
                if len(rates) == len(now) and _alike(last, rates, tolerance):
                    return rates
                before, last = now, rates
        if time.monotonic() > deadline:
            _require_heard(load, now, spec)
            raise ComponentError(
                f"the noise was not steady within {spec.settle_timeout}",
                why=_said(last) or "it said too little of what it does",
                fix="give it more time (noise.settle_timeout) or more room (noise.tolerance), or "
                "place it on a CPU of its own (noise.cpus)",
            )
        sleep(LOOK_S)


def _alike(last: Mapping[str, float], now: Mapping[str, float], tolerance: float) -> bool:
    return bool(last) and all(
        abs(rate - last.get(name, 0.0)) <= tolerance * max(rate, last.get(name, 0.0))
        for name, rate in now.items()
    )


def _said(rates: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name} did {rate / 1e6:.0f} MB/s" if rate > 1 else f"{name} had a CPU {rate:.0%}"
        for name, rate in rates.items()
    )
