"""What a program says of its version when it is asked for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from vsperf.errors import NotReadyError
from vsperf.waits import run

ANSWER_S = 10.0


def version_text(
    command: Sequence[str], name: str, environment: Mapping[str, str] | None = None
) -> str:
    """Return what a command for `--version` writes; raise `NotReadyError` where that is no answer.

    `name` is what people call the program, and `environment` what it is told beside the usual.
    """
    told = f"{name} does not tell its version"
    try:
        done = run(command, ANSWER_S, environment={**os.environ, **(environment or {})})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotReadyError(told, why=str(error)) from error
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()
        raise NotReadyError(told, why=words[-1] if words else f"exit code {done.returncode}")
    return done.stdout.strip()
