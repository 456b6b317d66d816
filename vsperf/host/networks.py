"""A network of a deployment's own, apart from the host's: made with a promise to remove it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from vsperf.errors import NotReadyError
from vsperf.host.devices import Devices
from vsperf.host.files import Roots
from vsperf.host.netns import FOLDER, make_namespace
from vsperf.host.undo import RemoveNetwork
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import CpuSet


@contextmanager
def private_network(workspace: Workspace, of: str = "") -> Iterator[str]:
    """Give the name of a network namespace, for the time of the context: the deployment's own.

    Or that of a part of it, such as a place at the end of a link.
    """
    name = f"{workspace.name}-{of}" if of else workspace.name
    with workspace.undoing(RemoveNetwork(name=name)):
        with NotReadyError.if_refused(
            f"cannot make a network namespace in {FOLDER}",
            fix="run vsperf with sudo; in a container, with the rights to mount and to "
            "administer networks",
        ):
            make_namespace(name)
        yield name


def hand_over(devices: Iterable[str], network: str, cpus: tuple[int, ...]) -> None:
    """Hand devices of the host's network to another one, where these CPUs handle what they receive.

    That is told by files which are there in the network of the host alone, so before they leave.
    """
    names = tuple(devices)
    for name in names:
        steer(name, cpus)
    with Devices.connected() as host:
        for name in names:
            host.move(name, network)


def steer(device: str, cpus: Iterable[int], roots: Roots | None = None) -> None:
    """Have these CPUs handle what a device of the host's network receives.

    Otherwise the CPU does that on which somebody writes into a tap: the generator would do the work
    of the switch. CPUs that were set apart at boot are left out by kernels without a word.
    """
    mask = CpuSet.of(tuple(cpus)).mask.removeprefix("0x")
    apart = "choose CPUs that neither isolcpus= nor nohz_full= names: --set vswitch.cpus=…"
    queues = sorted((roots or Roots()).sys.glob(f"class/net/{device}/queues/rx-*"))
    try:
        for queue in queues:
            (queue / "rps_cpus").write_text(_in_words(mask))
            taken = (queue / "rps_cpus").read_text().strip().replace(",", "")
            if int(taken, 16) != int(mask, 16):
                raise NotReadyError(
                    f"the kernel does not have all of these CPUs handle what {device} receives",
                    why=f"{queue / 'rps_cpus'} says {taken}, and not {mask}",
                    fix=apart,
                )
    except OSError as error:
        raise NotReadyError(
            f"the kernel cannot be told which CPUs handle what {device} receives",
            why=f"{error.filename}: {error.strerror}",
            fix="take a kernel with receive packet steering (CONFIG_RPS), as those of "
            f"distributions have it; or {apart}",
        ) from error
    if not queues:
        raise NotReadyError(
            f"the device {device} has no queue, or is not there",
            why="what it receives cannot be given to a CPU then",
            fix="`ip link` lists the devices that there are",
        )


def _in_words(mask: str) -> str:
    """Return a mask as the kernel takes it: 32 bits at a time, with commas between."""
    whole = mask.zfill(-(-len(mask) // 8) * 8)
    return ",".join(whole[start : start + 8] for start in range(0, len(whole), 8))
