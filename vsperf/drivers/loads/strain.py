"""What stress-ng is asked to strain, wherever it runs: on this machine or in a guest."""

from __future__ import annotations

import shutil
from typing import Annotated, Literal

from pydantic import Field

from vsperf.config.counted import Counted
from vsperf.config.noise import NoiseSpec
from vsperf.errors import NotReadyError
from vsperf.host.software import package_versions
from vsperf.quantities.byte_units import ByteSize

PROGRAM = "stress-ng"
INSTALL = f"apt-get install {PROGRAM}"
JUDGED = ("cpu", "cache", "memory")
"""What takes all the CPU time that it can get; the others wait most of the time."""


class StrainSpec(NoiseSpec):
    """Settings of stress-ng."""

    load: Literal["cpu", "cache", "memory", "io", "irq"] = "cache"
    """What it strains: arithmetic, the caches, the memory, the disks (by `sync`: what anybody wrote
    goes there at once), or the interrupts of its CPU (by timers)."""
    memory: ByteSize = ByteSize.parse("256MiB")
    """What each instance of `load: memory` maps and writes."""
    cpu_share: Annotated[int, Field(ge=1, le=100)] = 100
    """Part of the time [%] in which `load: cpu` works."""
    timer_frequency: Annotated[int, Field(ge=1, le=1_000_000), Counted] = 10_000
    """Timer interrupts per second of `load: irq`."""
    arguments: tuple[str, ...] = ()
    """More words for stress-ng; where they say what vsperf says, too, theirs hold."""

    @property
    def judged(self) -> bool:
        return self.load in JUDGED


def strain_words(spec: StrainSpec, temporary: str) -> tuple[str, ...]:
    """Return the words of the command line; what it writes goes to the folder `temporary`."""
    strain = {
        "cpu": ("--cpu", "1", "--cpu-load", str(spec.cpu_share)),
        "cache": ("--cache", "1"),
        "memory": ("--vm", "1", "--vm-keep", "--vm-bytes", str(spec.memory.bytes)),
        "io": ("--io", "1"),
        "irq": ("--timer", "1", "--timer-freq", str(spec.timer_frequency)),
    }[spec.load]
    return (*strain, "--timeout", "0", "--temp-path", temporary, *spec.arguments)


def find_stress() -> str:
    """Return stress-ng; raises `NotReadyError` where there is none."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise NotReadyError(
            f"{PROGRAM} is not installed",
            why="noise of the kinds stress and stress-vm is made by it",
            fix=f"{INSTALL}; `noise: {{kind: memory}}` works without it",
        )
    return found


def stress_version() -> str | None:
    """Return the version of its package."""
    return package_versions((PROGRAM,)).get(PROGRAM)
