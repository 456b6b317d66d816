"""Where a program is that somebody else installed, and which version it says it is."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from vsperf.errors import NotReadyError
from vsperf.host.versions import ANSWER_S
from vsperf.trust.programs import whole
from vsperf.waits import run


def located(
    name: str,
    path: str | None,
    install: str,
    search: str | None = None,
    setting: str = "program.path",
) -> str:
    """Return the whole path of a program: the one that is named, or the one in $PATH.

    Raises `NotReadyError` with how to install it where there is none.
    """
    place = shutil.which(path or name, path=search)
    if place is None:
        raise NotReadyError(
            f"the program {path or name} cannot be run",
            why="it is not installed" if path is None else f"{setting} names no program",
            fix=f"{install}, or name one: --set {setting}=PATH",
        )
    return whole(place)


def words_of(command: Sequence[str]) -> str:
    """Return what a program says when it is asked, whatever its exit code and wherever to."""
    try:
        done = run(command, ANSWER_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotReadyError(f"{command[0]} does not tell its version", why=str(error)) from error
    return f"{done.stdout}{done.stderr}".strip()


def version_in(text: str, pattern: str, name: str, program: str) -> str:
    """Return the version in what a program says of itself; `NotReadyError` where there is none."""
    found = re.match(pattern, text)
    if found is None:
        raise NotReadyError(
            f"{program} is no {name}",
            why=f"asked for its version it says {text.partition(chr(10))[0]!r}",
            fix="name another one: --set program.path=PATH",
        )
    return found[1]
