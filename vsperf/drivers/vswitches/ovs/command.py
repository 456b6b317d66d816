"""Running one of OVS's short commands to its end."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from vsperf.errors import ComponentError
from vsperf.waits import run


def command(name: str, argv: list[str], environment: Mapping[str, str], patience_s: float) -> str:
    """Run a short command; what it complains of becomes the error."""
    try:
        done = run(argv, patience_s, environment=environment)
    except subprocess.TimeoutExpired as error:
        raise ComponentError(f"{name} did not end within {patience_s:.0f} s") from error
    except OSError as error:
        raise ComponentError(f"{name} cannot be run", why=error.strerror) from error
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip()
        raise ComponentError(f"{name} failed", why=said or f"exit code {done.returncode}")
    return done.stdout
