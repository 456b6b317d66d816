"""How `vsperf tgen` shows what it finds: a live table on a terminal, tables at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Group
from rich.live import Live

from vsperf.cli.tables import beside, console, print_table
from vsperf.drivers.generators.tgen.calibrate import Calibration
from vsperf.drivers.generators.tgen.client import Event
from vsperf.drivers.generators.tgen.summary import (
    Row,
    gap_rows,
    live_rows,
    port_rows,
    roundtrip_rows,
    short,
    stream_rows,
    worker_names,
    worker_rows,
)
from vsperf.drivers.generators.tgen.traffic import TrafficDirection
from vsperf.output.table import Column, Table, columns
from vsperf.quantities.human import End, human_fps, human_interval, human_ns
from vsperf.quantities.units import NANOSECONDS

Json = Mapping[str, Any]


@contextmanager
def watching(ways: Sequence[TrafficDirection]) -> Iterator[Event]:
    """Show the statistics of each second on stderr: a table that moves, or a line each."""
    output = console(stderr=True)
    names = [way.name for way in ways]
    last: list[Json] = []
    with Live(console=output, transient=True, auto_refresh=False) as live:

        def show(event: Json) -> None:
            if event.get("event") != "stats":
                return
            rows = live_rows(event, last[-1] if last else None)
            last[:] = [event]
            seconds = f"{event['elapsed_ns'] / NANOSECONDS:.0f} s"
            if output.is_terminal:
                moving = beside(_table(seconds, names, rows), output.width)
                live.update(Group(*moving), refresh=True)
            else:
                text = "; ".join(f"{label} {', '.join(cells)}" for label, cells in rows)
                output.print(f"{seconds}: {text}")

        yield show


def print_trial(result: Json, ways: Sequence[TrafficDirection]) -> None:
    """Print the final tables of a trial."""
    output = console()
    names, workers = [way.name for way in ways], result["workers"]
    print_table(output, _table("stream", names, stream_rows(result["streams"])))
    print_table(output, _table("worker", worker_names(workers), worker_rows(workers)))
    ports = port_rows(result["ports"])
    if ports:
        numbers = [str(port["port"]) for port in result["ports"]]
        print_table(output, _table("port", numbers, ports))
    for text in short(names, result["streams"]):
        output.print(f"! {text}", style="yellow")
    for said, text in (
        (not result["settled"], "frames still arrived when the drain ended; counts may be low"),
        (result["stopped_early"], "the trial was stopped early"),
    ):
        if said:
            output.print(f"! {text}", style="yellow")


def print_ports(hello: Json, ports: Sequence[Json]) -> None:
    """Print what was negotiated on each port."""
    keys = list(dict.fromkeys(key for port in ports for key in port if key != "port"))
    rows = [(key.replace("_", " "), tuple(_shown(port.get(key)) for port in ports)) for key in keys]
    output = console()
    print_table(output, _table("port", [str(port["port"]) for port in ports], rows))
    output.print(f"tgen {hello['tgen']} on {hello['dpdk']}", style="dim")


def print_stalls(result: Json) -> None:
    """Print how long each worker was kept from its loop."""
    workers = result["workers"]
    print_table(console(), _table("stalls", worker_names(workers), gap_rows(workers)))


def print_roundtrips(results: Sequence[Json]) -> None:
    """Print one line per measurement, and what to make of them."""
    first, second = results[0]["cpus"]
    output = console()
    columns = ("minimum", "p50", "p90", "maximum")
    print_table(output, _table("round trip", columns, roundtrip_rows(results)))
    text = f"of a cache line from CPU {first} to CPU {second} and back"
    output.print(text, style="dim")
    if not all(result["real_time"] for result in results):
        text = "without real-time priority; other work on these CPUs may be part of it"
        output.print(f"! {text}", style="yellow")
    if not all(result["rounds"] for result in results):
        text = "the CPUs were not both free before the deadline; – is a time that nobody knows"
        output.print(f"! {text}", style="yellow")


def print_calibrations(found: Sequence[Calibration]) -> None:
    """Print one line per frame size."""
    columns: tuple[Column[Calibration], ...] = (
        Column("frame", of=lambda one: f"{one.frame_size}B", align="right"),
        Column("maximum", of=lambda one: human_fps(one.maximum_fps), align="right"),
        Column("per CPU", of=lambda one: human_fps(one.per_cpu_fps), align="right"),
        Column("loss-free", of=_interval, align="right"),
        Column("floor min", of=lambda one: human_ns(one.floor_min_ns), align="right"),
        Column("p50", of=lambda one: human_ns(one.floor_p50_ns), align="right"),
        Column("p99", of=lambda one: human_ns(one.floor_p99_ns), align="right"),
    )
    output = console()
    print_table(output, Table.made("calibrations", columns, found))
    output.print(
        "per direction; per CPU is the maximum by the generator's CPUs; loss-free as an interval, "
        "floor is latency",
        style="dim",
    )


def _interval(one: Calibration) -> str:
    lower, upper = one.loss_free_lower_fps, one.loss_free_upper_fps
    if lower is None:
        return "no answer" if upper is None else f"< {human_fps(upper, End.UPPER)}"
    return human_interval(lower, upper, human_fps)


def _table(corner: str, names: Sequence[str], rows: Sequence[Row]) -> Table:
    heads = columns(corner, *names, right=range(1, len(names) + 1), breaks=False)
    return Table(corner, heads, tuple((label, *cells) for label, cells in rows))


def _shown(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(str(item) for item in value) or "none"
    return str(value)
