"""Where tests find netperf: some distributions have it among what is not free, or not at all."""

from __future__ import annotations

import os
import shutil

NETPERF_VARIABLE = "VSPERF_NETPERF"


def netperf_path() -> str | None:
    """Return the program that the variable names, or the one in $PATH."""
    return os.environ.get(NETPERF_VARIABLE) or shutil.which("netperf")
