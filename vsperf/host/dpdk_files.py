"""What DPDK programs have outside of their own folder: sockets, and files that hold hugepages."""

from __future__ import annotations

import glob
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from vsperf.trust import trusted

RUN = Path("/run")
DEVICES = Path("/dev")


def sweep_dpdk(prefix: str) -> None:
    """Remove all of it whose name begins so."""
    for parent in _dpdk_folders():
        absent = suppress(FileNotFoundError, trusted.DistrustedError)
        with absent, trusted.opened(parent) as dpdk:
            for name in dpdk.names():
                if name.startswith(prefix):
                    dpdk.remove(name)
    for mount in DEVICES.glob("hugepages*"):
        for file in mount.glob(f"{glob.escape(prefix)}*map_*"):
            file.unlink(missing_ok=True)


def _dpdk_folders() -> tuple[Path, ...]:
    """Return where DPDK programs of this user have their sockets; root's are in /run only."""
    if os.geteuid() == 0:
        return (RUN / "dpdk",)
    own = os.environ.get("XDG_RUNTIME_DIR")
    parents = [Path(own)] if own else []
    return tuple(parent / "dpdk" for parent in (*parents, Path(tempfile.gettempdir())))
