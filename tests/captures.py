"""What captures say: of time, and of each frame in the words of tshark."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
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


def dissected(
    file: Path, fields: Sequence[str], only: str = "", *, whole: bool = True
) -> list[dict[str, str]]:
    """Return fields of each frame, or of `only` some, with checksums looked at.

    Those that occur more than once are joined by commas. A file that is being written is not
    `whole`.
    """
    argv = ["tshark", "-n", "-r", str(file), "-T", "fields", "-E", "occurrence=a", "-Y", only]
    for layer in ("ip", "udp", "tcp"):
        argv += ["-o", f"{layer}.check_checksum:TRUE"]
    argv += [part for field in fields for part in ("-e", field)]
    done = subprocess.run(argv, capture_output=True, text=True, check=whole)
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
