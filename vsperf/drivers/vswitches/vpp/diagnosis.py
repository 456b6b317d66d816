"""What to tell a user when VPP does not come up: from its log. Pure."""

from __future__ import annotations

import re

from vsperf.errors import ComponentError, NotReadyError, VsperfError

MEMORY_FIX = "reserve hugepages (sysctl vm.nr_hugepages=512), or do with fewer: vswitch.buffers"
CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"failed to allocate buffer pool|falling back to non-hugepage|Cannot allocate memory",
        "there are too few free hugepages for its buffers",
        MEMORY_FIX,
    ),
    (
        r"main heap allocation failure",
        "there is too little memory for its heap",
        "do with less: vswitch.heap",
    ),
    (
        r"cpu \d+ is not available|CPU \d+ is not available|affinity",
        "it cannot run on the CPUs that it was given",
        "see `vsperf plan`, and choose others: vswitch.main_cpu, vswitch.worker_cpus",
    ),
    (
        r"error while loading shared libraries",
        "its libraries are not where it looks for them",
        "name the folder that VPP was installed under as a whole: vswitch.install",
    ),
    (
        r"unknown input|unknown config|parse error",
        "this version does not know a line of the start-up configuration",
        "see `vsperf plan` for the lines, and docs/how-to/measure-vpp.md for versions",
    ),
)
"""What a line of the log looks like, what it means, and what helps."""
COMPLAINT = re.compile(r"error|fail|unknown|cannot|refus|warn|abort|not available", re.IGNORECASE)


def complaints(log: str) -> tuple[str, ...]:
    """Return the lines of a log that complain of something, each once."""
    lines = (line.strip() for line in log.splitlines())
    return tuple(dict.fromkeys(line for line in lines if COMPLAINT.search(line)))


def not_started(log: str, obituary: str) -> VsperfError:
    """Return the error for a daemon that ended while it started."""
    said = complaints(log)
    for text in said:
        for pattern, why, fix in CAUSES:
            if re.search(pattern, text):
                return NotReadyError("VPP did not start", why=f"{why}: {text}", fix=fix)
    why = "; ".join((obituary, *said[:3]))
    return ComponentError("VPP did not start", why=why)
