"""A run that was killed amid its deployment, with a program of it that still runs."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

KILLED = """
import os, signal, sys
from vsperf.host.lock import testbed_lock
from vsperf.host.process import managed
from vsperf.host.workspace import workspace
with testbed_lock("local", "20260101-first"), workspace("run 20260101-first") as place:
    with managed(["sleep", "100"], name="switch", workspace=place):
        print(place.folder, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def killed() -> Path:
    """Return the folder of a deployment whose owner was killed."""
    ended = subprocess.run(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    return Path(ended.stdout.strip())
