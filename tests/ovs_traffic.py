"""Real frames for a deployed switch: tgen on its ports, by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from kept import State
from ovs_cases import deployed, rules_in
from places import PLACEMENT
from switch_cases import driver_of

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.tgen import byhand
from vsperf.drivers.generators.tgen.byhand import Sending, Stream
from vsperf.drivers.generators.tgen.command import Options, port_of
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.traffic import TrafficDirection
from vsperf.drivers.vswitches.ovs.running import RunningOvs
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.run import Endpoint
from vsperf.records.switch import SwitchCounters

WAYS = byhand.directions_between(2, "both")
SLOWLY = Sending(rate_fps="20000", frames=20_000, in_flight=128)
"""What any switch can carry, with no more on its way than a ring has room for, should the switch or
the generator not run for a while."""


class WaitsForPorts(Protocol):
    """A running switch that says which of its ports do not forward yet."""

    def waiting_for(self) -> tuple[str, ...]: ...


class Counts(Protocol):
    """A running switch that counts."""

    def counters(self) -> SwitchCounters: ...


def frames_in(counters: SwitchCounters) -> list[int | None]:
    """Return what a switch counted of frames; some ports count nothing, and threads do."""
    ports = [(port.received_frames, port.sent_frames) for port in counters.ports]
    return [frames for port in ports for frames in port] or [one.frames for one in counters.pmds]


@dataclass(frozen=True, slots=True)
class Connected:
    """An OVS that forwards, and a generator at its ports, for all tests of a module."""

    running: RunningOvs
    place: Workspace
    tgen: Tgen

    def state(self) -> State:
        """Return what every test leaves as it was: it works, and nothing is under way in it."""
        counted, rested = (frames_in(self.running.counters()) for _ in range(2))
        return {
            "its failure": self.running.failure(),
            "ports that it waits for": self.running.waiting_for(),
            "its rules": rules_in(self.running),
            "whether it rests": counted == rested,
        }


@contextmanager
def connected(case: CaseSpec, **options: Any) -> Iterator[Connected]:
    """Bring an OVS up, with tgen at its ports."""
    endpoints = driver_of(case.vswitch.kind).plan(case, PLACEMENT).endpoints
    with (
        deployed(case) as (running, place),
        generator(endpoints, running, place, **options) as tgen,
    ):
        yield Connected(running, place, tgen)


@contextmanager
def generator(
    endpoints: Iterable[Endpoint],
    running: WaitsForPorts,
    place: Workspace,
    *,
    hugepages: bool = False,
    ready: bool = True,
    **options: Any,
) -> Iterator[Tgen]:
    """Connect tgen to the switch's ports, and wait until both ends are ready."""
    chosen = Options(cpus=(0,), hugepages=hugepages, **options)
    devices = [
        place.fill(port_of(endpoint, number, chosen).device)
        for number, endpoint in enumerate(endpoints)
    ]
    with byhand.at_hand(devices, chosen, place) as tgen:
        tgen.ports()
        if ready:
            wait_until(lambda: not running.waiting_for())
        yield tgen


def wait_until(condition: Callable[[], bool], patience_s: float = 30.0) -> None:
    """Wait for a condition; fail when it does not come true."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"it did not come true in {patience_s} s"
        time.sleep(0.01)


def send(
    tgen: Tgen, sending: Sending, ways: Sequence[TrafficDirection] = WAYS, **stream: Any
) -> tuple[int, int]:
    """Send both ways; return the frames sent and the frames that came back, all intact."""
    result = byhand.trial(tgen, ways, Stream(**stream), sending, lambda event: None)
    streams = result["streams"]
    return sum(s["sent"] for s in streams), sum(s["received"] for s in streams)


def accounts_close_at_overload(tgen: Tgen, running: Counts) -> None:
    """See that a switch names each frame that it lost of as many as tgen can send.

    Where its ports count nothing, its polling threads say what it took.
    """
    before = running.counters()
    sent, received = send(tgen, Sending(duration_ns=NANOSECONDS))
    growth = running.counters().since(before)
    taken = sum(one.frames for one in growth.pmds)
    given = received
    if growth.ports:
        taken = sum(port.received_frames for port in growth.ports)
        given = sum(port.sent_frames for port in growth.ports)
    said = f"sent {sent}, taken {taken}, given {given}, received {received}: {growth}"
    assert (taken, given, growth.dropped_frames) == (sent, received, sent - received), said
