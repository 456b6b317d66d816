"""Where a program is that somebody else installed, and which version it says it is."""

from __future__ import annotations

import re
import shutil

from vsperf.errors import NotReadyError
from vsperf.trust.programs import whole


def located(name: str, path: str | None, install: str, search: str | None = None) -> str:
    """Return the whole path of a program: the one that is named, or the one in $PATH.

    Raises `NotReadyError` with how to install it where there is none.
    """
    place = shutil.which(path or name, path=search)
    if place is None:
        raise NotReadyError(
            f"the program {path or name} cannot be run",
            why="it is not installed" if path is None else "program.path names no program",
            fix=f"{install}, or name one: --set program.path=PATH",
        )
    return whole(place)


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
