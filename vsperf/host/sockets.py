"""Who listens where, as the kernel has it: a socket is there some time before anybody can call.

The kernel tells of programs in this network only, and not of those in one apart, such as OVS.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from vsperf.host.files import Roots

LISTENS = 0x10000
"""The flag of a socket that is called at."""
FLAGS, PATH = 3, 7
"""Columns of the kernel's list."""


def all_listened_at(paths: Collection[Path], roots: Roots | None = None) -> bool:
    """Say whether a program of this network listens at each of these sockets."""
    return listened_at(paths, roots) == set(paths)


def listened_at(paths: Iterable[Path], roots: Roots | None = None) -> set[Path]:
    """Return those of these sockets at which a program of this network listens."""
    try:
        lines = ((roots or Roots()).proc / "net" / "unix").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    rows = (line.split(maxsplit=PATH) for line in lines[1:])
    found = {row[PATH] for row in rows if len(row) > PATH and int(row[FLAGS], 16) & LISTENS}
    return {path for path in paths if str(path) in found}
