"""What VPP says of itself beyond the counters of a trial: all nodes of all its threads. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from vsperf.drivers.vswitches.vpp.reading import Reading, of_thread

DAEMON = "daemon"


def insides(found: Reading, pools: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return what each thread has done by node, and what nodes count by reason.

    Nodes that were never called, and reasons that never came up, are missing.
    """
    threads = {
        f"{_name(thread)}: {node}": values
        for thread in range(len(found.calls))
        for at, node in enumerate(found.nodes)
        if (values := _values(found, thread, at))["calls"]
    }
    counted = {f"count_{name}": count for name, count in found.errors.items()}
    buffers = {f"buffers_{pool}": count for pool, count in pools.items()}
    return {**threads, DAEMON: {**counted, **buffers}}


def _name(thread: int) -> str:
    """Return what a thread is called; the main one forwards nothing where there are workers."""
    return "main thread" if thread == 0 else f"worker {thread}"


def _values(found: Reading, thread: int, at: int) -> dict[str, int]:
    return {
        "calls": of_thread(found.calls, thread, at),
        "frames": of_thread(found.vectors, thread, at),
        "cycles": of_thread(found.clocks, thread, at),
    }
