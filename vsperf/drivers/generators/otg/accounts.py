"""What counters of a server have to be like to be believed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vsperf.drivers.generators.otg.traffic import TrafficDirection
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import RateStep

BATCH = 64
"""Frames that may leave together, ahead of when each is due."""
STRAY_FRAMES = 10
STRAY_SHARE = 1000
"""A port may send one frame in so many beside its flows, and a few: its own protocols."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What is told of a flow."""

    sending: bool
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class PortCounters:
    """What is told of a port; None is not told."""

    sent: int | None
    received: int | None
    link: str | None
    """Such as `up`."""


Flows = Mapping[str, Counters]
Ports = Mapping[str, PortCounters]
Asked = Mapping[str, RateStep]
"""What flows are to send, by name."""


def never_fell(before: Flows, now: Flows) -> None:
    """Refuse counters that fell. What arrived may be corrected once, when a flow ends.

    Only then is it known of each frame whether it was whole, and where it should be.
    """
    for name, old in before.items():
        new = now[name]
        ended = old.sending and not new.sending
        for what, then, later, may_fall in (
            ("sent", old.sent, new.sent, False),
            ("received", old.received, new.received, ended),
        ):
            if later < then and not may_fall:
                raise ComponentError(
                    f"the OTG server reset counters in mid-trial: {name} {what} {then} frames, and "
                    f"then {later}",
                    fix="see that nobody else uses it",
                )


def held_to_pace(now: Flows, asked: Asked, elapsed_ns: int, allowed_ns: int) -> None:
    """Refuse what is ahead of its time: so many frames are not due yet, whenever it began.

    Only an upper bound; no rate is made of a counter that moves.
    """
    for name, one in now.items():
        step = asked[name]
        due = step.load_fps * (elapsed_ns + allowed_ns) // NANOSECONDS + BATCH
        if one.sent > due:
            raise ComponentError(
                f"the OTG server sends too fast: {one.sent} frames of {name} within "
                f"{elapsed_ns / 1_000_000:.0f} ms",
                why=f"at {step.load_fps} fps no more than {due} were due",
            )


def all_left(now: Flows, asked: Asked) -> bool:
    """Whether every flow has sent what it was asked for."""
    return all(one.sent >= asked[name].frames for name, one in now.items())


def gave_up(now: Flows, asked: Asked) -> None:
    """Refuse flows that have ended by themselves before all was sent."""
    for name, one in now.items():
        if not one.sending and one.sent < asked[name].frames:
            raise ComponentError(
                f"the OTG server ended {name} after {one.sent} of {asked[name].frames} frames",
                why="it was asked for all of them: counters were reset, or it gave up",
                fix="see that nobody else uses it, and what it says itself",
            )


def alike(first: Flows, second: Flows) -> bool:
    """Whether two readings tell the same numbers."""
    return _numbers(first) == _numbers(second)


def changed(before: Flows, now: Flows) -> str | None:
    """Say which figures of a trial that is over have changed since."""
    for name, (sent, received) in _numbers(before).items():
        later = _numbers(now).get(name)
        if later is not None and later != (sent, received):
            return (
                f"the OTG server changed its figures after the trial was over: {name} sent {sent} "
                f"and received {received} frames, and later {later[0]} and {later[1]}; if it tells "
                "counters only every so often, say so in generator.refresh"
            )
    return None


def _numbers(flows: Flows) -> dict[str, tuple[int, int]]:
    return {name: (one.sent, one.received) for name, one in flows.items()}


def links_down(ports: Ports) -> list[str]:
    """Return the ports whose link is told to be down."""
    return [name for name, one in ports.items() if one.link == "down"]


def foreign_frames(
    flows: Flows, ways: Sequence[TrafficDirection], before: Ports, after: Ports
) -> dict[str, int | None]:
    """Hold flows against ports, which count the same frames; return by port what came beside.

    Start may have cleared the counters of ports, or not. Of both readings it is the one that
    fits at all ports; where neither does, flows and ports contradict each other.
    """
    first = _since(before, after)
    for reading in (first, after):
        if not list(_contradictions(flows, ways, reading)):
            return {
                name: None
                if one.received is None
                else one.received - _sum(flows, ways, name, sent=False)
                for name, one in reading.items()
            }
    said = next(_contradictions(flows, ways, first))
    raise ComponentError(
        f"counters of the OTG server contradict each other: {said}",
        why="both count the same frames",
    )


def _since(before: Ports, after: Ports) -> Ports:
    """Return how far the counters of ports came."""
    return {
        name: PortCounters(
            _grown(name in before, before.get(name, one).sent, one.sent),
            _grown(name in before, before.get(name, one).received, one.received),
            one.link,
        )
        for name, one in after.items()
    }


def _grown(known: bool, old: int | None, new: int | None) -> int | None:
    if new is None:
        return None
    return new - old if known and old is not None else new


def _contradictions(flows: Flows, ways: Sequence[TrafficDirection], ports: Ports) -> Iterator[str]:
    for name, one in ports.items():
        sent = _sum(flows, ways, name, sent=True)
        most = sent + STRAY_FRAMES + sent // STRAY_SHARE
        if one.sent is not None and not sent <= one.sent <= most:
            yield f"port {name} sent {one.sent} frames, and its flows {sent}"
        came = _sum(flows, ways, name, sent=False)
        if one.received is not None and one.received < came:
            yield f"port {name} received {one.received} frames, and its flows {came}"


def _sum(flows: Flows, ways: Sequence[TrafficDirection], port: str, *, sent: bool) -> int:
    if sent:
        return sum(flows[way.name].sent for way in ways if way.sender == port)
    return sum(flows[way.name].received for way in ways if way.receiver == port)
