"""Where in a chain of switch and VNFs the frames of a trial ended. Pure arithmetic.

Frames are counted at gauges: when the generator sends them, when the switch takes them from a port
or hands them to one, when a VNF's NIC receives or sends them. Between two gauges lies a stage;
the frames that ended in it are the difference. Where ways join, as in a VNF with one NIC for
both directions, only their sum can be told, and they share a stage. Where nobody counts, a stage
is unknown, and what ended in it is found in the one before.

All stages of a group together: what was sent, less what arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vsperf.records.switch import PortCounters
from vsperf.records.trial import Trial


@dataclass(frozen=True, slots=True)
class FramePath:
    """The way of frames in one direction, port by port."""

    direction: str
    """Name of the trial's direction, such as `phy0→phy1`."""
    crossings: tuple[tuple[str, str], ...]
    """What the frames pass in turn, as (port in, port out): a switch and a VNF alternately."""
    inside: tuple[str | None, ...]
    """The VNF of each crossing; None for the switch."""

    @property
    def begin(self) -> str:
        """The port that the generator sends into."""
        return self.crossings[0][0]

    @property
    def end(self) -> str:
        """The port that it receives from."""
        return self.crossings[-1][1]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stretch of the way, and the frames that ended there."""

    name: str
    frames: int | None
    """None when nobody counts behind it; below zero when frames from elsewhere joined."""


@dataclass(frozen=True, slots=True)
class Joint:
    """Crossings of one switch or VNF that only count together."""

    vnf: str | None
    enters: tuple[str, ...]
    leaves: tuple[str, ...]


def joints_of(ways: Sequence[FramePath]) -> tuple[tuple[Joint, ...], ...]:
    """Return the groups of ways that share a count, each as its joints in the order of the frames.

    Crossings count together when they share a port in the same direction.
    """
    found: list[Joint] = []
    for way in ways:
        for (enter, leave), vnf in zip(way.crossings, way.inside, strict=True):
            found = _joined(found, Joint(vnf, (enter,), (leave,)))
    groups: list[list[Joint]] = []
    for way in ways:
        own = [_joint_of(found, crossing, inside) for crossing, inside in _steps(way)]
        touching = [group for group in groups if any(joint in group for joint in own)]
        merged = [joint for group in touching for joint in group]
        merged += [joint for joint in own if joint not in merged]
        groups = [group for group in groups if group not in touching]
        groups.append(list(dict.fromkeys(merged)))
    return tuple(tuple(_in_order(group, ways)) for group in groups)


def _steps(way: FramePath) -> Iterable[tuple[tuple[str, str], str | None]]:
    return zip(way.crossings, way.inside, strict=True)


def _joined(found: Sequence[Joint], new: Joint) -> list[Joint]:
    """Add a crossing to those found, and make one of all that it connects."""
    touching = [
        one
        for one in found
        if one.vnf == new.vnf
        and (set(one.enters) & set(new.enters) or set(one.leaves) & set(new.leaves))
    ]
    enters = dict.fromkeys(port for one in (*touching, new) for port in one.enters)
    leaves = dict.fromkeys(port for one in (*touching, new) for port in one.leaves)
    merged = Joint(new.vnf, tuple(enters), tuple(leaves))
    at = found.index(touching[0]) if touching else len(found)
    rest = [one for one in found if one not in touching]
    return [*rest[:at], merged, *rest[at:]]


def _joint_of(found: Sequence[Joint], crossing: tuple[str, str], vnf: str | None) -> Joint:
    enter, _ = crossing
    return next(one for one in found if one.vnf == vnf and enter in one.enters)


def _in_order(group: Sequence[Joint], ways: Sequence[FramePath]) -> list[Joint]:
    """Sort joints by how far along their ways they come first."""

    def depth(joint: Joint) -> int:
        return min(
            place
            for way in ways
            for place, ((enter, _), vnf) in enumerate(_steps(way))
            if vnf == joint.vnf and enter in joint.enters
        )

    return sorted(group, key=depth)


@dataclass(frozen=True, slots=True)
class Gauges:
    """The counters of one trial, by what they count."""

    ports: Mapping[str, PortCounters]
    """Of the switch, by what the topology calls them."""
    received: Mapping[str, int]
    """By NIC of a VNF, such as vm1_0; a NIC that is not counted is not there."""
    sent: Mapping[str, int]
    offered: Mapping[str, int]
    """What the generator sent, by the port that it sent into."""
    arrived: Mapping[str, int]
    """What it received, by the port that it came from."""

    def out_of(self, place: str) -> int | None:
        """Return how many frames came out of a link or a NIC, towards the switch."""
        if place in self.sent:
            return self.sent[place]
        port = self.ports.get(place)
        return None if port is None else port.received_frames

    def handed_to(self, place: str) -> int | None:
        """Return how many frames the switch had for a link or a NIC, its drops there included."""
        port = self.ports.get(place)
        return None if port is None else port.sent_frames + port.lost_on_sending


def gauges_of(trial: Trial, ways: Sequence[FramePath]) -> Gauges | None:
    """Return the counters of a trial; None when the switch has none."""
    if trial.switch is None:
        return None
    received: dict[str, int] = {}
    sent: dict[str, int] = {}
    for vnf in trial.vnfs:
        for number, nic in enumerate(vnf.nics):
            received[f"{vnf.name}_{number}"] = nic.received_frames
            sent[f"{vnf.name}_{number}"] = nic.sent_frames
    counted = {way.name: way for way in trial.directions}
    offered: dict[str, int] = {}
    arrived: dict[str, int] = {}
    for direction, way in {way.direction: way for way in ways}.items():
        if direction in counted:
            offered[way.begin] = offered.get(way.begin, 0) + counted[direction].sent_frames
            arrived[way.end] = arrived.get(way.end, 0) + counted[direction].good_frames
    ports = {port.link or port.name: port for port in trial.switch.ports}
    return Gauges(ports, received, sent, offered, arrived)


def stages_of(joints: Sequence[Joint], gauges: Gauges) -> tuple[Stage, ...]:
    """Return what ended where, along one group of joints."""
    found: list[Stage] = []
    for joint in joints:
        found += _first(joint, gauges)
        if joint.vnf is None:
            found += _through_switch(joint, joints, gauges)
        else:
            found += _through_vnf(joint, gauges)
        found += _last(joint, gauges)
    return tuple(_summed(found))


def _summed(stages: Sequence[Stage]) -> Iterator[Stage]:
    """Make one stage of those with one name, such as two NICs of one VNF on one side."""
    for name in dict.fromkeys(stage.name for stage in stages):
        counts = [stage.frames for stage in stages if stage.name == name]
        known = [count for count in counts if count is not None]
        yield Stage(name, sum(known) if len(known) == len(counts) else None)


def _first(joint: Joint, gauges: Gauges) -> list[Stage]:
    """What the generator sent and nobody took from it."""
    found = []
    for port in joint.enters:
        if port not in gauges.offered:
            continue
        if joint.vnf is None:
            found.append(
                Stage(f"into {port}", _less([gauges.offered[port]], [gauges.out_of(port)]))
            )
        else:
            taken = [gauges.received.get(port)]
            if None in taken:
                taken = _beyond(joint, gauges)
            found.append(Stage(f"ring of {joint.vnf}", _less([gauges.offered[port]], taken)))
    return found


def _through_switch(joint: Joint, group: Sequence[Joint], gauges: Gauges) -> list[Stage]:
    """What the switch lost on the way, and at the ports that frames were to leave by."""
    took = [gauges.out_of(port) for port in joint.enters]
    handed = [gauges.handed_to(port) for port in joint.leaves]
    found = [Stage(f"{_hops(joint.enters)} → {_hops(joint.leaves)}", _less(took, handed))]
    behind: dict[Joint | str, list[str]] = {}
    for port in joint.leaves:
        vnf = (one for one in group if one.vnf == _hop(port) and port in one.enters)
        behind.setdefault(next(vnf, port), []).append(port)
    for place, ports in behind.items():
        had = [gauges.handed_to(port) for port in ports]
        got = [gauges.received.get(port) for port in ports]
        if isinstance(place, str):
            got = [gauges.ports[place].sent_frames if place in gauges.ports else None]
        elif None in got:
            got = _beyond(place, gauges)
        found.append(Stage(f"ring of {_hop(ports[0])}", _less(had, got)))
    return found


def _through_vnf(joint: Joint, gauges: Gauges) -> list[Stage]:
    got = [gauges.received.get(port) for port in joint.enters]
    gave = [gauges.sent.get(port) for port in joint.leaves]
    return [Stage(f"in {joint.vnf}", _less(got, gave))]


def _beyond(joint: Joint, gauges: Gauges) -> list[int | None]:
    """Return what came out of a VNF that does not count."""
    return [
        found if (found := gauges.out_of(port)) is not None else gauges.arrived.get(port)
        for port in joint.leaves
    ]


def _last(joint: Joint, gauges: Gauges) -> list[Stage]:
    """What went out at the end and did not arrive at the generator."""
    found = []
    for port in joint.leaves:
        if port not in gauges.arrived:
            continue
        if joint.vnf is None:
            counters = gauges.ports.get(port)
            out = None if counters is None else counters.sent_frames
        else:
            out = gauges.sent.get(port)
        found.append(Stage(f"out of {_hop(port)}", _less([out], [gauges.arrived[port]])))
    return found


def _less(before: Sequence[int | None], after: Sequence[int | None]) -> int | None:
    """Return the difference of two sums; None when a part of one is not known."""
    known_before = [count for count in before if count is not None]
    known_after = [count for count in after if count is not None]
    if len(known_before) < len(before) or len(known_after) < len(after):
        return None
    return sum(known_before) - sum(known_after)


def _hops(ports: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(_hop(port) for port in ports))


def _hop(port: str) -> str:
    """Return the link or VNF that a port belongs to."""
    vnf, _, number = port.rpartition("_")
    return vnf if vnf.startswith("vm") and number.isdigit() else port
