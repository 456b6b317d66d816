"""How programs are found: by whole paths, whatever folder they are run in.

A program that looks into its working directory, as QEMU does for firmware, must not find what a
stranger has put there. So vsperf runs none where it was called itself. What users name from there
is made whole before, and a program is the one that a shell would have taken.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

FOLDERS_OF_ROOT = "/usr/sbin:/sbin"
"""Where distributions have servers: not every path leads there, not even each of root's."""
NOWHERE = "/"
"""Where a program runs that has no folder of its own: only root can put something there."""


def program_path(program: str, environment: Mapping[str, str] | None = None) -> str | None:
    """Return where a program is, as a shell finds it, by its whole path; None if there is none."""
    variables = os.environ if environment is None else environment
    place = shutil.which(program, path=variables.get("PATH"))
    return None if place is None else whole(place)


def whole(path: str | Path) -> str:
    """Return the path from the root; links on the way stay as they are."""
    return str(Path(path).absolute())
