"""The trials of a case as a table, and the command that shows more of them."""

from __future__ import annotations

from collections.abc import Sequence

from vsperf.human import human_count, human_fps, human_seconds
from vsperf.record.trial import Trial
from vsperf.report.page import Table
from vsperf.stats.answers import loss_text

NAMES = ("trial", "for", "load", "time", "sent", "arrived", "lost", "loss", "said of it")
MOST_TRIALS = 1_000
"""That stand in a page one by one; searches make some hundreds, somebody's record may hold more."""


def trials_table(trials: Sequence[Trial]) -> Table | None:
    """Return one row for each of the first trials; None where there are none."""
    rows = tuple(_row(trial) for trial in trials[:MOST_TRIALS])
    return Table(NAMES, rows, len(trials) if len(trials) > MOST_TRIALS else None) if rows else None


def _row(trial: Trial) -> tuple[str, ...]:
    reference = f" {trial.reference}" if trial.reference else ""
    said = [flag.value for flag in trial.flags]
    if trial.retry_of is not None:
        said.append(f"repeats #{trial.retry_of}")
    if trial.event is not None:
        said.append(trial.event.name)
    if trial.error:
        said.append(trial.error)
    counted = bool(trial.directions)
    return (
        f"#{trial.index}",
        f"{trial.purpose.value}{reference}",
        human_fps(trial.load_fps),
        human_seconds(trial.duration_ns / 1e9),
        human_count(trial.sent_frames) if counted else "–",
        human_count(sum(way.good_frames for way in trial.directions)) if counted else "–",
        human_count(trial.lost_frames) if counted else "–",
        loss_text(trial.loss_ratio) if counted else "–",
        ", ".join(said),
    )
