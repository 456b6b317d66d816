"""A part of the machine in which nothing can be harmed: for input that may do anything.

All file systems are read-only there but for one folder and an empty /run; processes and network
are its own, and of devices there are none but harmless ones. Only root can make it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SCRIPT = """
set -e
folder=$1; shift
mount --make-rprivate /
mount -t tmpfs -o size=512m,mode=755 none "$folder"
mkdir "$folder/dev"
for name in null zero full random urandom; do
    : > "$folder/dev/$name"
    mount --bind "/dev/$name" "$folder/dev/$name"
done
mount --rbind "$folder/dev" /dev
mount -t tmpfs -o size=16m,mode=755 none /run
cut -d ' ' -f 5 /proc/self/mountinfo | sort -u | while read -r place; do
    [ -e "$place" ] || continue # what was mounted over is out of reach
    case $place in "$folder"|"$folder"/*|/dev/*|/run) continue;; esac
    mount -o remount,bind,ro "$place" || [ ! -w "$place" ] || exit 1
done
for place in / /proc/sys /sys/kernel /tmp /dev "$HOME"; do
    [ ! -w "$place" ] || { echo "$place can be written to" >&2; exit 1; }
done
cd "$folder"
exec "$@"
"""


@contextmanager
def sandbox(argv: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a program in a sandbox, in which it can write to an empty `folder` alone."""
    unshared = ["unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child"]
    environ = {name: value for name, value in os.environ.items() if "VSPERF" not in name}
    with subprocess.Popen(
        [*unshared, "--mount-proc", "sh", "-c", SCRIPT, "sandbox", str(folder), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ | {"PYTHONPATH": ":".join(sys.path), "TMPDIR": str(folder)},
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # and the kernel ends whatever is in there
