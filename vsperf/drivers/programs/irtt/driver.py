"""The driver: where irtt is, how it is run with -o, and what is believed of it.

A client writes one document, with four times for each packet that it sent. Its own sums are of
these, and leave out two things: the time that a packet was with the server, and each packet that
was due while the client was kept from running, which is never sent. So nothing of them is told but
what is nowhere else, and that only where it agrees with the packets. It exits with 0 when its
server died, and when it was interrupted and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import (
    LONGEST_WORDS,
    InstalledProgram,
    KnownFault,
    Program,
    ProgramSpec,
    Rendezvous,
    Said,
    Told,
    ended_early,
    in_steps,
    problem_of,
    quotable,
    settings_of,
)
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.packets import Packets
from vsperf.trust.plain_json import MOST_COUNTED, loads

IRTT = PackagedProgram(
    "irtt", "apt-get install irtt", "version", r"irtt version: (\d+(?:\.\d+)+)", "probe.path"
)
USE = "for latency under load between places"
PAYLOAD_BYTES = 64
"""Of each packet: the least that its times and numbers fit into, rounded up."""
TIMER = "hybrid:0.95"
"""It sleeps for so much of each interval and looks at the clock for the rest. Its other timers
sleep for all of it, and are up to a millisecond off, which would be in all times from when packets
were due."""
WAIT = "2s"
"""For packets that are under way in the end. Its own choice follows from the longest time so far,
and so gives up those that a stall at the end keeps."""
FAULTS = (
    KnownFault("it exits with 0 when its server died, so its packets are counted"),
    KnownFault("it leaves out of its times how long the server had a packet: raw ones are read"),
    KnownFault("it sends no packet that was due while it was kept from running: these are counted"),
)
Document = Mapping[str, Any]
BACK, LOST, LOST_THERE, LOST_BACK = "false", "true", "true_up", "true_down"
"""What it says of a packet under `lost`."""
ERRORS = {"send_err": "send", "receive_err": "receive"}


def _told(asked: ExchangeAsked, document: Document) -> Told:
    """Return what a document says; `ValueError` with what is wrong with it."""
    for name, what in ERRORS.items():
        if document.get(name) is not None:
            raise ValueError(f"its client says that it could not {what}")
    params = document["config"]["params"]
    wanted = {"interval": asked.interval_ns, "duration": asked.sending_ns}
    for name, value in wanted.items():
        if params[name] != value:
            said = f"{params[name]!r:.{LONGEST_WORDS}}"
            raise ValueError(f"its client had the {name} {said} ns, and not {value} ns")
    rows, stats = document["round_trips"], document["stats"]
    packets = packets_of(asked, rows, _whole(stats["duplicates"]))
    times = packets.whole
    back = times.sent - times.lost
    summed = (_whole(stats["packets_sent"]), _whole(stats["packets_received"]))
    if summed != (times.sent, back + packets.duplicates):
        raise ValueError(
            f"its client tells of {times.sent:,} packets of which {back:,} came back, and its sums "
            f"of {summed[0]:,} and {summed[1]:,}"
        )
    if not back:
        raise ValueError(f"of {times.sent:,} packets none came back")
    began = rows[0]["timestamps"]["client"]["send"]["wall"]
    return Told(
        elapsed_ns=asked.sending_ns,
        ended_at_ns=_whole(began) + asked.sending_ns,
        transactions=back,
        intervals=in_steps(_back_ns(packets), asked.sending_ns),
        packets=packets,
    )


def packets_of(asked: ExchangeAsked, rows: Sequence[Document], duplicates: int) -> Packets:
    """Return the packets that were due, each with the one that was sent for it.

    It lays its clock at its first packet, and sends by it at whole intervals alone: who comes later
    by more than half an interval waits for the next one but one.
    """
    step_ns = asked.interval_ns
    assert step_ns is not None  # whoever asks for packets by a clock says so
    due = -(-asked.sending_ns // step_ns)
    late: list[int | None] = [None] * due
    took: list[int | None] = [None] * due
    first_ns, place, back = 0, -1, []
    for number, row in enumerate(rows):
        client = row["timestamps"]["client"]
        sent_ns = _whole(client["send"]["monotonic"])
        first_ns = sent_ns if number == 0 else first_ns
        nearest = (sent_ns - first_ns + step_ns // 2) // step_ns
        before, place = place, min(due - 1, max(place + 1, nearest))
        if _whole(row["seqno"]) != number or place == before:
            raise ValueError(f"packet {row['seqno']} is told where number {number} was due")
        late[place] = sent_ns - first_ns - place * step_ns
        if row["lost"] == BACK:
            back_ns = _whole(client["receive"]["monotonic"])
            took[place] = _whole(back_ns - sent_ns)
            back.append((back_ns, number))
        elif row["lost"] not in (LOST, LOST_THERE, LOST_BACK):
            said = f"{row['lost']!r:.{LONGEST_WORDS}}"
            raise ValueError(f"packet {number} is said to be lost: {said}")
    return Packets(
        interval_ns=step_ns,
        late_ns=tuple(late),
        took_ns=tuple(took),
        lost_there=sum(row["lost"] == LOST_THERE for row in rows),
        lost_back=sum(row["lost"] == LOST_BACK for row in rows),
        duplicates=duplicates,
        out_of_order=_out_of_order([number for _, number in sorted(back)]),
    )


def _out_of_order(numbers: Sequence[int]) -> int:
    """Return how many came after a later one, of numbers in the order in which they came."""
    latest, found = -1, 0
    for number in numbers:
        found += number < latest
        latest = max(latest, number)
    return found


def _back_ns(packets: Packets) -> Iterator[int]:
    """Yield when each packet came back, of those that did."""
    for number, (late, took) in enumerate(zip(packets.late_ns, packets.took_ns, strict=True)):
        if late is not None and took is not None:
            yield number * packets.interval_ns + late + took


def _whole(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{number!r:.{LONGEST_WORDS}} is no whole number")
    if not 0 <= number <= 2 * MOST_COUNTED:  # the clock of the wall counts from 1970
        raise ValueError(f"{number!r} is no number that is believed")
    return number


class IrttSpec(ProgramSpec):
    """Settings of irtt."""

    kind: Literal["irtt"]


class Irtt(Program):
    """Runs irtt."""

    kind = "irtt"
    summary = "irtt: packets by a clock that are sent back, each with its times"
    Spec = IrttSpec
    EXCHANGES = frozenset({"udp-echo"})
    SERVER_ENDS = False
    SERVER = IRTT.name
    FAULTS = FAULTS
    checks = (IRTT.check(IrttSpec, IRTT.of, USE, FAULTS),)

    def find(self, case: CaseSpec) -> InstalledProgram:
        return IRTT.of(settings_of(case, IrttSpec))

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """For as long and as often as a client likes: else it grants 10 ms between packets."""
        return (
            *(program, "server", "-4", "-b", f"{meet.address}:{meet.port}"),
            *("-i", "0", "-d", "0"),
        )

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """With nothing but its document on its standard output."""
        return (
            *(program, "client", "-4", "-Q", "-o", "-"),
            *("-i", f"{asked.interval_ns}ns", "-d", f"{asked.sending_ns}ns"),
            *("-l", str(PAYLOAD_BYTES), f"--timer={TIMER}", f"--wait={WAIT}"),
            f"{meet.address}:{meet.port}",
        )

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        """Return what a client says, or what is wrong with either end."""
        if problem := problem_of(client, ended_early(server)):
            return Told(problem=problem)
        try:
            document = loads(client.text[client.text.index("{") : client.text.rindex("}") + 1])
        except (ValueError, RecursionError):
            return Told(problem=f"its client told no end: it {client.quoted}")
        try:
            return _told(asked, document)
        except (KeyError, TypeError, IndexError) as error:
            return Told(problem=f"its answers cannot be read: {type(error).__name__} {error}")
        except ValueError as error:
            return Told(problem=quotable(str(error)))
