"""What polling threads of OVS keep with `pmd-perf-metrics`: histograms, and each millisecond. Pure.

The daemon writes both behind the counters of a thread, in `dpif-netdev/pmd-perf-show`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

HISTOGRAMS = (
    "cycles/it", "packets/it", "cycles/pkt", "pkts/batch", "max vhost qlen", "upcalls/it",
    "cycles/upcall",
)  # fmt: skip
"""The daemon's names; each has two columns, its bound and its count."""
REST = ">"
"""The bound of what is above all others."""
ABOVE = "bin_more"
BIN = "bin_"
COLUMNS = 9
AT, FRAMES, CYCLES, QUEUE, UPCALLS = 0, 3, 4, 6, 7
LAST_MS = 1000
"""How far back the history is asked for."""


def histograms(body: str) -> dict[str, dict[str, int]]:
    """Return each histogram of a thread: how many were at most so much, and more than the last."""
    found: dict[str, dict[str, int]] = {name: {} for name in HISTOGRAMS}
    for words in _rows(body, 2 * len(HISTOGRAMS)):
        for name, bound, count in zip(HISTOGRAMS, words[::2], words[1::2], strict=True):
            found[name][ABOVE if bound == REST else f"{BIN}{bound}"] = int(count)
    return {name: bins for name, bins in found.items() if bins}


def milliseconds(body: str) -> dict[str, int]:
    """Return what the worst of the last milliseconds were like; nothing without a history."""
    _, head, history = body.partition("   ms  ")
    rows = [[int(word) for word in words] for words in _rows(history, COLUMNS)] if head else []
    known = [row for row in rows if row[AT] > 0]
    busy = [row for row in known if row[FRAMES] > 0]
    if not known:
        return {}
    found = {
        "milliseconds": len(known),
        "busy_milliseconds": len(busy),
        "longest_queue": max(row[QUEUE] for row in known),
        "upcalls_in_milliseconds": sum(row[UPCALLS] for row in known),
    }
    if busy:
        found["most_frames_in_ms"] = max(row[FRAMES] for row in busy)
        found["most_cycles_per_frame_in_ms"] = max(row[CYCLES] for row in busy)
    return found


def _rows(text: str, columns: int) -> Iterator[Sequence[str]]:
    """Yield lines of so many whole numbers; averages have a point, and heads are words."""
    for line in text.splitlines():
        words = line.split()
        if len(words) == columns and all(word.isdigit() or word == REST for word in words):
            yield words
