"""What programs exchanged in a case: each exchange, its instances, and what devices counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from vsperf.cli.progress import exchange_line
from vsperf.quantities.human import human_bps, human_bytes, human_count, human_ns
from vsperf.records.exchange import Exchange
from vsperf.records.files.view import CaseView

NOTHING = "–"
BEGAN = "began: at the latest, after the instant at which all were to start"


def print_exchanges(out: Console, case: CaseView) -> None:
    """Print all exchanges of a case, and the last one that can be believed in detail."""
    made = tuple(case.exchanges)
    if not made:
        return
    out.print("exchanges", style="bold")
    for one in made:
        out.print(exchange_line(one), soft_wrap=True)
    last = next((one for one in reversed(made) if one.valid), made[-1])
    out.print(f"instances in exchange #{last.index}", style="bold")
    out.print(instances_table(last))
    out.print(BEGAN, style="dim", soft_wrap=True)
    out.print(f"network devices in exchange #{last.index}", style="bold")
    out.print(devices_table(last))


def instances_table(one: Exchange) -> Table:
    """Return one row for each instance."""
    table = _table("instance", "direction", "rate", "sent", "received", "began", "sent again")
    for instance in one.instances:
        table.add_row(
            instance.name,
            instance.direction,
            _said(one.instance_bps(instance), human_bps),
            _said(instance.sent_bytes, human_bytes),
            _said(instance.received_bytes, human_bytes),
            _said(instance.began_ns, human_ns),
            _said(instance.repeated_segments, human_count),
        )
    return table


def devices_table(one: Exchange) -> Table:
    """Return one row for each device: what it received and sent, headers included."""
    names = ("place", "received", "frames", "bytes each", "dropped", "sent", "frames", "dropped")
    table = _table(*names)
    for device in one.devices:
        each = device.received_bytes // device.received_frames if device.received_frames else None
        table.add_row(
            device.place,
            human_bytes(device.received_bytes),
            human_count(device.received_frames),
            _said(each, human_count),
            human_count(device.received_dropped),
            human_bytes(device.sent_bytes),
            human_count(device.sent_frames),
            human_count(device.sent_dropped),
        )
    return table


def exchanges_data(case: CaseView) -> dict[str, Any]:
    """Return the exchanges as plain data, with what is computed of each; nothing without any."""
    found = [
        one.model_dump(mode="json")
        | {"rates_bps": {way: one.rate_bps(way) for way in one.directions}}
        for one in case.exchanges
    ]
    return {"all_exchanges": found} if found else {}


def _said(value: int | None, write: Callable[[float], str]) -> str:
    return NOTHING if value is None else write(value)


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    left: Sequence[str] = ("instance", "direction", "place")
    for name in columns:
        table.add_column(name, justify="left" if name in left else "right")
    return table
