"""How many files a process may have open: what parts of a run need, asked for beforehand.

Where there are too few, each part fails in its own words, and none of them says why: DPDK finds no
memory, or no frame comes back.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.host.files import Roots, integer

USUAL = 1024
"""What Linux gives where nobody has said otherwise."""
LEAST = 256
"""More than any part of a run was seen to have open."""
RIGHTS = re.compile(r"^CapEff:\s*([0-9a-f]+)$", re.MULTILINE)
SYS_RESOURCE = 24
"""The right to raise limits, as a bit of all rights that the kernel lists."""
FIX = f"ulimit -n {USUAL}; where that is refused, root raises it: /etc/security/limits.conf"


def allow_open_files() -> None:
    """Raise the limit of this process, and of what it starts, to the usual, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = USUAL if hard == resource.RLIM_INFINITY else min(USUAL, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def most_open_files(roots: Roots | None = None) -> int:
    """Return how many files a program may have open that raises its own limit as far as it may."""
    proc = (roots or Roots()).proc
    most = integer(proc / "sys" / "fs" / "nr_open") or USUAL
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or _may_raise_limits(proc):
        return most
    return min(hard, most)


def _may_raise_limits(proc: Path) -> bool:
    """Whether the kernel lets this process raise limits that others have set for it."""
    try:
        found = RIGHTS.search((proc / "self" / "status").read_text())
    except OSError:
        return False
    return found is not None and bool(int(found[1], 16) >> SYS_RESOURCE & 1)


def lacking(limit: int) -> str | None:
    """Return what is wrong with so many files; None where they suffice."""
    if limit >= LEAST:
        return None
    return f"no more than {limit} files may be open at once, and a run needs up to {LEAST}"


def require_open_files() -> None:
    """Raise `NotReadyError` where this process may have too few open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and (why := lacking(soft)):
        raise NotReadyError("the generator cannot be started", why=why, fix=FIX)
