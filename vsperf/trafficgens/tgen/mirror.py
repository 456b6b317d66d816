"""A mirror of vhost-user ports: DPDK's testpmd, which forwards without looking at a frame.

DPDK cannot join a vhost port and a virtio_user port of one process: each waits for the other while
the process starts. So the nearest thing to such a pair is a second process that does next to
nothing.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vsperf.errors import ComponentError, NotReadyError
from vsperf.trafficgens.tgen.command import ORDINARY_MEMORY_MB
from vsperf.trafficgens.tgen.process import runtime_folder

PROGRAM = "dpdk-testpmd"
NAME = "vsperf-mirror-"
START_S = 20.0
STOP_S = 5.0


@contextmanager
def mirror(cpu: int) -> Iterator[tuple[str, str]]:
    """Run the mirror on a CPU; gives the devices by which tgen reaches its two ports."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise NotReadyError(
            f"the program {PROGRAM} is not installed",
            why="it mirrors frames between two vhost-user ports",
            fix="install the package dpdk, or take --loop memif or --loop ring",
        )
    name = f"{NAME}{os.getpid()}-{secrets.token_hex(3)}"
    sockets = tuple(runtime_folder() / f"{name}-{number}" for number in range(2))
    argv = [program, "--no-pci", "--no-huge", "--no-shconf", "-m", str(ORDINARY_MEMORY_MB)]
    argv += [f"--file-prefix={name}", f"--lcores=0@{cpu},1@{cpu}"]
    argv += [f"--vdev=net_vhost{n},iface={path}" for n, path in enumerate(sockets)]
    argv += ["--", "--auto-start", "--forward-mode=io", "--stats-period=600", "--no-mlockall"]
    argv += ["--total-num-mbufs=32768", "--txd=1024", "--rxd=1024"]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(  # noqa: S603 - an argument vector of our own
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_for(sockets, process)
            first, second = (
                f"net_virtio_user{n},path={path},queue_size=1024" for n, path in enumerate(sockets)
            )
            yield first, second
        finally:
            _stop(process)
            for path in sockets:
                path.unlink(missing_ok=True)
            shutil.rmtree(Path("/run/dpdk", name), ignore_errors=True)


def _wait_for(sockets: tuple[Path, ...], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while not all(path.is_socket() for path in sockets):
        if process.poll() is not None or time.monotonic() > deadline:
            raise ComponentError(f"{PROGRAM} did not open its ports")
        time.sleep(0.01)  # between two looks at a condition, never instead of one


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_S)
        return
    process.kill()
    process.wait()
