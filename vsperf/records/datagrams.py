"""Where datagrams went: sent = received + dropped by a named counter + unexplained.

Programs tell what they sent and what came to them. All between that somebody counts has a name:
what sockets had no room for, what devices of places dropped, and what the switch did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vsperf.records.base import Record
from vsperf.records.switch import PortCounters, SwitchCounters

OF_DEVICES = "rx dropped"
"""What a port of the switch is said to have dropped by the kernel's count of its device. The device
at its other end counts the same frames where it could not hand them over."""
RCVBUF, SNDBUF = "RcvbufErrors", "SndbufErrors"
"""The kernel's names."""


class SocketCounts(Record):
    """What the kernel of a place counted of all datagrams of its programs during an exchange."""

    place: str
    """The link that it is at the end of."""
    in_datagrams: int
    """That programs were given."""
    no_ports: int
    """That came when nobody listened at their port."""
    in_errors: int
    """That were taken from no socket: those without room, and wrong ones."""
    out_datagrams: int
    rcvbuf_errors: int
    """For which the socket of their reader had no room."""
    sndbuf_errors: int
    """That a program has sent, and that went no further than its own kernel."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """What is counted at the end of one link: by the kernel of its place, and at its device."""

    sockets: SocketCounts | None
    device_in: int
    device_out: int


@dataclass(frozen=True, slots=True)
class Account:
    """What became of all datagrams of an exchange."""

    sent: int
    received: int
    """By programs."""
    dropped: Mapping[str, int]
    """By the name of the counter; none of them is 0."""

    @property
    def unexplained(self) -> int:
        """What nobody counts; below 0 where counters have more than was lost.

        What was under way when a server ceased to read is a part of it, and so is what its socket
        still held.
        """
        return self.sent - self.received - sum(self.dropped.values())


def accounted(
    sent: int,
    received: int,
    ends: tuple[Mapping[str, Dropped], Mapping[str, Dropped]],
    switch: SwitchCounters | None,
) -> Account:
    """Return the account; `ends` are places by their links, of clients and of servers.

    A frame that a device could not hand over to the one at its other end is counted at both, and
    by some kernels for the socket of its sender as well: so of what lies at one link the place's
    part is what it counted beyond the switch.
    """
    ports = {port.link: port for port in (() if switch is None else switch.ports)}
    sources, targets = ends
    found: dict[str, int] = {}
    for link, end in sources.items():
        port = ports.get(link)
        again = 0 if port is None else port.drops.get(OF_DEVICES, 0)
        refused = 0 if end.sockets is None else end.sockets.sndbuf_errors
        name = f"{link} {SNDBUF}" if refused >= end.device_out else f"{link} device out"
        found[name] = max(0, max(refused, end.device_out) - again)
    found |= _of_switch(switch)
    for link, end in targets.items():
        port = ports.get(link)
        again = 0 if port is None else port.lost_on_sending
        found[f"{link} device in"] = max(0, end.device_in - again)
        if (sockets := end.sockets) is not None:
            found[f"{link} {RCVBUF}"] = sockets.rcvbuf_errors
            found[f"{link} other InErrors"] = max(0, sockets.in_errors - sockets.rcvbuf_errors)
            found[f"{link} NoPorts"] = sockets.no_ports
    return Account(sent, received, {name: count for name, count in found.items() if count})


def _of_switch(switch: SwitchCounters | None) -> dict[str, int]:
    if switch is None:
        return {}
    ports: Sequence[PortCounters] = switch.ports
    at_ports = {
        f"switch {port.name} {why}": count for port in ports for why, count in port.drops.items()
    }
    return at_ports | {f"switch {why}": count for why, count in switch.drops.items()}


def socket_growth(
    before: Iterable[SocketCounts], after: Iterable[SocketCounts]
) -> tuple[SocketCounts, ...]:
    """Return what was counted meanwhile, of each place whose kernel told both times."""
    earlier = {one.place: one for one in before}
    names = [name for name in SocketCounts.model_fields if name != "place"]
    return tuple(
        SocketCounts(
            place=now.place,
            **{name: getattr(now, name) - getattr(earlier[now.place], name) for name in names},
        )
        for now in after
        if now.place in earlier
    )
