"""A VPP that forwards: whether it still does, what it counts, and what it is.

VPP counts the cycles that each node took, and how often it was called. A node that polls is called
without end, also when there is nothing; how much such a call takes is seen while nothing comes.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.drivers.vswitches.base import await_ports
from vsperf.drivers.vswitches.vpp.api import Api, ApiError
from vsperf.drivers.vswitches.vpp.facts import facts
from vsperf.drivers.vswitches.vpp.forwarding import LEARN_LIMIT, forgetting, learning
from vsperf.drivers.vswitches.vpp.layout import SwitchPort
from vsperf.drivers.vswitches.vpp.nat import emptying
from vsperf.drivers.vswitches.vpp.plan import Design
from vsperf.drivers.vswitches.vpp.programs import Programs
from vsperf.drivers.vswitches.vpp.reading import (
    Reading,
    at_rest,
    buffer_pools,
    insides,
    of_thread,
    sessions,
    settled,
    total,
)
from vsperf.drivers.vswitches.vpp.segment import Segment
from vsperf.errors import ComponentError
from vsperf.host.process import Managed
from vsperf.host.procfs import listened_at, resident_bytes
from vsperf.records.switch import (
    AddressCounts,
    Kept,
    PmdCounters,
    PortCounters,
    StageCounters,
    SwitchCounters,
)
from vsperf.waits import sleep

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


COUNTED_TWICE = ("vhost",)
"""Kinds of ports that count frames that they could not send among the dropped ones of the
interface, too."""
LEARNED = "l2-learn/L2 learn misses"
SAID_TWICE = ("rollback",)
"""Reasons that a memif gives beside another one for the same frame."""
TAP_FULL = "tx tap full"
"""The reader of a tap was too slow."""
TX = "-tx/"
"""Ends the name of the node that sends by an interface; before its reasons in an error's name."""


def switch_counters(
    ports: Iterable[SwitchPort],
    interfaces: Mapping[str, int],
    found: Reading,
    workers: tuple[PmdCounters, ...] = (),
    refused: Mapping[str, int] | None = None,
) -> SwitchCounters:
    """Return the counters of a switch whose workers have done that much.

    `refused` holds the frames, by name of the port, that VPP sent and that the kernel dropped as a
    tap was full.
    """
    full = refused or {}
    counted = (_port(port, interfaces[port.name], found, full.get(port.name)) for port in ports)
    return SwitchCounters(
        ports=tuple(port for port in counted if port is not None),
        pmds=workers,
        reasons={**found.errors, **found.translated},
    )


def address_counts(known: int, most: int, found: Reading) -> AddressCounts:
    """Return what a bridge counts of its addresses. It never puts one out for another."""
    learned = found.errors.get(LEARNED, 0)
    return AddressCounts(known=known, most=most, learned=learned, evicted=0, expired=0)


def _port(
    port: SwitchPort, index: int, found: Reading, full: int | None = None
) -> PortCounters | None:
    received, left = total(found.received, index), total(found.sent, index)
    if received is None or left is None or index >= len(found.names):
        return None
    refused = {
        f"tx {reason}": count for reason, count in refusals(found, found.names[index]).items()
    }
    unsent = sum(refused.values())
    dropped = (total(found.dropped, index) or 0) - (unsent if port.kind in COUNTED_TWICE else 0)
    beyond = {} if full is None else {TAP_FULL: full}
    lost = {word: total(vector, index) or 0 for word, vector in found.not_received.items()}
    return PortCounters(
        name=port.name,
        link=port.place.link,
        vnf=port.place.vnf,
        received_frames=received,
        sent_frames=left - unsent - (full or 0),  # counted before VPP tries to hand them over
        drops={"rx dropped": max(0, dropped), **lost, **refused, **beyond},
    )


def refusals(found: Reading, interface: str) -> dict[str, int]:
    """Return the frames that could not be sent by an interface, by reason."""
    begin = f"{interface}{TX}"
    return {
        name.removeprefix(begin): count
        for name, count in found.errors.items()
        if name.startswith(begin) and name not in (f"{begin}{again}" for again in SAID_TWICE)
    }


SWITCH = "vpp"
POLL_S = 0.02
LINK_UP = 2
"""The flag of an interface whose other end is there."""
UP_AGAIN_S = 5.0
"""Patience with the neighbours of a VPP that was started anew; who is slower comes later."""
FORGOTTEN_S = 60.0
"""Patience with a bridge that goes through its table for what it shall forget."""
WAKE_S = 0.25
"""A VPP that calls tries every 3 s; it is woken earlier where somebody listens by now."""


@dataclass
class RunningVpp:
    """An instance with its ports and ways in place."""

    folder: Path
    programs: Programs
    design: Design
    daemon: Managed
    api: Api
    segment: Segment
    interfaces: Mapping[str, int]
    """Numbers of the interfaces, by port."""
    meter: Meter
    start_again: Callable[[RunningVpp, bool], None]
    """Ends the daemon, kindly or by SIGKILL, and starts it anew."""
    write_routes: Callable[[range, bool], None]
    """Adds routes that no frame is for, or takes them out."""
    wake: Callable[[], None]
    """Has VPP call those again who did not answer."""
    kick: Callable[[], object]
    """Tells VPP in place of its neighbours that there are rings to look at."""
    read_refused: Callable[[], Mapping[str, int]] = dict
    """Asks the kernel how many frames were dropped because a tap was full, by port."""
    look: Callable[[], None] = lambda: None
    """Raises when a part of the deployment has ended."""
    ended: bool = False
    _woken: float = 0.0
    """When it was last told to call."""
    _changed: int = 0
    """How many routes come and go beside the traffic, by now."""

    @property
    def ports(self) -> tuple[SwitchPort, ...]:
        return self.design.ports

    def failure(self) -> str | None:
        if self.ended:
            return "the switch was stopped"
        if (found := self.daemon.failure()) is not None:
            return f"{SWITCH} {found}"
        try:
            self.api.ping()
        except ApiError as error:
            if (found := self.daemon.failure()) is not None:
                return f"{SWITCH} {found}"
            return f"{SWITCH} does not answer: {error.with_why}"
        return None

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand.

        Those of nodes are copied by VPP now and then, so a copy is waited for that knows of all
        frames: none are on their way when this is asked.
        """
        if self.meter.looked:
            found = settled(self.segment, self.meter.knows_all)
        else:  # before the first trial: ports are up, and nobody sends
            first, found = at_rest(self.segment)
            self.meter.learn(first, found)
        workers = self.meter.add(found)
        refused = self.read_refused()
        counters = switch_counters(self.ports, self.interfaces, found, workers, refused)
        if not self.design.spec.learns:
            return counters
        addresses = address_counts(len(self._addresses()), LEARN_LIMIT, found)
        return counters.model_copy(update={"addresses": addresses})

    def insides(self) -> dict[str, dict[str, int]]:
        """Return what all its nodes did, for who collects that; from a copy that knows all."""
        found = settled(self.segment, self.meter.knows_all)
        return insides(found, self.segment.read(buffer_pools))

    def kept(self) -> Kept:
        """Return how many connections its tables hold, and the memory of VPP, large pages apart.

        An entry that is out of date goes when a new one comes, so a table that nobody uses keeps
        what it had.
        """
        return Kept(
            entries=self.segment.read(sessions), memory_bytes=resident_bytes(self.daemon.pid)
        )

    def _addresses(self) -> tuple[Any, ...]:
        return tuple(
            entry
            for bridge in learning(self.design.case, self.design.spec)
            for entry in self.api.dump("l2_fib_table_dump", {"bd_id": bridge})
        )

    def _learned(self) -> tuple[Any, ...]:
        """Return those that nobody told them of."""
        return tuple(entry for entry in self._addresses() if not entry.static_mac)

    def waiting_for(self) -> tuple[str, ...]:
        """Return the ports whose other end is not there yet."""
        up = {
            entry.sw_if_index
            for entry in self.api.dump("sw_interface_dump", {"sw_if_index": 0xFFFFFFFF})
            if int(entry.flags) & LINK_UP
        }
        return tuple(port.name for port in self.ports if self.interfaces[port.name] not in up)

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        def waiting() -> list[str]:
            found = [name for name in self.waiting_for() if name in places]
            if self._are_listened_for(found):
                self.kick()
            return found

        await_ports(waiting, self.failure, self.look, patience_s)

    def call_who_listens(self) -> None:
        """Have VPP call at once, and not within 3 s, who came to its ports by now.

        Done whenever another part is waited for: the generator opens one port after the other, and
        each only when it was called at the one before.
        """
        if self.ended or time.monotonic() < self._woken + WAKE_S:
            return
        self._woken = time.monotonic()
        with suppress(ApiError):  # a VPP that has ended is noticed by others
            if self._are_listened_for(self.waiting_for()):
                self.wake()

    def _are_listened_for(self, waiting: Iterable[str]) -> bool:
        """Whether somebody is there by now that VPP has to call."""
        called = (port for port in self.ports if port.kind == "vhost" and not port.listens)
        sockets = [self.folder / f"{port.name}.sock" for port in called if port.name in waiting]
        return bool(listened_at(sockets))

    def facts(self) -> dict[str, Any]:
        return facts(
            self.design, self.programs, self.api, self.segment, self.daemon.pid, self.interfaces
        )

    def restart(self, *, kill: bool) -> None:
        """Restart VPP, and see to it that neighbours whom it called are at its ports again.

        VPP looks at a ring when it was kicked once. DPDK's virtio-user kicks when its port is
        started, and not when the switch calls again; QEMU does both times.
        """
        before = {port.name for port in self.ports} - set(self.waiting_for())
        self.start_again(self, kill)
        deadline = time.monotonic() + UP_AGAIN_S
        while time.monotonic() < deadline and self._are_listened_for(
            before.intersection(self.waiting_for())
        ):
            self.kick()
            sleep(POLL_S)  # between two looks at a condition, never instead of one

    def forget_connections(self) -> None:
        if self.design.spec.nat is None:
            return
        for call in emptying(self.design.case, self.design.spec):
            self.api.call(call.message, call.fields)

    def forget_flows(self) -> None:
        """Have VPP forget its connections, and a bridge what it learned.

        It keeps nothing else: it looks at each frame.
        """
        self.forget_connections()
        bridges = learning(self.design.case, self.design.spec)
        calls = forgetting(bridges, self._learned())
        for _ in self.api.call_all((call.message, call.fields) for call in calls):
            pass
        deadline = time.monotonic() + FORGOTTEN_S
        while self._learned():
            if time.monotonic() > deadline:
                raise ComponentError(
                    f"a bridge of VPP did not forget its addresses within {FORGOTTEN_S:g} s",
                    why="frames still come, or its main thread is busy",
                )
            sleep(POLL_S)  # between two looks at a condition, never instead of one

    def change_rules(self, count: int) -> None:
        first = self.design.spec.routes
        if count < 0:
            self.write_routes(range(first, first + self._changed), False)
            self._changed = 0
            return
        self.write_routes(range(first + self._changed, first + self._changed + count), True)
        self._changed += count

    def processes(self) -> tuple[int, ...]:
        return (self.daemon.pid,)

    def access(self) -> tuple[str, ...]:
        tool = str(self.programs.daemon.with_name("vppctl"))
        socket = str(self.folder / "cli.sock")
        ask = shlex.join(self.programs.command(tool, "-s", socket, folder=str(self.folder)))
        shown = ["interface", "runtime", "errors"]
        if self.design.spec.nat is not None:
            shown.append("nat44 summary")
        return tuple(f"{ask} show {what}" for what in shown)
