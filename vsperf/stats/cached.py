"""What parts of the last-level cache held and moved in the trials of a case, as rows of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from vsperf.human import human_byte_rate, human_bytes
from vsperf.record.cache import CacheActivity
from vsperf.record.trial import Purpose, Trial
from vsperf.stats.collected import Saw, spread
from vsperf.units import NANOSECONDS

TITLE: Final = "what parts of the last-level cache held and moved, over all trials"
HELD, MOVED, LOCAL = "held when the trial ended", "moved from and to memory", "on its own node"
SILENT: Final = "not counted here: {}; not every processor monitors that (CMT, MBM)"


def cached(trials: Sequence[Trial]) -> Saw | None:
    """Return what each part did over the trials; None of a case that shares out no cache."""
    looked = [one for one in trials if one.cache and one.purpose is not Purpose.PATH_CHECK]
    roles = dict.fromkeys(part.role for one in looked for part in one.cache)
    if not roles:
        return None
    rows = tuple(row for role in roles for row in _rows(role, looked))
    told = {row[1] for row in rows}
    missing = [what for what in (HELD, MOVED) if what not in told]
    notes = (SILENT.format(" and ".join(f"what they {what}" for what in missing)),)
    return Saw(TITLE, rows, notes if missing else ())


def _rows(role: str, trials: Sequence[Trial]) -> Iterator[tuple[str, ...]]:
    """Yield what a part held, and what it moved in a second and for a frame."""
    found = [(trial, part) for trial in trials for part in trial.cache if part.role == role]
    held = [part.occupancy_bytes for _, part in found if part.occupancy_bytes is not None]
    if held:
        yield (role, HELD, *spread(held, human_bytes), "")
    for what, name in ((MOVED, "total_bytes"), (LOCAL, "local_bytes")):
        yield from _moved(role, what, name, found)


def _moved(
    role: str, what: str, name: str, found: Sequence[tuple[Trial, CacheActivity]]
) -> Iterator[tuple[str, ...]]:
    """Yield the row of a counter; a trial that took no time, such as one that failed, has none."""
    counts = [
        (trial, count)
        for trial, part in found
        if (count := getattr(part, name)) is not None and trial.elapsed_ns > 0
    ]
    if not counts:
        return
    rates = [count * NANOSECONDS / trial.elapsed_ns for trial, count in counts]
    frames = sum(trial.sent_frames for trial, _ in counts)
    each = f"{sum(count for _, count in counts) / frames:.3g} bytes" if frames else ""
    yield (role, what, *spread(rates, human_byte_rate), each)
