"""What the workers of VPP did with their time, from the counters of nodes. Pure.

VPP counts the cycles that each node took, and how often it was called. A node that polls is called
without end, also when there is nothing; how much such a call takes is seen while nothing comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vsperf.drivers.vswitches.vpp.reading import Reading, of_thread
from vsperf.records.switch import PmdCounters, StageCounters

POLLING = ("vhost-user-input", "memif-input", "af-packet-input", "dpdk-input")
"""Nodes that are called without end."""
TAKERS = ("ethernet-input",)
"""Nodes that are called with what one of those has found, and only then."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one worker has counted up to one moment."""

    frames: int
    clocks: int
    """Of all nodes."""
    polls: int
    """Calls of nodes that poll."""
    polling: int
    """Cycles of nodes that poll."""
    finds: int
    """Calls of nodes that took what was found: as many polls were not in vain, or fewer."""
    found: int
    """Frames that nodes which poll have found, as far as is known by now."""


@dataclass
class Meter:
    """Adds up what workers did between readings."""

    cpus: tuple[int, ...]
    """Of the workers, in their order."""
    indices: tuple[int, ...]
    """Of the interfaces whose frames count."""
    empty_poll: dict[int, float] = field(default_factory=dict)
    """Cycles of a poll that finds nothing, by worker."""
    looked: bool = False
    """Whether that was looked at; once is enough, also where nothing was seen."""
    _last: dict[int, Spent] = field(default_factory=dict)
    _busy: dict[int, int] = field(default_factory=dict)
    _idle: dict[int, int] = field(default_factory=dict)

    def learn(self, before: Reading, after: Reading) -> None:
        """Learn from two readings, between which no frame came, what a poll in vain takes."""
        self.looked = True
        for worker in self._workers():
            then, now = self._spent(before, worker), self._spent(after, worker)
            if now.frames == then.frames and now.polls > then.polls:
                cost = (now.polling - then.polling) / (now.polls - then.polls)
                self.empty_poll[worker] = min(cost, self.empty_poll.get(worker, cost))

    def knows_all(self, found: Reading) -> bool:
        """Whether the counters of nodes know of all frames that came since the last reading."""
        for worker, then in self._last.items():
            now = self._spent(found, worker)
            if now.found - then.found < now.frames - then.frames:
                return False
        return bool(self._last)

    def add(self, found: Reading) -> tuple[PmdCounters, ...]:
        """Take a reading in, and return what is known of each worker by now.

        Nothing is returned of a worker of which it is not known what a poll in vain takes, or whose
        counters are known to be wrong this time.
        """
        sound = []
        for worker in self._workers():
            now = self._spent(found, worker)
            then = self._last.get(worker, now)
            if not counted_twice(then, now):
                sound.append(worker)
                busy = self._busy_between(then, now, self.empty_poll.get(worker, 0.0))
                idle = max(0, now.clocks - then.clocks - busy)
                self._busy[worker] = self._busy.get(worker, 0) + busy
                self._idle[worker] = self._idle.get(worker, 0) + idle
            self._last[worker] = now
        return tuple(self._counters(found, sound))

    def _busy_between(self, then: Spent, now: Spent, empty_poll: float) -> int:
        """Return the cycles that went into frames: all, but those of polls in vain."""
        in_vain = max(0, (now.polls - then.polls) - (now.finds - then.finds))
        polling = max(0, now.polling - then.polling)
        others = max(0, (now.clocks - now.polling) - (then.clocks - then.polling))
        if now.frames == then.frames:
            return 0
        return others + max(0, polling - round(in_vain * empty_poll))

    def _counters(self, found: Reading, sound: Iterable[int]) -> Iterable[PmdCounters]:
        for worker in sound:
            if worker in self.empty_poll:
                yield PmdCounters(
                    cpu=self.cpus[worker - 1],
                    frames=self._spent(found, worker).frames,
                    busy_cycles=self._busy.get(worker, 0),
                    idle_cycles=self._idle.get(worker, 0),
                    stages=tuple(stages(found, worker)),
                )

    def _workers(self) -> range:
        """Return the numbers of the threads that are workers; the main thread is 0."""
        return range(1, len(self.cpus) + 1)

    def _spent(self, found: Reading, thread: int) -> Spent:
        polling = [at for at, name in enumerate(found.nodes) if name in POLLING]
        takers = [at for at, name in enumerate(found.nodes) if name in TAKERS]
        clocks = found.clocks[thread] if thread < len(found.clocks) else ()
        return Spent(
            frames=sum(of_thread(found.received, thread, index) for index in self.indices),
            clocks=sum(clocks),
            polls=sum(of_thread(found.calls, thread, at) for at in polling),
            polling=sum(of_thread(found.clocks, thread, at) for at in polling),
            finds=sum(of_thread(found.calls, thread, at) for at in takers),
            found=sum(of_thread(found.vectors, thread, at) for at in polling),
        )


def counted_twice(then: Spent, now: Spent) -> bool:
    """Whether nodes that poll have found more frames than came to the ports.

    VPP takes over what a node has counted while its worker goes on counting. In a short loop the
    worker's next sum brings back what was taken: frames, calls and cycles since the copy before are
    there twice. Of frames it is known how many came, as nobody copies those of ports.
    """
    return now.found - then.found > now.frames - then.frames


def stages(found: Reading, thread: int) -> Iterable[StageCounters]:
    """Yield what a worker has done by node, of those that it has called."""
    for at, name in enumerate(found.nodes):
        if calls := of_thread(found.calls, thread, at):
            yield StageCounters(
                name=name,
                calls=calls,
                frames=of_thread(found.vectors, thread, at),
                cycles=of_thread(found.clocks, thread, at),
            )
