"""On which CPUs the kernel handles what a device receives: receive packet steering.

Without it the CPU does that on which somebody writes into a tap: the generator would do the work of
the switch.
"""

from __future__ import annotations

from collections.abc import Iterable

from vsperf.errors import NotReadyError
from vsperf.host.files import Roots
from vsperf.quantities.units import CpuSet


def steer(device: str, cpus: Iterable[int], roots: Roots | None = None) -> None:
    """Have these CPUs handle what a device of the host's network receives."""
    mask = CpuSet.of(tuple(cpus)).mask.removeprefix("0x")
    queues = sorted((roots or Roots()).sys.glob(f"class/net/{device}/queues/rx-*"))
    try:
        for queue in queues:
            (queue / "rps_cpus").write_text(_in_words(mask))
    except OSError as error:
        raise NotReadyError(
            f"the kernel cannot be told which CPUs handle what {device} receives",
            why=f"{error.filename}: {error.strerror}",
            fix="take a kernel with receive packet steering (CONFIG_RPS), as those of "
            "distributions have it",
        ) from error
    if not queues:
        raise NotReadyError(f"the device {device} has no queue, or is not there")


def _in_words(mask: str) -> str:
    """Return a mask as the kernel takes it: 32 bits at a time, with commas between."""
    whole = mask.zfill(-(-len(mask) // 8) * 8)
    return ",".join(whole[start : start + 8] for start in range(0, len(whole), 8))
