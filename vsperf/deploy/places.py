"""Places at the ends of links: made before the switch, joined to it, and looked at."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from vsperf.config.case import CaseSpec
from vsperf.config.flows import BENCHMARKS
from vsperf.config.places import PREFIX_BITS, is_silent, place_ip, place_mac, place_mtu
from vsperf.deploy.running import How, Running, started
from vsperf.drivers.vswitches.base import RunningSwitch
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.devices import PERMANENT
from vsperf.host.netns import path_of, within
from vsperf.host.networks import private_network
from vsperf.host.offloads import against as against_offloads
from vsperf.host.offloads import set_offloads, speed_bps
from vsperf.host.tcp_sockets import received_bytes
from vsperf.host.udp_counts import OWN_TABLE, udp_counts
from vsperf.host.undo import RemoveVeth
from vsperf.host.veth import known_in, routes
from vsperf.host.workspace import Workspace
from vsperf.records.datagrams import SocketCounts
from vsperf.records.exchange import DeviceCounts, DeviceUse
from vsperf.records.run import Endpoint

COUNTED = {
    "received_bytes": 0,
    "received_frames": 1,
    "received_dropped": 3,
    "sent_bytes": 8,
    "sent_frames": 9,
    "sent_dropped": 11,
}
"""What is told of a device → the kernel's column."""
LINK_SCOPE = 253
"""Of a way without a router."""
OWN_DEVICES = Path("/proc/thread-self/net/dev")
TCP_BUFFERS = (Path("/proc/sys/net/ipv4/tcp_wmem"), Path("/proc/sys/net/ipv4/tcp_rmem"))
"""Least, usual and greatest size of a socket that sends, and of one that receives."""
KEEPS_NO_PATHS = Path("/proc/sys/net/ipv4/tcp_no_metrics_save")
"""With 1 in it the kernel forgets what a connection learned of its path. Else the next one to the
same address begins with that, so a repeat would measure another thing than the first."""


@dataclass(frozen=True, slots=True)
class Device:
    """What is known of the device of a place that was joined to the switch."""

    offloads: Mapping[str, bool]
    """What it says of them; nothing where there is no device."""
    speed_bps: int | None
    """That it says it has; None where it says none."""


class AnyPlace(Protocol):
    """The kernel's stack at the end of a link, wherever that kernel is."""

    @property
    def link(self) -> str:
        """That it is at the end of."""

    @property
    def address(self) -> str:
        """Its address of IPv4."""

    @property
    def access(self) -> str:
        """The command by which a person looks at it."""

    @property
    def socket(self) -> Endpoint | None:
        """The port of the switch that a program there has to itself; None where none has."""

    def join(self, case: CaseSpec, known: Mapping[str, str], *, offloads: bool) -> Device:
        """Give its device its address, and tell it where all others are; raises OSError."""

    def read_clock(self) -> None:
        """Look how its clocks stand to this machine's, so that programs begin at one instant."""

    def running(
        self, argv: Sequence[str], how: How, workspace: Workspace
    ) -> AbstractContextManager[Running]:
        """Run a program; leaving the context ends it."""

    def counts(self) -> DeviceCounts | None:
        """Return what its device has counted so far; `ComponentError` where it is gone.

        None where it has no device.
        """

    def sockets(self) -> SocketCounts | None:
        """Return what its kernel has counted of datagrams so far; None where there is none to ask.

        Nothing runs in it meanwhile.
        """

    def received(self) -> Mapping[int, int]:
        """Return the bytes that came by connections of TCP, by port; nothing where none tells."""

    def socket_bytes(self) -> int:
        """Return what the sockets of both ends of TCP can hold, as its kernel sizes them."""

    def failure(self) -> str | None:
        """Return why it no longer works, or None while it does."""

    def facts(self) -> dict[str, Any]:
        """Return what it is, for the record."""


@dataclass(frozen=True, slots=True)
class Place:
    """A network of this machine's kernel: one of its own, or the host's."""

    link: str
    """That it is at the end of."""
    network: str
    """Its namespace, by name; empty for that of the host."""
    device: str
    address: str
    socket: None = None
    """The kernel has it."""

    def read_clock(self) -> None:
        """Do nothing: its clocks are this machine's."""

    def running(
        self, argv: Sequence[str], how: How, workspace: Workspace
    ) -> AbstractContextManager[Running]:
        return started(path_of(self.network), argv, how, workspace)

    def counts(self) -> DeviceCounts:
        """Return what its device has counted so far; `ComponentError` where it is gone."""
        with ComponentError.if_refused(f"the place at {self.link} is gone"):
            text = within(self.network, OWN_DEVICES.read_text)
        for line in text.splitlines():
            name, _, rest = line.partition(":")
            if name.strip() == self.device:
                row = rest.split()
                told = {what: int(row[column]) for what, column in COUNTED.items()}
                return DeviceCounts(place=self.link, **told)
        raise ComponentError(f"the device of the place at {self.link} is gone")

    @property
    def access(self) -> str:
        if not self.network:
            return f"ip -statistics link show {self.device}"
        return f"ip -netns {self.network} -statistics link"

    def join(self, case: CaseSpec, known: Mapping[str, str], *, offloads: bool) -> Device:
        """Bring it up, once the switch has made its device."""
        known = {} if (silent := is_silent(case, self.link)) else known
        told = within(
            self.network, partial(_configure, self, known, offloads=offloads, silent=silent)
        )
        return Device(told, within(self.network, partial(speed_bps, self.device)))

    def sockets(self) -> SocketCounts | None:
        """Return what its kernel counts; in the host's network that is of all who are in it."""
        try:
            found = udp_counts(within(self.network, OWN_TABLE.read_text))
        except OSError:
            return None
        return None if found is None else SocketCounts(place=self.link, **found)

    def received(self) -> Mapping[int, int]:
        """Return what came by connections; not every kernel can be asked."""
        try:
            return within(self.network, received_bytes)
        except OSError:
            return {}

    def socket_bytes(self) -> int:
        """Return the greatest sizes of a socket that sends, and of one that receives."""

        def most() -> int:
            return sum(int(table.read_text().split()[2]) for table in TCP_BUFFERS)

        return within(self.network, most)

    def failure(self) -> str | None:
        """Return nothing: a network does not end by itself."""
        return None

    def facts(self) -> dict[str, Any]:
        return {
            "network": self.network or "the host's",
            "device": self.device,
            "tcp_forgets_paths": within(self.network, forgets_paths),
        }


@dataclass(frozen=True, slots=True)
class UserSpace:
    """A vhost-user port of the switch that a server has to itself: no kernel is at this end."""

    link: str
    network: str
    """Of the program, by name; there is no device in it."""
    address: str
    socket: Endpoint

    @property
    def access(self) -> str:
        return f"ss --unix --processes src {self.socket.address}"

    def join(self, case: CaseSpec, known: Mapping[str, str], *, offloads: bool) -> Device:
        """Do nothing: there is no device, and its stack is told who asks it."""
        return Device({}, None)

    def read_clock(self) -> None:
        """Do nothing: its clocks are this machine's."""

    @contextmanager
    def running(self, argv: Sequence[str], how: How, workspace: Workspace) -> Iterator[Running]:
        """Run a program, which listens where the last one did, however that ended."""
        if self.socket.kind == "vhost-user-client":
            Path(self.socket.address).unlink(missing_ok=True)
        with started(path_of(self.network), argv, how, workspace) as program:
            yield program

    def counts(self) -> None:
        """Return nothing: there is no device; what the switch counts is at its own end."""

    def sockets(self) -> None:
        """Return nothing: its sockets are no kernel's."""

    def received(self) -> Mapping[int, int]:
        """Return nothing: its stack tells of no connection while it serves."""
        return {}

    def socket_bytes(self) -> int:
        """Return that no kernel holds anything there."""
        return 0

    def failure(self) -> str | None:
        """Return nothing: who serves is a program, and is watched as one."""
        return None

    def facts(self) -> dict[str, Any]:
        return {"port": self.socket.kind}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the device of a place has counted by some moment of the monotonic clock."""

    at_ns: int
    counts: DeviceCounts


@dataclass
class Places:
    """All places of a case."""

    case: CaseSpec
    by_link: Mapping[str, AnyPlace]
    offloads: dict[str, dict[str, bool]] = field(default_factory=dict)
    """What the device of each says of its offloads, by link."""
    speeds_bps: dict[str, int | None] = field(default_factory=dict)
    """The speed that the device of each says it has."""
    await_served: Callable[[], None] | None = None
    """Waits for ports of the switch whose other end comes with a server, if there are some."""

    def join(self, *, offloads: bool) -> None:
        """Give the devices their addresses, once the switch has made them; each knows all others.

        So nobody needs to ask where an address is, which not every switch lets through.
        """
        for link, place in self.by_link.items():
            others = [other for other in self.case.topology.links if other != link]
            known = {place_ip(self.case, other): place_mac(self.case, other) for other in others}
            with ComponentError.if_refused(f"the place at {link} cannot be given its address"):
                device = place.join(self.case, known, offloads=offloads)
            told = self.offloads[link] = dict(device.offloads)
            self.speeds_bps[link] = device.speed_bps
            if told and (against := against_offloads(told, on=offloads)):
                asked, other = ("on", "off") if offloads else ("off", "on")
                raise NotReadyError(
                    f"the device of the place at {link} does not do what `search.offloads` asks",
                    why=f"it was to have all of it {asked}, and has {', '.join(against)} {other}",
                    fix=f"--set search.offloads={other}, or a kernel whose device can be told that",
                )

    def await_ports(self, switch: RunningSwitch, patience_s: float) -> None:
        """Wait until all ports of the switch forward whose other end is there by now.

        One that a program has to itself is waited for in each exchange, when that listens.
        """
        late = self.case.user_space
        there = tuple(link for link in self.case.topology.links if link not in late)
        switch.await_ports(there, patience_s)
        if late:
            self.await_served = partial(switch.await_ports, late, patience_s)

    def prepare(self) -> None:
        """See that all servers can be reached, which listen by now, and how clocks stand."""
        if self.await_served is not None:
            self.await_served()
        for place in self.by_link.values():
            place.read_clock()

    def failure(self) -> str | None:
        """Return why one of them no longer works, or None while all do."""
        found = (place.failure() for place in self.by_link.values())
        return next((why for why in found if why is not None), None)

    def counts(self) -> tuple[DeviceCounts, ...]:
        return tuple(one.counts for one in self.seen())

    def sockets(self) -> tuple[SocketCounts, ...]:
        """Return what kernels have counted of datagrams so far, as far as there are some."""
        found = (place.sockets() for place in self.by_link.values())
        return tuple(one for one in found if one is not None)

    def seen(self) -> tuple[Seen, ...]:
        """Return the same, each with when it was read."""
        looked = ((time.monotonic_ns(), place.counts()) for place in self.by_link.values())
        return tuple(Seen(at_ns, counts) for at_ns, counts in looked if counts is not None)

    def used(self, looks: Sequence[tuple[Seen, ...]]) -> tuple[DeviceUse, ...]:
        """Return what was counted between two looks; nothing of any where there were no two."""
        if len(looks) < 2:
            return ()
        before, after = looks
        earlier, later = ([one.counts for one in each] for each in (before, after))
        return tuple(
            DeviceUse(
                counts=counts,
                length_ns=now.at_ns - then.at_ns,
                speed_bps=self.speeds_bps.get(counts.place),
            )
            for then, now, counts in zip(before, after, growth(earlier, later), strict=True)
        )

    def socket_bytes(self) -> int:
        """Return what the sockets of both ends of TCP can hold, where the kernel sizes them."""
        return max(place.socket_bytes() for place in self.by_link.values())

    def facts(self) -> dict[str, Any]:
        """Return what they are, for the record."""
        return {
            link: {
                "address": f"{place.address}/{PREFIX_BITS}",
                "mac": place_mac(self.case, link),
                "mtu": place_mtu(self.case),
                "offloads": self.offloads.get(link) or None,
                **place.facts(),
            }
            for link, place in self.by_link.items()
        }

    @property
    def access(self) -> tuple[str, ...]:
        return tuple(place.access for place in self.by_link.values())


@contextmanager
def made_places(
    case: CaseSpec,
    endpoints: tuple[Endpoint, ...],
    workspace: Workspace,
    guests: Mapping[str, AnyPlace] | None = None,
) -> Iterator[Places]:
    """Make the networks of all places that are no guests; the switch puts a device into each.

    In the host's network there is a promise to remove it before it is there.
    """
    with ExitStack() as stack:
        found: dict[str, AnyPlace] = {}
        for endpoint in endpoints:
            link = endpoint.link
            if guests is not None and link in guests:
                found[link] = guests[link]
                continue
            if link in case.user_space:
                own = stack.enter_context(private_network(workspace, link))
                filled = {"address": workspace.fill(endpoint.address)}
                port = endpoint.model_copy(update=filled)
                found[link] = UserSpace(link, own, place_ip(case, link), port)
                continue
            network, _, device = workspace.fill(endpoint.address).partition("/")
            if network:
                made = stack.enter_context(private_network(workspace, link))
                assert made == network, f"{link} is said to be in {network}"
            else:
                require_room_in_host(link)
                stack.enter_context(workspace.undoing(RemoveVeth(name=device)))
            found[link] = Place(link, network, device, place_ip(case, link))
        yield Places(case, found)


def require_room_in_host(link: str, known: Callable[[str], Sequence[str]] = known_in) -> None:
    """Raise `NotReadyError` where the host's network knows addresses of places already."""
    if used := known(BENCHMARKS["ipv4"]):
        raise NotReadyError(
            f"the host's network cannot be the place at {link}",
            why=f"places have addresses of {BENCHMARKS['ipv4']}, and it knows {', '.join(used)}",
            fix=f"take these out of it, wait for whoever has them, or --set places.{link}=null",
        )


def growth(
    before: Sequence[DeviceCounts], after: Sequence[DeviceCounts]
) -> tuple[DeviceCounts, ...]:
    """Return what was counted meanwhile."""
    return tuple(
        DeviceCounts(
            place=later.place,
            **{name: getattr(later, name) - getattr(earlier, name) for name in COUNTED},
        )
        for earlier, later in zip(before, after, strict=True)
    )


def forget_paths(setting: Path = KEEPS_NO_PATHS) -> None:
    """Have each connection of TCP begin as the first one does, where the kernel can be told so."""
    with suppress(OSError):  # where all of /proc/sys is for reading alone, which the record says
        setting.write_text("1\n")


def forgets_paths(setting: Path = KEEPS_NO_PATHS) -> bool:
    """Whether no connection begins with what one before it learned."""
    try:
        return setting.read_text().strip() == "1"
    except OSError:
        return False


def _configure(
    place: Place, known: Mapping[str, str], *, offloads: bool, silent: bool
) -> dict[str, bool]:
    """Bring a place up, in its network; with no address where the kernel is to be silent.

    In the host's it is no member of a network, and has a way to each other place and to nobody
    else. Nothing is changed there but what goes with its device.
    """
    own = bool(place.network)
    if own:
        forget_paths()
    else:
        with suppress(OSError):  # a kernel without IPv6 has no such file
            Path(f"/proc/sys/net/ipv6/conf/{place.device}/disable_ipv6").write_text("1\n")
    told = set_offloads(place.device, on=offloads)
    with routes() as netlink:
        for name in ("lo", place.device) if own else (place.device,):
            netlink.link("set", index=socket.if_nametoindex(name), state="up")
        index, bits = socket.if_nametoindex(place.device), PREFIX_BITS if own else 32
        if not silent:
            netlink.addr("add", index=index, address=place.address, prefixlen=bits)
        for address, mac in known.items():
            if not own:
                netlink.route("add", dst=f"{address}/32", oif=index, scope=LINK_SCOPE)
            netlink.neigh("replace", ifindex=index, dst=address, lladdr=mac, state=PERMANENT)
    return told
