"""A program that becomes another program in a network namespace, on some CPUs, at an instant.

    python3 -I -S enter_network.py NETWORK CPUS INSTANT BYTES PROGRAM ARGUMENT…

NETWORK is the file of the namespace, CPUS such as 1 or 0,2, and INSTANT nanoseconds of the
monotonic clock: whoever is late begins at once. What becomes the program keeps its process number.
It may have as many files open as the system lets it: each connection is one. None that it writes
gets longer than BYTES; the kernel ends who goes on, as logs are in memory. It imports nothing of
vsperf, so it starts at once.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time

CLONE_NEWNET = 0x40000000
NOT_ENTERED, NOT_RUN = 125, 126
"""How it ends when it becomes nothing."""


def main(arguments: list[str]) -> int:
    """Enter the network and become the program; returns only where that cannot be."""
    if len(arguments) < 5:
        usage = "enter_network.py NETWORK CPUS INSTANT BYTES PROGRAM ARGUMENT…"
        return _refused(f"usage: {usage}", 2)
    network, cpus, instant, longest, *program = arguments
    library = ctypes.CDLL(None, use_errno=True)
    try:
        descriptor = os.open(network, os.O_RDONLY | os.O_CLOEXEC)
        if library.setns(descriptor, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        os.sched_setaffinity(0, {int(one) for one in cpus.split(",")})
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        room = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        room = int(longest) if room == resource.RLIM_INFINITY else min(room, int(longest))
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python's own choice would be passed on
    except OSError as error:
        return _refused(f"cannot enter {network} on CPU {cpus}: {error.strerror}", NOT_ENTERED)
    while (left := int(instant) - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)
    try:
        os.execv(program[0], program)  # noqa: S606 - what the caller asked for
    except OSError as error:
        return _refused(f"cannot run {program[0]}: {error.strerror}", NOT_RUN)


def _refused(reason: str, code: int) -> int:
    sys.stderr.write(f"vsperf: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
