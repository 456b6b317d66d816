"""From what the daemon prints to typed values. Pure; what it does not say is missing, never 0."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from vsperf.records.switch import AddressCounts

PORT = re.compile(r"^.*?port (?P<number>\d+): (?P<name>\S+)(?: \((?P<about>[^)]*)\))?$", re.M)
THREAD = re.compile(r"^pmd thread numa_id (?P<node>\d+) core_id (?P<cpu>\d+):|^main thread:", re.M)
QUEUE = re.compile(
    r"port: (?P<port>\S+)\s+queue-id:\s*(?P<queue>\d+)(?: \((?P<state>\w+)\))?"
    r"(?:\s+pmd usage:\s*(?P<usage>\d+|NOT AVAIL))?"
)
OPENFLOW_PORT = re.compile(r"^  port +(?P<number>\d+): ", re.M)
CUSTOM_DROPS = re.compile(r"\bovs_(\w+_drops)=(\d+)")
ADDRESSES = {
    "learned": "learned MAC entries",
    "evicted": "evicted MAC entries",
    "expired": "expired MAC entries",
}
"""Our names, and how those of the daemon end."""
RULES = re.compile(r"packet_count=(?P<frames>\d+).*flow_count=(?P<rules>\d+)")
COVERAGE = re.compile(r"^(?P<name>\w+)\s.*total: (?P<total>\d+)\s*$", re.M)
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
AT, FRAMES, CYCLES, LENGTH, UPCALLS = 0, 3, 4, 6, 7
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
        "longest_queue": max(row[LENGTH] for row in known),
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


@dataclass(frozen=True, slots=True)
class PortStatistics:
    """One port of the datapath; counters that it has not are left out."""

    name: str
    about: str
    """What the datapath says of its type and queues."""
    received: dict[str, int] = field(default_factory=dict)
    """By the daemon's names, such as `packets` and `dropped`."""
    sent: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ThreadStatistics:
    """One polling thread, or the main thread, which has no CPU of its own."""

    cpu: int | None
    node: int | None
    counters: dict[str, int]
    """By the daemon's names, such as `emc hits`."""


@dataclass(frozen=True, slots=True)
class ThreadPerformance:
    """What a polling thread did since it was last asked to forget."""

    cpu: int
    counters: dict[str, int]
    """By the daemon's names, such as `busy iterations`."""
    histograms: dict[str, dict[str, int]] = field(default_factory=dict)
    """By the daemon's names, such as `cycles/pkt`; none unless it keeps metrics."""
    milliseconds: dict[str, int] = field(default_factory=dict)
    """What the worst of the last milliseconds were like; nothing unless it keeps metrics."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A receive queue, and who polls it."""

    cpu: int
    port: str
    number: int
    enabled: bool | None
    usage_percent: int | None
    """Share of the thread's time; None as long as it is not known."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Rules, and what they matched, over all of them."""

    rules: int | None
    frames: int | None


def matched(text: str) -> Matched:
    """Read `dump-aggregate`."""
    found = RULES.search(text)
    return Matched(int(found["rules"]), int(found["frames"])) if found else Matched(None, None)


def port_statistics(text: str) -> tuple[PortStatistics, ...]:
    """Read `dpctl/show -s`.

    A port without counters swallows the line break before the next one.
    """
    found = []
    for head, body in _sections(PORT, text):
        found.append(
            PortStatistics(
                name=head["name"],
                about=head["about"] or "",
                received=_line(body, "RX packets"),
                sent=_line(body, "TX packets"),
            )
        )
    return tuple(found)


def thread_statistics(text: str) -> tuple[ThreadStatistics, ...]:
    """Read `dpif-netdev/pmd-stats-show`."""
    found = []
    for head, body in _sections(THREAD, text):
        cpu, node = head["cpu"], head["node"]
        found.append(
            ThreadStatistics(
                cpu=None if cpu is None else int(cpu),
                node=None if node is None else int(node),
                counters=_named_counters(body),
            )
        )
    return tuple(found)


def thread_performance(text: str) -> tuple[ThreadPerformance, ...]:
    """Read `dpif-netdev/pmd-perf-show`."""
    return tuple(
        ThreadPerformance(
            int(head["cpu"]), _named_counters(body), histograms(body), milliseconds(body)
        )
        for head, body in _sections(THREAD, text)
        if head["cpu"] is not None
    )


def queues(text: str) -> tuple[Queue, ...]:
    """Read `dpif-netdev/pmd-rxq-show`."""
    found = []
    for head, body in _sections(THREAD, text):
        if head["cpu"] is None:
            continue
        for match in QUEUE.finditer(body):
            state, usage = match["state"], match["usage"]
            found.append(
                Queue(
                    cpu=int(head["cpu"]),
                    port=match["port"],
                    number=int(match["queue"]),
                    enabled=None if state is None else state == "enabled",
                    usage_percent=int(usage) if usage and usage.isdigit() else None,
                )
            )
    return tuple(found)


def custom_drops(text: str) -> dict[int, dict[str, int]]:
    """Read the drop counters of `ovs-ofctl dump-ports`, by OpenFlow port number.

    A port of the kind `dpdkvhostuser` has no others (seen with OVS 3.1).
    """
    return {
        int(head["number"]): {name: int(count) for name, count in CUSTOM_DROPS.findall(body)}
        for head, body in _sections(OPENFLOW_PORT, text)
    }


def addresses(text: str) -> AddressCounts | None:
    """Read `fdb/stats-show`; None of a daemon that says less."""
    held = re.search(r"entries in the table: *(\d+)/(\d+)", text)
    counts = {name: re.search(rf"{words} *: *(\d+)", text) for name, words in ADDRESSES.items()}
    if held is None or not all(counts.values()):
        return None
    return AddressCounts(
        known=int(held[1]),
        most=int(held[2]),
        **{name: int(count[1]) for name, count in counts.items() if count is not None},
    )


def coverage(text: str) -> dict[str, int]:
    """Read the totals of `coverage/show`; events that never happened are not in it."""
    return {match["name"]: int(match["total"]) for match in COVERAGE.finditer(text)}


def _sections(head: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match of `head` with the text up to the next one."""
    for match, following in pairwise((*head.finditer(text), None)):
        if match is not None:
            yield match, text[match.end() : following.start() if following else len(text)]


def _line(body: str, first: str) -> dict[str, int]:
    """Read `RX packets:1 errors:? dropped:0`; a question mark is a counter that is not there."""
    line = re.search(rf"{first}:.*", body)
    pairs = re.findall(r"(\w+):(\d+)", line[0]) if line else []
    return {name: int(count) for name, count in pairs}


def _named_counters(body: str) -> dict[str, int]:
    """Read lines of `name: count`, with anything behind; averages are no counters."""
    pairs = re.findall(r"^[ -]*([A-Za-z][^:\n]*?):\s+(\d+)(?![\d.])", body, re.M)
    return {name: int(count) for name, count in pairs}


NAMES = {
    "Iterations": "iterations",
    "idle iterations": "idle_iterations",
    "busy iterations": "busy_iterations",
    "sleep iterations": "sleep_iterations",
    "Used TSC cycles": "used_cycles",
    "Rx packets": "received_frames",
    "Datapath passes": "passes",
    "Upcalls": "upcalls",
    "Lost upcalls": "lost_upcalls",
    "Tx packets": "sent_frames",
    "Tx batches": "sent_batches",
}
"""The daemon's names of what a polling thread does, and ours. What the caches answered is not among
them: that is in the record of a trial."""
DAEMON = "daemon"


def insides(
    threads: tuple[ThreadPerformance, ...], coverage: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """Return what is counted, by thread and for the daemon as a whole.

    What the daemon names as nothing it did is missing there, and so it is here.
    """
    found: dict[str, dict[str, int]] = {
        f"pmd on CPU {thread.cpu}": {
            ours: thread.counters[name] for name, ours in NAMES.items() if name in thread.counters
        }
        for thread in threads
    }
    for thread in threads:
        name = f"pmd on CPU {thread.cpu}"
        found |= {f"{name}: {what}": bins for what, bins in thread.histograms.items()}
        if thread.milliseconds:
            found[f"{name}: last second"] = dict(thread.milliseconds)
    return {**found, DAEMON: {f"coverage_{name}": count for name, count in coverage.items()}}
