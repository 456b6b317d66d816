"""What is kept of a run that was refused before it had a folder.

Without it `latest` would mean the run before, and a job that failed would show what another found.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from vsperf import trusted
from vsperf.errors import UsageError

FILE = ".refused.json"
MOST_CHARACTERS = 300
"""Of what is told of it."""
MOST_BYTES = 1 << 20


def note(results: Path, argv: Sequence[str], why: str) -> None:
    """Note what was to be run and did not begin, so that nobody takes an older run for it.

    Where there is no run yet, there is none to be mistaken for another, and nothing is made.
    """
    if not _holds_folders(results):
        return
    at = datetime.now(UTC).isoformat(timespec="seconds")
    told = {"at": at, "argv": list(argv), "why": why[:MOST_CHARACTERS]}
    content = f"{json.dumps(told)}\n".encode()
    with contextlib.suppress(OSError):
        trusted.replace_plain(_file(results), content, f"{FILE}.")


def _file(results: Path) -> Path:
    """Return where it is kept; a folder of results may be a link, and what is in it may not."""
    return results.resolve() / FILE


def _holds_folders(results: Path) -> bool:
    try:
        return any(entry.is_dir() for entry in results.iterdir())
    except OSError:
        return False


def forget(results: Path) -> None:
    """Forget it, as a run has begun since."""
    with contextlib.suppress(OSError):
        (results / FILE).unlink(missing_ok=True)


def refuse_stale(results: Path, latest: Path) -> None:
    """Refuse to take a run for the latest that was not the last to be asked for."""
    try:
        descriptor = trusted.open_plain(_file(results), os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as opened:
            told = json.loads(opened.read(MOST_BYTES))
        at, why = str(told["at"]), str(told["why"])
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        at, why = "some time ago", "what was kept of it cannot be read"
    raise UsageError(
        "the latest run was refused before it began, so it found nothing",
        why=f"{at}: {why}",
        fix=f"the run before it is {latest.name}: name that if you mean it, or give "
        "`vsperf run` a label and name the run by KEY=VALUE",
    )
