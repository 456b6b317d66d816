"""Where in a chain with virtual machines the frames of each trial ended, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from vsperf.record.chain import Stage, Way, gauges_of, joints_of, stages_of
from vsperf.record.trial import Trial
from vsperf.spec.topology import Path, Topology
from vsperf.spec.wiring import passes

MEANING = (
    "frames that ended on the way: `a → b` in the switch between these ports, `ring of b` for want "
    "of room there or on the way out of it, `in b` inside of the machine; ? is not counted, and "
    "is part of the number before it"
)


def ways_of(topology: Topology) -> tuple[Way, ...]:
    """Return the way of the frames of each path, there and back."""
    return tuple(
        way
        for path in topology.paths
        for way in (_way(topology, path, path), _way(topology, path, path[::-1]))
    )


def _way(topology: Topology, path: Path, turned: Path) -> Way:
    """Return one direction of a path: passes through the switch, and machines between them."""
    found = [one for one in passes(topology) if one.path == turned]
    if turned != path:
        found.reverse()
    towards = 1 if turned == path else -1
    crossings: list[tuple[str, str]] = []
    inside: list[str | None] = []
    if (first := turned[0]) in topology.machines:
        crossings.append((_moved(found[0].enters, -towards), found[0].enters))
        inside.append(first)
    for place, one in enumerate(found):
        crossings.append((one.enters, one.leaves))
        inside.append(None)
        if place + 1 < len(found):
            crossings.append((one.leaves, found[place + 1].enters))
            inside.append(turned[place + 1])
    if (last := turned[-1]) in topology.machines:
        crossings.append((found[-1].leaves, _moved(found[-1].leaves, towards)))
        inside.append(last)
    return Way(f"{turned[0]} to {turned[-1]}", tuple(crossings), tuple(inside))


def _moved(card: str, by: int) -> str:
    """Return the card on the other side of a machine at the end of a path."""
    machine, _, number = card.rpartition("_")
    return f"{machine}_{int(number) + by}"


def chain_tables(trials: Sequence[Trial], topology: Topology) -> tuple[Table, ...] | None:
    """Return a table of the trials with loss for each way that is counted apart.

    None when no machine takes part, or nobody counted.
    """
    ways = ways_of(topology)
    counted = [(trial, found) for trial in trials if (found := gauges_of(trial, ways)) is not None]
    if not topology.machines or not counted:
        return None
    tables = []
    for group in joints_of(ways):
        rows = [(trial, stages_of(group, gauges)) for trial, gauges in counted]
        lossy = [row for row in rows if any(stage.frames for stage in row[1])]
        if lossy:
            tables.append(_table(lossy))
    return tuple(tables)


def _table(rows: Sequence[tuple[Trial, Sequence[Stage]]]) -> Table:
    """Return one row per trial; the ends of the way only where a frame was lost there."""
    columns = list(dict.fromkeys(stage.name for _, stages in rows for stage in stages))
    shown = [
        name
        for name in columns
        if not name.startswith(("into ", "out of "))
        or any(stage.frames for _, stages in rows for stage in stages if stage.name == name)
    ]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("trial")
    for name in shown:
        table.add_column(name, justify="right")
    for trial, stages in rows:
        frames = {stage.name: stage.frames for stage in stages}
        cells = ("?" if (count := frames.get(name)) is None else str(count) for name in shown)
        table.add_row(f"#{trial.index}", *cells)
    return table
