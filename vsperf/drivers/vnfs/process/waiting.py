"""A program that waits for sockets, and then becomes another program.

DPDK's virtio_user gives up at once where nobody listens yet, and VNFs are started before the
switch. What waits here keeps its process number, so it is watched and ended like what it becomes.

    vsperf.drivers.vnfs.process.waiting SOCKET… -- PROGRAM ARGUMENT…
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

POLL_S = 0.01


def main(arguments: list[str]) -> None:
    """Wait for as long as it takes: whoever started this has a deadline."""
    middle = arguments.index("--")
    sockets, command = arguments[:middle], arguments[middle + 1 :]
    while not all(Path(path).is_socket() for path in sockets):
        time.sleep(POLL_S)  # between two looks at a condition, never instead of one
    os.execvp(command[0], command)  # noqa: S606 - an argument vector of our own


if __name__ == "__main__":
    main(sys.argv[1:])
