"""What kept polling threads from running in each trial, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from vsperf.quantities.human import human_ns
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import Trial

MEANING = (
    "waited: ready to run while its CPU ran something else, and how often that CPU was taken from "
    "it; stolen: by a hypervisor, in whole ticks"
)


def threads_table(trials: Sequence[Trial]) -> Table | None:
    """Return one row per trial whose threads were watched, a column each; None without any."""
    watched = [trial for trial in trials if trial.threads]
    if not watched:
        return None
    columns = dict.fromkeys(_title(thread) for trial in watched for thread in trial.threads)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("trial")
    for title in columns:
        table.add_column(title, justify="right")
    for trial in watched:
        found = {_title(thread): _cell(thread) for thread in trial.threads}
        table.add_row(f"#{trial.index}", *(found.get(title, "–") for title in columns))
    return table


def _title(thread: ThreadActivity) -> str:
    return f"{thread.part}: {thread.name}"


def _cell(thread: ThreadActivity) -> str:
    known = []
    if thread.delay_ns is not None:
        known.append(f"waited {human_ns(thread.delay_ns)}")
    if thread.involuntary is not None:
        known.append(f"{thread.involuntary}×")
    if thread.steal_ns is not None:
        known.append(f"stolen {human_ns(thread.steal_ns)}")
    return ", ".join(known) or "–"
