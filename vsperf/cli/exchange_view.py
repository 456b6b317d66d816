"""What programs exchanged in a case: each exchange, its instances, and what devices counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rich.console import Console

from vsperf.cli.progress import exchange_line, marked
from vsperf.cli.tables import print_titled
from vsperf.output.cpu_tables import COSTING, CPU_MEANING, cpu_tables
from vsperf.output.datagram_tables import ACCOUNT_MEANING, account_data, account_table
from vsperf.output.table import NOTHING, Column, Table
from vsperf.quantities.human import human_bytes, human_count, human_ns
from vsperf.records.exchange import ECHO, DeviceCounts, DeviceUse, Exchange, Instance
from vsperf.records.files.view import CaseView
from vsperf.records.packets import Packets, Times
from vsperf.records.result import amount
from vsperf.search.exchange_verdict import limited

Writer = Callable[[float], str]
OF_HTTP = ("p99 from due", "failed")
SAR_MEANING = (
    "of the time between both looks at the CPUs; kB: 1,024 bytes, headers of frames included; with "
    "offloads a packet is one of the kernel's, which may be many on a cable; %ifutil: of the speed "
    "that the device says it has, which nothing holds one to that the kernel alone made"
)
BEGAN = "began: at the latest, after the instant at which all were to start"


@dataclass(frozen=True, slots=True)
class _Echo:
    """The packets of one exchange that were due in its window."""

    one: Exchange
    packets: Packets
    times: Times

    @property
    def beside(self) -> str:
        """What was exchanged meanwhile."""
        if self.one.beside is None:
            return "nothing"
        return f"{len(self.one.instances)} × {self.one.traffic}"

    def taken(self, share: Fraction, *, sent: bool) -> int | None:
        """Return the time that such a share did not exceed, from when they were sent or due."""
        return self.times.from_sent(share) if sent else self.times.from_due(share)


def print_exchanges(out: Console, case: CaseView, *, every: bool) -> None:
    """Print the exchanges of a case; with `every` the last one to be believed in detail."""
    made = tuple(case.exchanges)
    if not made:
        return
    out.print("exchanges", style="bold")
    for place, one in enumerate(made):
        out.print(marked(exchange_line(one), gone=place < case.died))
    made = made[case.died :] or made
    if (packets := packets_table(made)) is not None:
        print_titled(out, packets)
    last = next((one for one in reversed(made) if one.valid), made[-1])
    if last.valid and last.traffic != ECHO:  # whose clock is kept to, and whose answer is a time
        limit, why = limited(last)
        out.print(f"limit of exchange #{last.index}: {limit.value}: {why}")
    if every:
        _print_detail(out, last)


def _print_detail(out: Console, last: Exchange) -> None:
    """Print what each instance, device and CPU counted in an exchange."""
    looked = ((table, CPU_MEANING) for table in cpu_tables((last,)))
    own = [(instances_table(last), BEGAN), (devices_table(last), "")]
    if (account := account_table(last)) is not None:
        own.append((account, ACCOUNT_MEANING))
    own += [(sar_table(last), SAR_MEANING)] if last.device_use else []
    for table, meaning in (*own, *looked):
        print_titled(out, table, meaning)


def instances_table(one: Exchange) -> Table:
    """Return one row for each instance."""

    def number(
        name: str, write: Callable[[float], str], of: Callable[[Instance], int | None]
    ) -> Column[Instance]:
        return Column(name, of=lambda instance: _said(of(instance), write), align="right")

    heads = (
        Column[Instance]("instance", of=lambda instance: instance.name),
        Column[Instance]("direction", of=lambda instance: instance.direction),
        number("rate", lambda rate: amount(rate, one.unit), one.instance_rate),
        number("sent", human_bytes, lambda instance: instance.sent_bytes),
        number("received", human_bytes, lambda instance: instance.received_bytes),
        number("transactions", human_count, lambda instance: instance.transactions),
        number("mean", human_ns, lambda instance: _round_trips(instance, "mean_ns")),
        number("p99", human_ns, lambda instance: _round_trips(instance, "p99_ns")),
        number("most", human_ns, lambda instance: _round_trips(instance, "most_ns")),
        number("p99 from due", human_ns, _p99_from_due),
        number("failed", human_count, _failed),
        number("began", human_ns, lambda instance: instance.began_ns),
        number("sent again", human_count, lambda instance: instance.repeated_segments),
    )
    others = ("transactions", "mean", "p99", "most") if one.streams else ("sent", "received")
    table = Table.made(f"instances in exchange #{one.index}", heads, one.instances)
    return table.without(NOTHING, (*others, *OF_HTTP))


def packets_table(made: Sequence[Exchange]) -> Table | None:
    """Return one row for each exchange with an echo: what became of its packets in the window."""

    def number(
        name: str, of: Callable[[_Echo], int | None], write: Writer = human_count
    ) -> Column[_Echo]:
        return Column(name, of=lambda echo: _said(of(echo), write), align="right")

    def time(name: str, share: str, *, sent: bool = False) -> Column[_Echo]:
        return number(name, lambda echo: echo.taken(Fraction(share), sent=sent), human_ns)

    heads = (
        Column[_Echo]("exchange", of=lambda echo: f"#{echo.one.index}"),
        Column[_Echo]("beside", of=lambda echo: echo.beside),
        number("packets due", lambda echo: echo.times.due),
        number("unsent", lambda echo: echo.times.unsent),
        number("lost", lambda echo: echo.times.lost),
        number("twice", lambda echo: echo.packets.duplicates),
        number("out of order", lambda echo: echo.packets.out_of_order),
        time("p50 from due", "1/2"),
        time("p99 from due", "99/100"),
        time("most from due", "1"),
        time("p50", "1/2", sent=True),
        time("p99", "99/100", sent=True),
        time("most", "1", sent=True),
    )
    return Table.made("packets by a clock", heads, found) if (found := _echoes(made)) else None


def devices_table(one: Exchange) -> Table:
    """Return one row for each device: what it received and sent, headers included."""

    def number(
        name: str, write: Callable[[float], str], of: Callable[[DeviceCounts], int | None]
    ) -> Column[DeviceCounts]:
        return Column(name, of=lambda device: _said(of(device), write), align="right")

    heads = (
        Column[DeviceCounts]("place", of=lambda device: device.place),
        number("received", human_bytes, lambda device: device.received_bytes),
        number("frames in", human_count, lambda device: device.received_frames),
        number("bytes each", human_count, _bytes_each),
        number("dropped in", human_count, lambda device: device.received_dropped),
        number("sent", human_bytes, lambda device: device.sent_bytes),
        number("frames out", human_count, lambda device: device.sent_frames),
        number("dropped out", human_count, lambda device: device.sent_dropped),
    )
    return Table.made(f"network devices in exchange #{one.index}", heads, one.devices)


def sar_table(one: Exchange) -> Table:
    """Return one row for each device: what `sar -n DEV` would have shown, by its names."""

    def rate(name: str) -> Column[DeviceUse]:
        return Column(name, of=lambda use: _as_sar(use, name), align="right")

    names = ("rxpck/s", "txpck/s", "rxkB/s", "txkB/s", "%ifutil")
    heads = (
        Column[DeviceUse]("place", of=lambda use: use.counts.place),
        *(rate(name) for name in names),
    )
    return Table.made(f"as sar -n DEV shows exchange #{one.index}", heads, one.device_use)


def exchanges_data(case: CaseView) -> dict[str, Any]:
    """Return the exchanges as plain data, with what is computed of each; nothing without any."""
    found = [
        one.model_dump(mode="json")
        | {
            "rates": {way: one.rate(way) for way in one.directions},
            "account": account_data(one),
            "sar": {use.counts.place: use.as_sar for use in one.device_use},
            "cpu_costs_ns": {role: _cost(one, role) for role in COSTING},
            "limit": limited(one)[0].value if one.valid and one.traffic != ECHO else None,
        }
        for one in case.exchanges
    ]
    return {"all_exchanges": found} if found else {}


def _cost(one: Exchange, role: str) -> float | None:
    cost = one.cpu_cost_ns(role)
    return None if cost is None else float(cost)


def _echoes(made: Sequence[Exchange]) -> list[_Echo]:
    return [
        _Echo(one, echoing.packets, times)
        for one in made
        if (echoing := one.echoing) is not None
        and echoing.packets is not None
        and (times := one.times) is not None
    ]


def _round_trips(instance: Instance, name: str) -> int | None:
    found: int | None = getattr(instance.round_trips, name, None)
    return found


def _p99_from_due(instance: Instance) -> int | None:
    return None if instance.from_due is None else instance.from_due.p99_ns


def _failed(instance: Instance) -> int | None:
    return None if instance.failures is None else instance.failures.total


def _bytes_each(device: DeviceCounts) -> int | None:
    frames = device.received_frames
    return device.received_bytes // frames if frames else None


def _as_sar(use: DeviceUse, name: str) -> str:
    value = use.as_sar[name]
    return NOTHING if value is None else f"{value:.2f}"


def _said(value: int | None, write: Callable[[float], str]) -> str:
    return NOTHING if value is None else write(value)
