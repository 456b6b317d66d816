"""A mirror of vhost-user ports: DPDK's testpmd, which forwards without looking at a frame.

DPDK cannot join a vhost port and a virtio_user port of one process: each waits for the other while
the process starts. So the nearest thing to such a pair is a second process that does next to
nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from vsperf.errors import NotReadyError
from vsperf.host.process import managed
from vsperf.host.workspace import Workspace, given_or_own
from vsperf.trafficgens.tgen.command import ORDINARY_MEMORY_MB

PROGRAM = "dpdk-testpmd"
NAME = "mirror"
START_S = 20.0


@contextmanager
def mirror(cpu: int, workspace: Workspace | None = None) -> Iterator[tuple[str, str]]:
    """Run the mirror on a CPU; gives the devices by which tgen reaches its two ports."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise NotReadyError(
            f"the program {PROGRAM} is not installed",
            why="it mirrors frames between two vhost-user ports",
            fix="install the package dpdk, or take --loop memif or --loop ring",
        )
    with given_or_own(workspace, "a mirror for a traffic generator") as place:
        sockets = tuple(place.folder / f"{NAME}{number}.sock" for number in range(2))
        argv = [program, "--no-pci", "--no-huge", "--no-shconf", "-m", str(ORDINARY_MEMORY_MB)]
        argv += [f"--file-prefix={place.name}-{NAME}", f"--lcores=0@{cpu},1@{cpu}"]
        argv += [f"--vdev=net_vhost{n},iface={path}" for n, path in enumerate(sockets)]
        argv += ["--", "--auto-start", "--forward-mode=io", "--stats-period=600", "--no-mlockall"]
        argv += ["--total-num-mbufs=32768", "--txd=1024", "--rxd=1024"]
        with managed(
            argv,
            name=NAME,
            workspace=place,
            ready=lambda: all(path.is_socket() for path in sockets),
            timeout_s=START_S,
        ):
            first, second = (
                f"net_virtio_user{n},path={path},queue_size=1024" for n, path in enumerate(sockets)
            )
            yield first, second
