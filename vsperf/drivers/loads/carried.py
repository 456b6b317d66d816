"""A program of this machine as a guest can run it: with the libraries that it needs.

The image that guests have stays as small as it is. What only a few of them need comes as an archive
of its own, which a kernel unpacks over the first.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from vsperf.drivers.loads.initrd import initrd_of
from vsperf.errors import NotReadyError
from vsperf.trust.programs import whole
from vsperf.waits import run

ANSWER_S = 30.0
LIBRARY = re.compile(r"(?:=> |^\s*)(/\S+) \(", re.MULTILINE)
MISSING = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
LOADER = "ld-linux"


def carried(program: Path) -> bytes:
    """Return an archive with a program in /usr/bin, and its libraries where its loader looks."""
    files = {f"usr/bin/{program.name}": program, **_places(libraries_of(program))}
    return initrd_of({place: path.read_bytes() for place, path in files.items()})


def libraries_of(program: Path) -> tuple[Path, ...]:
    """Return the shared objects that a program is loaded with; its loader is one of them."""
    try:
        done = run(["ldd", whole(program)], ANSWER_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotReadyError(f"what {program} needs cannot be told", why=str(error)) from error
    if missing := MISSING.findall(done.stdout):
        raise NotReadyError(
            f"{program} does not run on this machine",
            why=f"it needs {', '.join(missing)}, which is not there",
            fix="install it anew",
        )
    return tuple(Path(path) for path in LIBRARY.findall(done.stdout))


def _places(libraries: tuple[Path, ...]) -> dict[str, Path]:
    """Return where the guest has each: beside its libc, where its loader looks without being told.

    Only the loader itself is at the very place that is written in programs.
    """
    libc = next((path for path in libraries if path.name.startswith("libc.so")), None)
    home = "lib" if libc is None else str(libc.parent).removeprefix("/usr").strip("/")
    return {
        str(path).strip("/") if path.name.startswith(LOADER) else f"{home}/{path.name}": path
        for path in libraries
    }
