"""What Open vSwitch says of itself beyond the counters of a trial. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from vsperf.drivers.vswitches.ovs.parse import ThreadPerformance

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
