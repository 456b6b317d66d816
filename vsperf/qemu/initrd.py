"""Initial RAM disks of a few programs, as archives (cpio, `newc`) that a kernel unpacks.

The image that guests have stays as small as it is. What only a few of them need, such as a program
of this machine with its libraries, comes as an archive that is unpacked over the first.
"""

from __future__ import annotations

import re
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.trust.programs import whole
from vsperf.waits import run

MAGIC = b"070701"
TRAILER = "TRAILER!!!"
PROGRAM_MODE = stat.S_IFREG | 0o755
FOLDER_MODE = stat.S_IFDIR | 0o755
ALIGNED = 4


def initrd_of(programs: Mapping[str, bytes]) -> bytes:
    """Return the archive with programs by their places, and the folders that these are in."""
    folders = sorted({folder for place in programs for folder in _folders(place)})
    entries = [(name, b"", FOLDER_MODE) for name in folders]
    entries += [(place, content, PROGRAM_MODE) for place, content in programs.items()]
    archive = b"".join(_entry(*one, number) for number, one in enumerate(entries, 1))
    return archive + _entry(TRAILER, b"", 0, 0)


def joined(first: bytes, second: bytes) -> bytes:
    """Return two archives as one disk: a kernel unpacks both, compressed or not."""
    return _padded(first) + second


def _folders(place: str) -> tuple[str, ...]:
    parts = place.split("/")[:-1]
    return tuple("/".join(parts[: count + 1]) for count in range(len(parts)))


def _entry(name: str, content: bytes, mode: int, number: int) -> bytes:
    named = name.encode() + b"\0"
    # inode, mode, user, group, links, time, size, two devices of two numbers, name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(named), 0)
    head = MAGIC + b"".join(b"%08X" % field for field in fields) + named
    return _padded(head) + _padded(content)


def _padded(text: bytes) -> bytes:
    return text + b"\0" * (-len(text) % ALIGNED)


ANSWER_S = 30.0
LIBRARY = re.compile(r"(?:=> |^\s*)(/\S+) \(", re.MULTILINE)
MISSING = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
LOADER = "ld-linux"


def carried(*programs: Path) -> bytes:
    """Return an archive with programs in /usr/bin, and their libraries where loaders look."""
    files: dict[str, Path] = {}
    for program in programs:
        files |= {f"usr/bin/{program.name}": program, **_places(libraries_of(program))}
    return initrd_of({place: path.read_bytes() for place, path in files.items()})


def libraries_of(program: Path) -> tuple[Path, ...]:
    """Return the shared objects that a program is loaded with; its loader is one of them."""
    try:
        done = run(["ldd", whole(program)], ANSWER_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotReadyError(
            f"what {program} needs cannot be told",
            why=str(error),
            fix="install ldd, which is in the package libc-bin",
        ) from error
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
