"""A mirror of vhost-user ports: DPDK's testpmd, which forwards without looking at a frame.

It stands in for a switch where a generator is to be measured, and not the switch.

DPDK cannot join a vhost port and a virtio_user port of one process: each waits for the other while
the process starts. So the nearest thing to such a pair is a second process that does next to
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from vsperf.dpdk.command import PROGRAM, lcores
from vsperf.errors import NotReadyError
from vsperf.host.process import managed
from vsperf.host.procfs import all_listened_at
from vsperf.host.workspace import Workspace, given_or_own
from vsperf.trust.programs import program_path

NAME = "mirror"
MEMORY_MB = 512
START_S = 20.0
SIDES = range(2)
BACKEND = "net_vhost{},iface={}"
FRONTEND = "net_virtio_user{{}},path={{}},queue_size={}"
UNDER_WAY = "while it was measured what the generator can do"
"""When a mirror is looked at that may have died."""
METHOD = "vhost-user ports{} against a forwarder that looks at no frame"


@contextmanager
def mirror(
    cpus: tuple[int, ...],
    workspace: Workspace | None = None,
    queues: int = 1,
    *,
    as_vnf: bool = False,
    withheld: Sequence[str] = (),
    ring: int = 1024,
) -> Iterator[tuple[str, str]]:
    """Run the mirror on CPUs; gives the devices by which a program of DPDK reaches its two ports.

    Usually it stands in for a switch. As a VNF it is on the other side of the port, and who
    sends has to do what a switch does: copy every frame. `withheld` are features of virtio that a
    switch does not offer; `ring` is the length of the rings between both.
    """
    frontend = FRONTEND.format(ring)
    program = program_path(PROGRAM)
    if program is None:
        raise NotReadyError(
            f"the program {PROGRAM} is not installed",
            why="it mirrors frames between two vhost-user ports",
            fix="install the package dpdk-dev, or take --loop memif or --loop ring",
        )
    with given_or_own(workspace, "a mirror for a traffic generator") as place:
        device, other = f"--vdev={BACKEND}", frontend + without(withheld)
        awaited = len(SIDES)
        if as_vnf:  # its second port waits until somebody has called the first
            device, other, awaited = f"--vdev={frontend},server=1", f"{BACKEND},client=1", 1
        sockets = tuple(place.folder / f"{NAME}{number}.sock" for number in SIDES)
        argv = [program, "--no-pci", "--no-huge", "--no-shconf", "-m", str(MEMORY_MB)]
        several = f",queues={queues}" if queues > 1 else ""
        cpus = cpus[: len(SIDES) * queues]
        argv += [f"--file-prefix={place.name}-{NAME}", f"--lcores={lcores(cpus)}"]
        argv += [device.format(*pair) + several for pair in enumerate(sockets)]
        argv += ["--", "--auto-start", "--forward-mode=io", "--stats-period=600", "--no-mlockall"]
        argv += [f"--total-num-mbufs={24576 + 8192 * queues}", "--txd=1024", "--rxd=1024"]
        argv += [f"--rxq={queues}", f"--txq={queues}", f"--nb-cores={len(cpus)}"]
        with managed(
            argv,
            name=NAME,
            workspace=place,
            ready=lambda: all_listened_at(sockets[:awaited]),
            timeout_s=START_S,
        ):
            first, second = (other.format(*pair) + several for pair in enumerate(sockets))
            yield first, second


def without(features: Sequence[str]) -> str:
    """Return the words by which DPDK's virtio_user does not ask for features of virtio."""
    return "".join(f",{feature}=0" for feature in features)


def method(withheld: Sequence[str] = ()) -> str:
    """Say how the cap of a generator is measured, for people."""
    return METHOD.format(f" without {', '.join(withheld)}" if withheld else "")
