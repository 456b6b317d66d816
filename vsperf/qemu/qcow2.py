"""What a qcow2 image names beside itself: files that QEMU opens for it, with the rights of root.

Whoever made an image has written these names, and the guest reads what they lead to: a file of
root's, or a disk of the host. So they are looked at before QEMU is, by what is in the header.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vsperf.trust.trusted import callers, opened_file, why_not

MAGIC = b"QFI\xfb"
HEAD = struct.Struct(">4sIQI")
"""Magic, version, and where the name of a backing file lies, with its length; 0 for none."""
FEATURES, FEATURES_AT = struct.Struct(">Q"), 72
LENGTH, LENGTH_AT = struct.Struct(">I"), 100
EXTENSION = struct.Struct(">II")
"""Kind and length of what follows; padded to eight bytes."""
BACKING_FORMAT, NO_MORE = 0xE2792ACA, 0
DATA_ELSEWHERE = 1 << 2
"""The feature of an image whose data are in another file."""
MOST_READ = 2 << 20
"""Bytes of a header: it lies in the first cluster, and none is larger."""
LONGEST_NAME = 1023
LAYOUTS = ("raw", "qcow2")
"""Formats of a backing file that are read; one of another kind may name files in its own way."""
MOST_BEHIND = 16
"""Images that may lie behind one."""


@dataclass(frozen=True, slots=True)
class Named:
    """What an image says of other files."""

    backing: str = ""
    layout: str = ""
    """Format of the backing file; nothing where it is left to QEMU to guess it."""
    data_elsewhere: bool = False


def named_in(header: bytes) -> Named:
    """Read a header; raises ValueError where it is none."""
    try:
        magic, version, at, size = HEAD.unpack_from(header)
        features, length = 0, FEATURES_AT
        if version >= 3:
            features = FEATURES.unpack_from(header, FEATURES_AT)[0]
            length = LENGTH.unpack_from(header, LENGTH_AT)[0]
        if magic != MAGIC or size > LONGEST_NAME or at + size > len(header):
            raise ValueError("its header is damaged")
        found = dict(_extensions(header[:at], length))  # QEMU looks no further than to the name
    except struct.error as error:
        raise ValueError("its header is cut off") from error
    name = header[at : at + size] if at else b""
    return Named(
        name.decode(errors="surrogateescape"),
        found.get(BACKING_FORMAT, b"").decode(errors="replace"),
        bool(features & DATA_ELSEWHERE),
    )


def _extensions(header: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    while at + EXTENSION.size <= len(header):
        kind, size = EXTENSION.unpack_from(header, at)
        if kind == NO_MORE:
            return
        at += EXTENSION.size
        yield kind, header[at : at + size]
        at += -(-size // 8) * 8


def why_exchanged(path: Path) -> str | None:
    """Return why root opens another file than the one that is looked at now; None if it does not.

    Raises OSError where there is none.
    """
    if os.geteuid() == 0 and (reason := why_not(path, callers(os.environ))) is not None:
        return f"another user can put something else in its place before QEMU opens it: {reason}"
    return None


def why_not_alone(image: Path) -> str | None:
    """Return why an image would have QEMU open what does not lie beside it; None if it would not.

    Raises OSError and ValueError where it cannot be read.
    """
    folder = image.resolve().parent
    for _ in range(MOST_BEHIND):
        if reason := why_exchanged(image):
            return reason
        with opened_file(image) as file:
            named = named_in(file.read(MOST_READ))
        if named.data_elsewhere:
            return "its data are in another file, which it names"
        if not named.backing:
            return None
        behind = (image.parent / named.backing).resolve()
        if reason := _why_not_behind(named, behind, folder):
            return reason
        if named.layout == "raw":
            return why_exchanged(behind)
        image = behind
    return f"more than {MOST_BEHIND} images lie behind it"


def _why_not_behind(named: Named, behind: Path, folder: Path) -> str | None:
    if ":" in named.backing or behind.parent != folder or not behind.is_file():
        return f"its backing file {named.backing} is no file that lies beside it"
    if named.layout not in LAYOUTS:
        return f"it does not say that its backing file is {' or '.join(LAYOUTS)}"
    return None
