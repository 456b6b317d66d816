"""The driver `memory-vm`: loads on memory in guests of their own, one for each instance.

A guest is a kernel and `memory-load` in place of an init: no network, no disk, no agent. What the
program counts comes out of its serial port, so it is the guest's own word on what it did.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal

from vsperf.config.case import CaseSpec
from vsperf.config.noise import NOISE
from vsperf.drivers.loads.base import LoadGenerator, RunningLoad, settings_of
from vsperf.drivers.loads.patterns import MEMORY_LOAD, PatternSpec, last_report, words_of
from vsperf.drivers.loads.programs import Instance, Programs, instances_of, started, steps_of
from vsperf.errors import NotReadyError
from vsperf.host.workspace import Workspace
from vsperf.qemu.checks import check_accelerator
from vsperf.qemu.command import NO_OTHER_USER, OWN_GUEST_WORDS, SANDBOX
from vsperf.qemu.host import ON, PROGRAM, probe, qemu_host
from vsperf.qemu.image import GuestImage, find_image, planned_image
from vsperf.qemu.initrd import initrd_of
from vsperf.quantities.units import Duration
from vsperf.records.run import Placeholder, Placement, Step

INITRD = "noise.initrd"
KERNEL_MB = 128
"""What a guest has beside the buffer: its kernel and the disk that it came with."""
MIB = 1 << 20
NAMED = re.compile(r"[=.]|^quiet$")
"""Words for a kernel that it keeps; of others, those that it does not know go to the program."""


class GuestMemorySpec(PatternSpec):
    """Settings of a load on memory in guests; each has one processor and no network."""

    kind: Literal["memory-vm"]
    accelerator: Literal["auto", "kvm", "tcg"] = "auto"
    """`kvm`, or `tcg` for emulation, which is many times slower; `auto` takes KVM where a guest
    boots on it."""
    settle_timeout: Duration = Duration(60_000_000_000)
    """How long it may take until guests have booted and their rate is steady."""

    @property
    def memory_mb(self) -> int:
        return KERNEL_MB + math.ceil(self.buffer.bytes / MIB)


class GuestMemoryLoad(LoadGenerator):
    """Loads memory in guests of their own."""

    kind = "memory-vm"
    summary = "reads and writes memory as `memory` does, in guests of their own"
    Spec = GuestMemorySpec

    def plan(self, case: CaseSpec, placement: Placement) -> tuple[Step, ...]:
        spec = settings_of(case, GuestMemorySpec)
        known = qemu_host().accelerator if spec.accelerator == "auto" else spec.accelerator
        instances = _instances(spec, placement, planned_image(), known or "tcg")
        does = f", {ON[known]}: {spec.asked}"
        return steps_of(instances, placement, does, "a guest for ")

    def require(self, case: CaseSpec) -> None:
        MEMORY_LOAD.find()
        find_image()
        for program in ("taskset", PROGRAM):
            if shutil.which(program) is None:
                raise NotReadyError(
                    f"{program} is not installed",
                    why="noise of the kind memory-vm runs in guests of QEMU",
                    fix="apt-get install qemu-system-x86, or --noise memory, which needs no guest",
                )
        check_accelerator({settings_of(case, GuestMemorySpec).accelerator}, probe(), NOISE)

    def judged(self, case: CaseSpec) -> bool:
        return True

    def start(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningLoad]:
        return _running(settings_of(case, GuestMemorySpec), placement, workspace)


@contextmanager
def _running(
    spec: GuestMemorySpec, placement: Placement, workspace: Workspace
) -> Iterator[Programs]:
    wanted = spec.accelerator
    accelerator = probe().outcome().accelerator if wanted == "auto" else wanted
    image = find_image()
    (workspace.folder / INITRD).write_bytes(initrd_of({"init": MEMORY_LOAD.find().read_bytes()}))
    about = {"accelerator": accelerator, "kernel": str(image.kernel)}
    instances = _instances(spec, placement, image, accelerator)
    with started(
        instances, workspace, lambda program, name: last_report(program.log, name), about
    ) as programs:
        yield programs


def _instances(
    spec: GuestMemorySpec, placement: Placement, image: GuestImage, accelerator: str
) -> tuple[Instance, ...]:
    return instances_of(spec, placement, lambda cpu: _argv(spec, cpu, image, accelerator))


def _argv(spec: GuestMemorySpec, cpu: int, image: GuestImage, accelerator: str) -> tuple[str, ...]:
    words = " ".join(filter(NAMED.search, (image.append or OWN_GUEST_WORDS).split()))
    return (
        *("taskset", "-c", str(cpu), PROGRAM),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-sandbox", SANDBOX + NO_OTHER_USER),
        *("-display", "none", "-vga", "none", "-monitor", "none", "-serial", "stdio"),
        *("-machine", "q35", "-accel", accelerator, "-smp", "1", "-m", f"{spec.memory_mb}M"),
        *("-cpu", "host" if accelerator == "kvm" else "max"),
        *("-kernel", str(image.kernel), "-initrd", f"{Placeholder.RUN}/{INITRD}"),
        *("-append", f"{words} -- {' '.join(words_of(spec))}"),
    )
