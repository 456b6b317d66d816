"""An exchange: programs at both ends of the links exchange data for a while, and tell how much.

All times count from the instant at which the clients were to start. A rate is one of the window in
which all instances ran, and is computed from what arrived in it, in integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.base import Record
from vsperf.records.cpu_time import CpuUse, added
from vsperf.records.datagrams import Account, Dropped, SocketCounts, accounted
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.packets import Packets, Times
from vsperf.records.switch import NoiseActivity, SwitchCounters, cycles_of
from vsperf.records.threads import SWITCH

CLIENTS, SERVERS = "clients", "servers"
"""Roles of the CPUs of programs."""
KIBIBYTE = 1024
"""What sar takes for a kilobyte."""
HEADERS_BYTES = 28
"""Of UDP and IPv4, in each packet of a datagram."""
Traffic = Literal[
    "tcp-stream",
    "udp-stream",
    "tcp-rr",
    "udp-rr",
    "tcp-crr",
    "http-rr",
    "http-crr",
    "http-open",
    "udp-echo",
]
"""What programs exchange: a stream of data, or requests and responses in turns, each of them on a
connection of its own or all on one. Requests of HTTP are sent as answers come, on connections that
are kept or closed after each, or by a clock (`http-open`). Datagrams that are sent by a clock and
sent back are an echo."""
ECHO: Traffic = "udp-echo"


class Interval(Record):
    """What arrived in a part of the time, as the program tells it that had it."""

    began_ns: int
    ended_ns: int
    amount: int
    """Bytes of a stream; else transactions that were completed."""


class RoundTrips(Record):
    """How long transactions took, as a client tells it, who waits for each before the next.

    So while nothing comes back it asks for nothing, and one long pause is one long transaction.
    """

    mean_ns: int
    least_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    most_ns: int


class Failures(Record):
    """Requests of HTTP that were not answered as they should have been."""

    statuses: int
    """Answered with a status that is none of 200 to 299."""
    sockets: int
    """Connections that could not be opened, read or written."""
    timeouts: int
    """Answered later than the program waits for."""
    unanswered: int | None
    """Due by the clock, and neither answered nor failed by the end; None without a clock."""

    @property
    def total(self) -> int:
        """How many they are; what was due last can still be under way."""
        return self.statuses + self.sockets + self.timeouts


class Instance(Record):
    """A client and its server, and what both told in the end; None is what nobody told."""

    name: str
    """Such as `stream 1`."""
    direction: str
    """From where to where the data go, such as `phy0 to phy1`."""
    port: int
    """That the server listens on."""
    began_ns: int | None
    """The latest moment at which its data can have begun to flow; the earliest is the instant. The
    program tells for how long it sent, and vsperf sees when it ends."""
    elapsed_ns: int | None
    """For how long the client sent; so it cannot have ceased before so much was over."""
    write_bytes: int | None
    """What the client wrote at once."""
    congestion: str | None
    """How the sender's TCP adapts its rate, such as cubic; None where there is none."""
    sent_bytes: int | None
    received_bytes: int | None
    sent_packets: int | None
    """Of datagrams; None where there are none."""
    lost_packets: int | None
    transactions: int | None
    """A request and its response; None of streams."""
    round_trips: RoundTrips | None
    repeated_segments: int | None
    """Of TCP, that were sent again."""
    intervals: tuple[Interval, ...]
    """One alone where a program tells no more than the sum of all its time."""
    problem: str
    """Which program failed, and how; empty where none did."""
    from_due: RoundTrips | None = None
    """How long requests took from when they were due by the clock, whenever they were sent; one
    that was not answered by the end counts as long as it had waited by then."""
    failures: Failures | None = None
    """None where there is no HTTP."""
    packets: Packets | None = None
    """Of an echo, one by one; the first was sent when the instance began."""

    @property
    def ended_ns(self) -> int | None:
        """The earliest moment at which its data can have ceased to flow."""
        return self.elapsed_ns

    def arrived(self, began_ns: int, ended_ns: int) -> int:
        """Return what arrived in a window; of an interval on its edge, in proportion."""
        return sum(
            one.amount * overlap // (one.ended_ns - one.began_ns)
            for one in self.intervals
            if (overlap := min(ended_ns, one.ended_ns) - max(began_ns, one.began_ns)) > 0
        )


class DeviceCounts(Record):
    """What the network device of a place counted during an exchange."""

    place: str
    """The link that it is at the end of."""
    received_bytes: int
    """Headers of frames included, FCS not."""
    sent_bytes: int
    received_frames: int
    """As the kernel has them: with offloads one of them may be many on a cable."""
    sent_frames: int
    received_dropped: int
    sent_dropped: int


class DeviceUse(Record):
    """What the device of a place counted between two looks, which lie where all instances ran."""

    counts: DeviceCounts
    length_ns: int
    """Time between both looks."""
    speed_bps: int | None
    """That the device says it has; None where it says none. One that is made by the kernel alone
    says what its makers wrote there, and forwards as fast as it can."""

    @property
    def as_sar(self) -> dict[str, float | None]:
        """Return what `sar -n DEV` would have shown of this time, by its names."""
        seconds, counts = Fraction(max(1, self.length_ns), NANOSECONDS), self.counts
        busier = max(counts.received_bytes, counts.sent_bytes) * 8 / seconds
        found = {
            "rxpck/s": counts.received_frames / seconds,
            "txpck/s": counts.sent_frames / seconds,
            "rxkB/s": counts.received_bytes / seconds / KIBIBYTE,
            "txkB/s": counts.sent_bytes / seconds / KIBIBYTE,
            "%ifutil": busier * 100 / self.speed_bps if self.speed_bps else None,
        }
        return {name: None if value is None else float(value) for name, value in found.items()}


class Window(Record):
    """The time in which all instances ran."""

    began_ns: int
    ended_ns: int

    @property
    def length_ns(self) -> int:
        """How long it was."""
        return self.ended_ns - self.began_ns


class Beside(Record):
    """What another program exchanged at the same time, all of it from the same instant on."""

    traffic: Traffic
    program: str
    """Kind of the driver."""
    version: str
    instances: tuple[Instance, ...]


class Exchange(Record):
    """One exchange, judged."""

    index: int
    retry_of: int | None
    """The exchange that it repeats, as that one could not be believed."""
    started_at: str
    traffic: Traffic
    program: str
    """Kind of the driver."""
    version: str
    """As the program tells it."""
    asked_ns: int
    """Of the window."""
    warm_up_ns: int
    """For how long instances run before the window may begin."""
    under_way_bytes: int | None
    """As much as sockets of both ends of a stream of TCP can hold: sent by one, and not yet told by
    the other. None for datagrams."""
    packet_bytes: int
    """The largest packet of the places."""
    offloads: bool
    """Whether devices of places leave checksums and segments to each other."""
    client_cpus: tuple[int, ...]
    server_cpus: tuple[int, ...]
    instances: tuple[Instance, ...]
    window: Window | None
    """None where there was no time in which all instances ran."""
    devices: tuple[DeviceCounts, ...]
    elapsed_ns: int
    """From the start of the first server to the end of the last program."""
    flags: tuple[Flag, ...]
    reasons: tuple[str, ...]
    """One sentence on each flag: who, and by how much."""
    beside: Beside | None = None
    """None where one program alone exchanged data. Rates do not count it; the window does."""
    cpu: CpuUse | None = None
    """Who used the CPUs; None where programs ended before somebody could look twice."""
    device_use: tuple[DeviceUse, ...] = ()
    """What devices of places did between both looks; none where there were no two."""
    switch: SwitchCounters | None = None
    """What counters of the switch grew by, from before the first program to after the last."""

    noise: tuple[NoiseActivity, ...] = ()
    """What each instance of a load beside the case did meanwhile."""
    polling_servers: bool = False
    """Whether servers never sleep, so that their CPU is full however little they have to do."""
    sockets: tuple[SocketCounts, ...] = ()
    """What kernels of places counted of datagrams, from before the first program to after the last;
    none where there are no datagrams, and none of a place without a kernel's stack."""

    @property
    def amount(self) -> int:
        """Bits of streams that arrived, or transactions that were completed, in all the time."""
        told = "received_bytes" if self.streams else "transactions"
        return sum((getattr(one, told) or 0) for one in self.instances) * self._each

    @property
    def everyone(self) -> tuple[tuple[Traffic, Instance], ...]:
        """All instances of all programs, each with what it exchanged."""
        beside = () if self.beside is None else self.beside.instances
        others = tuple((self.beside.traffic, one) for one in beside if self.beside is not None)
        return (*((self.traffic, one) for one in self.instances), *others)

    @property
    def echoing(self) -> Instance | None:
        """The instance whose packets are known one by one; None where there is none."""
        return next((one for _, one in self.everyone if one.packets is not None), None)

    @property
    def times(self) -> Times | None:
        """How long packets of an echo took that were due in the window; None where none were."""
        one, window = self.echoing, self.window
        if one is None or one.packets is None or one.began_ns is None or window is None:
            return None
        return one.packets.within(window.began_ns - one.began_ns, window.ended_ns - one.began_ns)

    def longest_over_time(self, step_ns: int) -> tuple[tuple[int, int | None], ...]:
        """Return, for each whole step of the window, its end and the longest time of a packet."""
        one, window = self.echoing, self.window
        if one is None or one.packets is None or one.began_ns is None or window is None:
            return ()
        first_ns = window.began_ns - one.began_ns
        return tuple(
            (end, one.packets.longest_ns(first_ns + end - step_ns, first_ns + end))
            for end in range(step_ns, window.length_ns + 1, step_ns)
        )

    def cpu_ns(self, role: str) -> int | None:
        """Return the CPU time of a role between both looks; None where it is not known.

        Of threads that never sleep it is what they were busy with, by their own count; of a kernel
        that forwards, all of its time in interrupts on the CPUs that do so.
        """
        if self.cpu is None:
            return None
        if role == SWITCH and self.cpu.forwarding_cpus:
            return self.cpu.forwarding_ns
        if role == SWITCH and self.switch is not None and self.switch.pmds:
            share = self.polling_share
            return None if share is None else int(share * self.cpu.length_ns)
        return self.cpu.time_ns(role)

    @property
    def polling_share(self) -> Fraction | None:
        """How many CPUs the switch's polling threads had work for while clients sent; about.

        They count from before the first program started to after the last one ended, and are taken
        to have had nothing to do before and after. Some programs send for whole seconds alone, and
        so for longer than asked. None where there are none, or they do not tell.
        """
        pmds = () if self.switch is None else self.switch.pmds
        busy, idle = cycles_of(pmds)
        told = [one.elapsed_ns for _, one in self.everyone if one.elapsed_ns is not None]
        sending_ns = max((self.warm_up_ns + self.asked_ns, *told))
        if not pmds or busy is None or idle is None or busy + idle == 0 or sending_ns <= 0:
            return None
        share = Fraction(busy, busy + idle) * Fraction(self.elapsed_ns, sending_ns)
        return min(share, Fraction(1)) * len(pmds)

    def cpu_cost_ns(self, role: str | None = None) -> Fraction | None:
        """Return the CPU time that a bit, or a transaction, cost a role, or all three together.

        What arrived between both looks is what it was spent on. None where one of both is unknown.
        """
        roles = (CLIENTS, SERVERS, SWITCH) if role is None else (role,)
        return self._for_each(added(self.cpu_ns(one) for one in roles))

    def context_switches(self, role: str) -> Fraction | None:
        """Return how often programs of a role were switched for a bit, or a transaction, likewise.

        None of a kernel that forwards, which does so in interrupts.
        """
        return None if self.cpu is None else self._for_each(self.cpu.switched(role))

    def _for_each(self, spent: int | None) -> Fraction | None:
        """Return what was spent between both looks for each bit, or transaction, of that time."""
        if self.cpu is None:
            return None
        looks = self.cpu.began_ns, self.cpu.ended_ns
        arrived = sum(one.arrived(*looks) for one in self.instances) * self._each
        return None if spent is None or not arrived else Fraction(spent, arrived)

    @property
    def valid(self) -> bool:
        """Whether an answer may build on it."""
        return worst(self.flags) is not Severity.INVALID

    @property
    def directions(self) -> tuple[str, ...]:
        """From where to where data went, in their order."""
        return tuple(dict.fromkeys(one.direction for one in self.instances))

    def of(self, direction: str) -> tuple[Instance, ...]:
        """Return the instances of a direction."""
        return tuple(one for one in self.instances if one.direction == direction)

    @property
    def streams(self) -> bool:
        """Whether data flow one way; else there are transactions."""
        return is_stream(self.traffic)

    @property
    def unit(self) -> Unit:
        """What rates are: bits, or transactions, in a second."""
        return Unit.BPS if self.streams else Unit.PER_SECOND

    def rate(self, direction: str) -> int | None:
        """Return what arrived in a second of the window; None where there is none."""
        return self._rate_of(self.of(direction))

    def instance_rate(self, instance: Instance) -> int | None:
        """Return the same of one instance."""
        return self._rate_of((instance,))

    @property
    def worst_rate(self) -> int | None:
        """The rate of the slowest direction."""
        rates = [self.rate(one) for one in self.directions]
        known = [rate for rate in rates if rate is not None]
        return min(known) if known and len(known) == len(rates) else None

    @property
    def total_rate(self) -> int | None:
        """The rate of all directions together."""
        return self._rate_of(self.instances)

    @property
    def datagram_bits(self) -> int | None:
        """What each datagram carries; None where there are none, or where they differ."""
        sizes = {one.write_bytes for one in self.instances}
        only = sizes.pop() if self.traffic == "udp-stream" and len(sizes) == 1 else None
        return only * 8 if only else None

    def sent_bps(self, direction: str) -> int | None:
        """Return the bits per second that clients sent, over the time in which each of them did."""
        total = 0
        for one in self.of(direction):
            if one.sent_bytes is None or not one.elapsed_ns:
                return None
            total += one.sent_bytes * 8 * NANOSECONDS // one.elapsed_ns
        return total

    @property
    def loss_ratio(self) -> Fraction | None:
        """Share of the datagrams that did not arrive; None where nobody counts them."""
        sent, lost = self._datagrams
        return None if not sent or lost is None else Fraction(lost, sent)

    @property
    def account(self) -> Account | None:
        """Where datagrams went; None where one takes several frames, or nobody counts them."""
        sent, lost = self._datagrams
        if sent is None or lost is None or not self._one_frame_each or not self.devices:
            return None
        known, kernels = {}, {one.place: one for one in self.sockets}
        for one in self.devices:
            kernel = kernels.get(one.place)
            known[one.place] = Dropped(kernel, one.received_dropped, one.sent_dropped)
        ways = [one.direction.partition(" to ") for one in self.instances]
        ends = ({way[end]: known[way[end]] for way in ways if way[end] in known} for end in (0, 2))
        sources, targets = ends
        return accounted(sent, sent - lost, (sources, targets), self.switch)

    @property
    def unread_packets(self) -> int | None:
        """Datagrams that came to a place, and for which the socket of their reader had no room.

        So the reader was too slow, and no switch. Where its kernel was not asked it is what came to
        the device and not to the program, which is about right: a few frames of other kinds are
        among those. None where a datagram takes several frames, or nobody counts.
        """
        sent, lost = self._datagrams
        if sent is None or lost is None or not self._one_frame_each or not self.devices:
            return None
        ends = {one.direction.rpartition(" to ")[2] for one in self.instances}
        kernels = [one.rcvbuf_errors for one in self.sockets if one.place in ends]
        if len(kernels) == len(ends):
            return min(lost, sum(kernels))
        came = sum(one.received_frames for one in self.devices if one.place in ends)
        return min(lost, max(0, came - (sent - lost)))

    @property
    def _datagrams(self) -> tuple[int | None, int | None]:
        """Datagrams that were sent, and those of them that did not arrive."""
        return (
            _total(one.sent_packets for one in self.instances),
            _total(one.lost_packets for one in self.instances),
        )

    @property
    def _one_frame_each(self) -> bool:
        return all(
            one.write_bytes is not None and one.write_bytes + HEADERS_BYTES <= self.packet_bytes
            for one in self.instances
        )

    @property
    def round_trips(self) -> tuple[RoundTrips, ...]:
        """How long transactions took, of each instance that tells."""
        return tuple(one.round_trips for one in self.instances if one.round_trips is not None)

    @property
    def failed_requests(self) -> int | None:
        """Requests of HTTP that failed; None where nobody counts them."""
        return _total(_count_of(one.failures, "total") for one in self.instances)

    @property
    def unanswered_requests(self) -> int | None:
        """Requests that were due by the clock, and not answered by the end."""
        return _total(_count_of(one.failures, "unanswered") for one in self.instances)

    @property
    def sums_only(self) -> bool:
        """Whether an instance tells the sum of all its time alone, so that nobody knows when."""
        return any(len(one.intervals) == 1 for one in self.instances)

    @property
    def repeated_segments(self) -> int | None:
        """Segments of TCP that were sent again; None where nobody counts them."""
        return _total(one.repeated_segments for one in self.instances)

    def rates_over_time(self, step_ns: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Return, for each whole step of the window, its end and the rate of each direction."""
        if self.window is None or step_ns <= 0 or self.sums_only:
            return ()
        began = self.window.began_ns
        steps = self.window.length_ns // step_ns
        return tuple(
            (
                number * step_ns + step_ns,
                tuple(
                    sum(
                        one.arrived(began + number * step_ns, began + (number + 1) * step_ns)
                        for one in self.of(direction)
                    )
                    * self._each
                    * NANOSECONDS
                    // step_ns
                    for direction in self.directions
                ),
            )
            for number in range(steps)
        )

    def _rate_of(self, instances: Iterable[Instance]) -> int | None:
        if self.window is None or self.window.length_ns <= 0:
            return None
        began, ended = self.window.began_ns, self.window.ended_ns
        arrived = sum(one.arrived(began, ended) for one in instances)
        return arrived * self._each * NANOSECONDS // self.window.length_ns

    @property
    def _each(self) -> int:
        return 8 if self.streams else 1


def is_stream(traffic: Traffic) -> bool:
    """Whether data flow one way, rather than there and back."""
    return traffic.endswith("stream")


def window_of(instances: Iterable[Instance], warm_up_ns: int) -> Window | None:
    """Return the time in which all ran, warm by then; None where there is none, or nobody tells."""
    began, ended = [], []
    for one in instances:
        if one.began_ns is None or one.ended_ns is None:
            return None
        began.append(one.began_ns + warm_up_ns)
        ended.append(one.ended_ns)
    if not began or max(began) >= min(ended):
        return None
    return Window(began_ns=max(began), ended_ns=min(ended))


def _count_of(failures: Failures | None, name: str) -> int | None:
    found: int | None = getattr(failures, name, None)
    return found


def _total(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    present = [count for count in known if count is not None]
    return sum(present) if known and len(present) == len(known) else None
