"""What a capture of tgen says of time."""

from __future__ import annotations

import struct
from pathlib import Path


def times_s(file: Path) -> list[float]:
    """Return when each frame of a pcap file was seen."""
    content = file.read_bytes()
    found, at = [], 24
    while at < len(content):
        seconds, nanoseconds, length, _ = struct.unpack_from("=IIII", content, at)
        found.append(seconds + nanoseconds / 1e9)
        at += 16 + length
    return found
