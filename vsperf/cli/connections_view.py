"""Connections of a case: each trial, and what became of those at its answer, at both ends."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from vsperf.cli.progress import connections_line, marked
from vsperf.cli.tables import print_titled
from vsperf.output.table import NOTHING, Column, Table
from vsperf.quantities.human import human_count
from vsperf.records.connections import UNANSWERED, UNFULFILLED, ConnectionTrial
from vsperf.records.files.view import CaseView
from vsperf.records.switch import SwitchCounters

REQUESTS = ("intended", "unasked", "gone", "waiting", "asked", "replied")
CLIENT = ("intended", "unsent", "launched", *UNANSWERED, "answered", *UNFULFILLED, "completed")
WORDS = {
    **{"intended": "due", "unsent": "not begun", "unasked": "not begun", "launched": "begun"},
    **{"replied": "answered"},
}
"""What people call them; the other words are what records have, and say it themselves."""
Counted = tuple[str, int | None, int | None]
"""A name, and what both ends counted; None where one does not tell."""
SEGMENTS = ("segments_sent", "segments_received", "repeated", "stray", "damaged", "disordered")


def print_connections(out: Console, case: CaseView, *, every: bool) -> None:
    """Print all trials of connections of a case, and what became of those of the last that failed.

    With `every`, what both ends and the switch counted in it, too.
    """
    if not case.connections:
        return
    out.print("connections", style="bold")
    told: ConnectionTrial | None = None
    lossy: ConnectionTrial | None = None
    died = case.died
    for place, one in enumerate(case.connections):  # those of a day are too many to be held
        out.print(marked(connections_line(one), gone=place < died))
        if place >= died and one.accounts is not None and one.client is not None:
            told, lossy = one, one if one.failed else lossy
    last = lossy or told
    if last is None:
        return
    asking = () if last.counts is None or last.counts.asking is None else (asking_table(last),)
    counted = (segments_table(last), switch_table(last)) if every else ()
    for table in (accounts_table(last), *asking, *counted):
        if table.rows:
            print_titled(out, table)


def accounts_table(one: ConnectionTrial) -> Table:
    """Return what became of connections: each step is parted into the next ones."""
    assert one.client is not None
    counts = {name: getattr(one.client, name) for name in CLIENT}
    rows = [(name, count) for name, count in counts.items() if count]
    heads = (
        Column[tuple[str, int]]("connections", of=lambda row: _words(row[0])),
        Column[tuple[str, int]]("count", of=lambda row: human_count(row[1]), align="right"),
    )
    return Table.made(f"what became of them in trial #{one.index}", heads, rows)


def asking_table(one: ConnectionTrial) -> Table:
    """Return what became of requests by a clock."""
    assert one.counts is not None and one.counts.asking is not None
    rows = [(name, getattr(one.counts.asking, name)) for name in REQUESTS]
    heads = (
        Column[tuple[str, int]]("requests", of=lambda row: _words(row[0])),
        Column[tuple[str, int]]("count", of=lambda row: human_count(row[1]), align="right"),
    )
    title = f"requests by the clock in trial #{one.index}"
    return Table.made(title, heads, [row for row in rows if row[1]])


def segments_table(one: ConnectionTrial) -> Table:
    """Return what both ends counted of segments, or of datagrams."""
    assert one.counts is not None
    client, server = one.counts.client_segments, one.counts.server_segments
    rows: list[Counted] = [
        (name, getattr(client, name, None), getattr(server, name, None)) for name in SEGMENTS
    ]
    heads = (
        Column[Counted](one.pieces, of=lambda row: _words(row[0])),
        Column[Counted]("client", of=lambda row: _count(row[1]), align="right"),
        Column[Counted]("server", of=lambda row: _count(row[2]), align="right"),
    )
    return Table.made(
        f"{one.pieces} in trial #{one.index}", heads, [row for row in rows if any(row[1:])]
    )


def switch_table(one: ConnectionTrial) -> Table:
    """Return what the switch counted: of connections, of frames that it dropped, and why.

    Of several threads each has its frames: one that hangs has none, and stands out.
    """
    switch = one.switch or SwitchCounters()
    relayed = {} if switch.connections is None else switch.connections.model_dump()
    threads = switch.pmds if len(switch.pmds) > 1 else ()
    counts = {
        **{f"connections {name}": count for name, count in relayed.items()},
        **{f"frames of the thread on CPU {pmd.cpu}": pmd.frames for pmd in threads},
        **{name: count for name, count in {**switch.drops, **switch.reasons}.items() if count},
    }
    heads = (
        Column[tuple[str, int]]("what", of=lambda row: row[0]),
        Column[tuple[str, int]]("count", of=lambda row: human_count(row[1]), align="right"),
    )
    return Table.made(f"what the switch counted in trial #{one.index}", heads, [*counts.items()])


def connections_data(case: CaseView) -> dict[str, Any]:
    """Return the trials as plain data, without their slots of time; nothing without any."""
    found = [
        one.model_dump(mode="json", exclude={"counts": {"slots"}})
        | {"failed": one.failed, "causes": dict(one.causes)}
        for one in case.connections
    ]
    return {"all_connections": found} if found else {}


def _count(value: int | None) -> str:
    return NOTHING if value is None else human_count(value)


def _words(name: str) -> str:
    return WORDS.get(name, name.removeprefix("segments_").replace("_", " "))
