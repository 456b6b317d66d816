"""Where tests find programs that some distributions have among what is not free, or not at all."""

from __future__ import annotations

import os
import shutil

NAMED = {"netperf": "VSPERF_NETPERF", "wrk2": "VSPERF_WRK2"}
"""Program → the variable that names it."""


def named_program(program: str) -> str | None:
    """Return the program that its variable names, or the one in $PATH."""
    return os.environ.get(NAMED[program]) or shutil.which(program)


def why_not(program: str) -> str | None:
    """Return why there is none; None where there is."""
    return None if named_program(program) else f"no {NAMED[program]} names it, nor $PATH"
