"""Where DPDK programs of this user keep their sockets and locks while they run."""

from __future__ import annotations

import os
from pathlib import Path


def dpdk_files(prefix: str) -> Path:
    """Return the folder of the programs with a file prefix, by DPDK's rule."""
    base = "/run" if os.getuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp")
    return Path(base, "dpdk", prefix)
