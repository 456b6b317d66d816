"""What surrounds a trial: counters, what kept threads from running, and the distance of CPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from vsperf.drivers.generators.base import GeneratorSession, KnowsDistances
from vsperf.drivers.vnfs.base import RunningVnfs
from vsperf.drivers.vswitches.base import RunningSwitch
from vsperf.engine.background_load import BackgroundLoad
from vsperf.errors import ComponentError
from vsperf.host.files import Roots
from vsperf.host.resctrl import Groups
from vsperf.host.threads import Look, Thread
from vsperf.records.flags import Flag
from vsperf.records.switch import CacheActivity, NoiseActivity, SwitchCounters, VnfCounters
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import to_vnfs


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen around a trial."""

    switch: SwitchCounters | None = None
    vnfs: tuple[VnfCounters, ...] = ()
    threads: tuple[ThreadActivity, ...] = ()
    round_trips_ns: tuple[int, ...] = ()
    cache: tuple[CacheActivity, ...] = ()
    noise: tuple[NoiseActivity, ...] = ()
    noise_slackened: bool = False
    """Whether what runs beside the case did less than when it had settled."""
    failure: str | None = None
    """Why a part no longer works, if it does not."""
    flag: Flag = Flag.SWITCH_ERROR
    """Which part that is."""


def not_back(event: str | None, why: str) -> Seen:
    """Return what is seen where what was done to a part left none that works."""
    return Seen(failure=why, flag=Flag.VNF_ERROR if to_vnfs(event) else Flag.SWITCH_ERROR)


@dataclass
class Watch:
    """Looks before a trial and after it."""

    switch: RunningSwitch | None
    """None when frames go round without one."""
    generator: GeneratorSession
    vnfs: RunningVnfs | None = None
    cpus: tuple[int, int] | None = None
    """Of the generator and of the switch; None when there is no way between two CPUs to look at."""
    polling_threads: Callable[[], tuple[Thread, ...]] = tuple
    """Finds those of all parts; a model has none."""
    event: str | None = None
    """What happens during the trial: what is restarted begins to count anew."""
    cache: Groups | None = None
    """The parts of the last-level cache, where it is shared out."""
    background_load: BackgroundLoad | None = None
    """What runs beside the case, once it does."""
    _cache_before: tuple[CacheActivity, ...] = ()
    _before: SwitchCounters | None = None
    _vnfs_before: tuple[VnfCounters, ...] = ()
    _round_trip_ns: int | None = None
    _threads_before: Look = field(default_factory=lambda: Look({}))

    def begin(self) -> None:
        """Look before a trial; what is wrong already shows in the trial itself."""
        try:
            self._before = None if self.switch is None else self.switch.counters()
            self._vnfs_before = self.vnfs.counters() if self.vnfs else ()
        except ComponentError:
            self._before, self._vnfs_before = None, ()
        if self._round_trip_ns is None:
            self._round_trip_ns = self.round_trip_ns()
        if self.background_load is not None:
            self.background_load.begin()
        self._cache_before = self.cache.counts() if self.cache is not None else ()
        self._threads_before = Look.at(self.polling_threads(), Roots())  # next to the trial

    def end(self) -> Seen:
        """Look after a trial."""
        threads = Look.at(self._threads_before.threads, Roots()).since(self._threads_before)
        caches = self.cache.counts() if self.cache is not None else ()
        seen = replace(
            self._end(),
            threads=threads,
            cache=tuple(
                now.since(then) for now, then in zip(caches, self._cache_before, strict=False)
            ),
        )
        if self.background_load is None:
            return seen
        noise = self.background_load.end()
        return replace(seen, noise=noise, noise_slackened=self.background_load.slackened(noise))

    def _end(self) -> Seen:
        if (
            self.background_load is not None
            and (reason := self.background_load.failure()) is not None
        ):
            return Seen(failure=reason, flag=Flag.NOISE_ERROR)
        if self.switch is not None and (reason := self.switch.failure()) is not None:
            return Seen(failure=reason)
        if self.vnfs is not None and (reason := self.vnfs.failure()) is not None:
            return Seen(failure=reason, flag=Flag.VNF_ERROR)
        event, self.event = self.event, None
        try:
            after = None if self.switch is None else self.switch.counters()
        except ComponentError as error:
            return Seen(failure=str(error))
        try:
            vnfs = self.vnfs.counters() if self.vnfs else ()
        except ComponentError as error:
            return Seen(failure=str(error), flag=Flag.VNF_ERROR)
        growth = None
        if after is not None and self._before is not None and (event is None or to_vnfs(event)):
            growth = after.since(self._before)
        if to_vnfs(event):
            vnfs = ()
        before, self._round_trip_ns = self._round_trip_ns, self.round_trip_ns()
        trips = (before, self._round_trip_ns)
        return Seen(
            growth,
            tuple(now.since(then) for now, then in zip(vnfs, self._vnfs_before, strict=False)),
            round_trips_ns=tuple(trip for trip in trips if trip is not None),
        )

    def known_round_trip_ns(self) -> int | None:
        """Return how far the two CPUs were from each other at the last look that saw them."""
        if self._round_trip_ns is None:
            self.look_again()
        return self._round_trip_ns

    def look_again(self) -> None:
        """See how far they are from each other before the next trial."""
        self._round_trip_ns = self.round_trip_ns()

    def round_trip_ns(self) -> int | None:
        """Return how far the two CPUs are from each other now; None when it cannot be told."""
        if self.cpus is None or not isinstance(self.generator, KnowsDistances):
            return None
        if self.generator.failure() is not None:
            return None
        try:
            return self.generator.round_trip_ns(self.cpus)
        except ComponentError:
            return None
