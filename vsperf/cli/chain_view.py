"""Where in a chain with virtual machines the frames of each trial ended, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from vsperf.analysis.ways import ways_of
from vsperf.config.topology import Topology
from vsperf.records.chain import Stage, gauges_of, joints_of, stages_of
from vsperf.records.trial import Trial

MEANING = (
    "frames that ended on the way: `a → b` in the switch between these ports, `ring of b` for want "
    "of room there or on the way out of it, `in b` inside of the machine; ? is not counted, and "
    "is part of the number before it"
)


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
