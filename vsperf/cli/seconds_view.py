"""The seconds of a long trial as CSV: a row for each, units in the headers, empty where unknown."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator

from vsperf.records.trial import DirectionSample, Second

COMMON = ("elapsed_s", "switch_frames", "switch_busy_cycles", "kept_from_running_ns")
EACH_WAY = ("sent", "received", "refused", "lost", "latency_p50_ns", "latency_p99_ns")


def write_seconds(seconds: Iterable[Second]) -> int:
    """Write a table of seconds to stdout as they come; return how many there were.

    Frames count since the trial began, all else since the second before.
    """
    out, count = csv.writer(sys.stdout, lineterminator="\n"), 0
    for count, second in enumerate(seconds, start=1):
        if count == 1:
            names = [way.name.replace(" ", "_") for way in second.sample.directions]
            columns = [f"{name}_{column}" for name in names for column in EACH_WAY]
            out.writerow([*COMMON, *columns])
        out.writerow(list(_row(second)))
    return count


def _row(second: Second) -> Iterator[object]:
    yield f"{second.sample.elapsed_ns / 1e9:.3f}"
    pmds = second.switch.pmds if second.switch is not None else ()
    yield sum(pmd.frames for pmd in pmds) if pmds else None
    yield sum(pmd.busy_cycles for pmd in pmds) if pmds else None
    yield sum(thread.kept_ns for thread in second.threads) if second.threads else None
    for way in second.sample.directions:
        yield from _counted(way)


def _counted(way: DirectionSample) -> Iterator[object]:
    yield way.sent_frames
    yield way.received_frames
    yield way.refused_frames
    yield way.lost_frames
    yield way.latency.p50_ns if way.latency is not None else None
    yield way.latency.p99_ns if way.latency is not None else None
