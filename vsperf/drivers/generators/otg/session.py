"""Trials on a server of the model, which is believed only as far as its counters fit together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from vsperf.config.traffic import TrafficProfile, TrialPolicy
from vsperf.drivers.generators.base import OnSample, TrialRequest
from vsperf.drivers.generators.otg.accounts import (
    Asked,
    Flows,
    Ports,
    alike,
    all_left,
    changed,
    foreign_frames,
    gave_up,
    held_to_pace,
    links_down,
    never_fell,
)
from vsperf.drivers.generators.otg.client import Client
from vsperf.drivers.generators.otg.spec import OtgSpec
from vsperf.drivers.generators.otg.traffic import TrafficDirection, config
from vsperf.errors import ComponentError, DiedError, NotReadyError
from vsperf.host.process import Managed
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import Direction, DirectionSample, RateStep, Sample, TrialCounts
from vsperf.waits import sleep

GONE = "the OTG server is no longer connected"
POLL_S = 0.02
LEAST_QUIET_S = 0.05
LEAST_LATE_S = 0.1
"""How late the last frame may be before a trial is cut; less would be that of the conversation."""
FIRST = RateStep(1_000, NANOSECONDS)
"""Configured and never sent, so that what a server cannot do is known before a trial."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as it passes here; tests have another one."""

    now: Callable[[], float] = time.monotonic
    """In seconds."""
    sleep: Callable[[float], None] = sleep


@dataclass
class OtgSession:
    """A server that is connected, with a version that fits."""

    client: Client
    spec: OtgSpec
    profile: TrafficProfile
    policy: TrialPolicy
    ways: tuple[TrafficDirection, ...]
    locations: Mapping[str, str]
    """What the server calls the ports, by link."""
    versions: Mapping[str, str]
    clock: Clock = field(default_factory=Clock)
    warnings: tuple[str, ...] = ()
    """What the server remarked on the configuration."""
    private: Managed | None = None
    """The server, where it is this run's own."""
    broken: str | None = None
    closed: bool = False
    _ours: bool = False
    """Whether its configuration is this session's."""
    _last: Flows = field(default_factory=dict)
    """What was told at the end of the last trial."""

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Have the server for a while, and nothing of ours on it afterwards."""
        try:
            self._prepare()
            yield
            self._finish()
        finally:
            self.closed = True
            with suppress(ComponentError):
                if self._ours:
                    self.client.release()

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        if self.closed:
            raise ComponentError(GONE)
        self._check(request)
        began = time.monotonic_ns()
        try:
            counts = self._trial(request, on_sample)
        except ComponentError:
            self._stop()
            raise
        return counts.model_copy(update={"elapsed_ns": time.monotonic_ns() - began})

    def failure(self) -> str | None:
        if self.closed:
            return GONE
        if self.private is not None and (died := self.private.failure()) is not None:
            return f"{self.private.name} {died}"
        return self.broken

    def facts(self) -> dict[str, Any]:
        return {
            "server": self.client.location,
            **self.versions,
            "ports": dict(self.locations),
            "warnings": list(self.warnings),
        }

    def _prepare(self) -> None:
        """Take the server for this case; raises where it is in use, or cannot send its frames."""
        if busy := self.client.senders():
            raise NotReadyError(
                f"the OTG server at {self.client.location} is sending for somebody else",
                why=f"its ports {', '.join(busy)} send",
                fix="wait for their end, or stop them; after a run that was killed, its last trial "
                "goes on to its end",
            )
        self._ours = True
        self.warnings = self._configure(FIRST)
        self._links_up()

    def _finish(self) -> None:
        """See that what was told of the last trial still holds; raises `DiedError`."""
        now: Flows = {}
        with suppress(ComponentError):  # who is silent has not told another story
            now = self.client.flows(self._names()) if self._last else {}
        if why := changed(self._last, now):
            raise DiedError(why)

    def _check(self, request: TrialRequest) -> None:
        request.require_frames()
        latency = request.latency or request.latency_after_ns or request.latency_ranges
        if request.steps or latency:
            raise ComponentError(
                "a generator of the OTG model does not change its load in mid-trial, and tells no "
                "distribution of latency",
                why="the model has no words for that",
                fix="choose another method, or another generator",
            )

    def _trial(self, request: TrialRequest, on_sample: OnSample | None) -> TrialCounts:
        self._still_the_same()
        (step,) = request.parts
        asked = {way.name: step.shared(way.share) for way in self.ways}
        self._configure(step)
        before = self._links_up()
        began = self.clock.now()
        self.client.transmit("start", self._names())
        last = self._until_sent(asked, began, on_sample)
        last, settled = self._until_quiet(last)
        after = self._ports()
        self.clock.sleep(self.policy.pause.seconds)
        settled = settled and alike(last, self._read(last))
        foreign = foreign_frames(last, self.ways, before, after)
        self._last = last if settled else {}
        return TrialCounts(
            directions=tuple(
                Direction(
                    name=way.name,
                    intended_frames=asked[way.name].frames,
                    sent_frames=last[way.name].sent,
                    received_frames=last[way.name].received,
                    foreign_frames=foreign.get(way.receiver),
                )
                for way in self.ways
            ),
            sending_ns=None,
            elapsed_ns=0,
            settled=settled,
        )

    def _still_the_same(self) -> None:
        """See that server and figures are those of the last trial, before both are gone."""
        if (said := self.client.version()) != self.versions:
            self.broken = (
                f"the OTG server became another one: {said['application']}, model {said['model']}; "
                f"it was {self.versions['application']}, model {self.versions['model']}"
            )
        elif self._last:
            try:
                self.broken = changed(self._last, self.client.flows(self._names()))
            except ComponentError as error:
                self.broken = f"the figures of the last trial are gone: {error.with_why}"
                self._ours = False
        self._last = {}
        if self.broken is not None:
            raise ComponentError(self.broken)

    def _configure(self, step: RateStep) -> tuple[str, ...]:
        return self.client.configure(config(self.profile, self.ways, self.locations, step))

    def _links_up(self) -> Ports:
        """Wait until no link is down, and return the counters of ports."""
        deadline = self.clock.now() + self.spec.patience.seconds
        while links_down(self.client.ports(tuple(self.locations))):
            if self.clock.now() > deadline:
                break
            self.clock.sleep(POLL_S)
        return self._ports()

    def _ports(self) -> Ports:
        """Return the counters of ports; raises where a link is down."""
        found = self.client.ports(tuple(self.locations))
        if down := links_down(found):
            raise ComponentError(
                f"the OTG server has no link on {', '.join(down)}",
                why="what is sent there is lost before any switch",
                fix="see that the cable is plugged in, and the device at its other end is up",
            )
        return found

    def _until_sent(self, asked: Asked, began: float, on_sample: OnSample | None) -> Flows:
        """Wait for the time of sending, and then until all has left, or is too late."""
        started = self.clock.now()
        duration_ns = next(iter(asked.values())).duration_ns
        due_s, allowed_ns = duration_ns / NANOSECONDS, self.policy.allowed_late_ns(duration_ns)
        seconds = range(1, int(due_s)) if on_sample else range(0)
        last: Flows = {}
        for moment in sorted({*seconds, due_s / 2}):
            self._sleep_until(started + moment)
            last = self._read(last)
            elapsed_ns = int((self.clock.now() - began) * NANOSECONDS)
            held_to_pace(last, asked, elapsed_ns, allowed_ns)
            if on_sample is not None and moment in seconds:
                on_sample(self._sample(last, elapsed_ns))
        self._sleep_until(started + due_s)
        late_s = max(allowed_ns / NANOSECONDS, LEAST_LATE_S) + self.spec.refresh.seconds
        while not all_left(last := self._read(last), asked):
            if self.clock.now() > started + due_s + late_s:
                gave_up(last, asked)
                break  # what did not leave in time is unsent
            self.clock.sleep(POLL_S)
        return self._ended(last)

    def _ended(self, last: Flows) -> Flows:
        """Stop sending, and wait until all flows say that they have ended."""
        self.client.transmit("stop", self._names())
        last = self._read(last)
        patience_s = self.spec.patience.seconds + self.spec.refresh.seconds
        deadline = self.clock.now() + patience_s
        while any(one.sending for one in last.values()):
            if self.clock.now() > deadline:
                raise ComponentError(
                    f"the OTG server still sends {patience_s:g} s after it was told to stop"
                )
            self.clock.sleep(POLL_S)
            last = self._read(last)
        return last

    def _until_quiet(self, last: Flows) -> tuple[Flows, bool]:
        """Wait until counters rest for as long as the trial's policy says; say whether they did."""
        quiet_s = max(self.policy.drain.seconds, LEAST_QUIET_S) + self.spec.refresh.seconds
        since = self.clock.now()
        deadline = since + 2 * quiet_s + 1
        while True:
            self.clock.sleep(POLL_S)
            news = self._read(last)
            now = self.clock.now()
            if not alike(news, last):
                last, since = news, now
            if now - since >= quiet_s:
                return last, True
            if now > deadline:
                return last, False

    def _read(self, before: Flows) -> Flows:
        """Return the counters of all flows, which never fall while a trial lasts."""
        found = self.client.flows(self._names())
        never_fell(before, found)
        return found

    def _sleep_until(self, moment: float) -> None:
        self.clock.sleep(max(0.0, moment - self.clock.now()))

    def _names(self) -> tuple[str, ...]:
        return tuple(way.name for way in self.ways)

    def _sample(self, last: Flows, elapsed_ns: int) -> Sample:
        return Sample(
            elapsed_ns=elapsed_ns,
            directions=tuple(
                DirectionSample(
                    name=name, sent_frames=last[name].sent, received_frames=last[name].received
                )
                for name in self._names()
            ),
        )

    def _stop(self) -> None:
        """Have it stop after a failure; a session that cannot is over."""
        self._last = {}
        try:
            self.client.transmit("stop", self._names())
        except ComponentError as error:
            self.broken = self.broken or error.with_why
