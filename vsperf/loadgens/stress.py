"""The driver `stress`: stress-ng of the distribution, on given CPUs of this machine."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vsperf.byte_units import ByteSize
from vsperf.errors import NotReadyError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Surroundings, absent, ok
from vsperf.host.software import package_versions
from vsperf.host.workspace import Workspace
from vsperf.loadgens.base import RunningLoad, cpu_of, names_of, needs_of, settings_of
from vsperf.loadgens.cpu_time import cpu_time
from vsperf.loadgens.programs import Instance, started
from vsperf.record.placeholder import Placeholder
from vsperf.record.plan import Placement, Step
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec
from vsperf.spec.noise import NoiseSpec

PROGRAM = "stress-ng"
INSTALL = f"apt-get install {PROGRAM}"
JUDGED = ("cpu", "cache", "memory")
"""What takes all the CPU time that it can get; the others wait most of the time."""


class StressSpec(NoiseSpec):
    """Settings of stress-ng."""

    kind: Literal["stress"]
    load: Literal["cpu", "cache", "memory", "io", "irq"] = "cache"
    """What it strains: arithmetic, the caches, the memory, the disks (by `sync`: what anybody wrote
    goes there at once), or the interrupts of its CPU (by timers)."""
    memory: ByteSize = ByteSize.parse("256MiB")
    """What each instance of `load: memory` maps and writes."""
    cpu_share: Annotated[int, Field(ge=1, le=100)] = 100
    """Part of the time [%] in which `load: cpu` works."""
    timer_frequency: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Timer interrupts per second of `load: irq`."""
    arguments: tuple[str, ...] = ()
    """More words for stress-ng; where they say what vsperf says, too, theirs hold."""


def _ask(here: Surroundings) -> Answer:
    found = shutil.which(PROGRAM, path=here.environment.get("PATH"))
    if found is None:
        return absent("not installed; for noise of the kind stress", INSTALL)
    version = package_versions((PROGRAM,)).get(PROGRAM)
    return ok(f"{found}, package {PROGRAM} {version}" if version else found)


class StressLoad:
    """Runs one stress-ng for each instance."""

    kind: ClassVar[str] = "stress"
    summary: ClassVar[str] = "stress-ng on CPUs of this machine: cpu, cache, memory, io or irq"
    Spec: ClassVar[type[DriverSpec]] = StressSpec
    checks: ClassVar[tuple[Check, ...]] = (Check(PROGRAM, Group.PROGRAMS, _ask),)

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(settings_of(case, StressSpec))

    def plan(self, case: CaseSpec, placement: Placement) -> tuple[Step, ...]:
        spec = settings_of(case, StressSpec)
        return tuple(
            Step(
                component="noise",
                action=f"start {one.name} on CPU {cpu_of(number, placement)}: {spec.load} load by "
                f"{PROGRAM}",
                argv=one.argv,
            )
            for number, one in enumerate(_instances(spec, placement, PROGRAM))
        )

    def require(self, case: CaseSpec) -> None:
        _find()

    def judged(self, case: CaseSpec) -> bool:
        return settings_of(case, StressSpec).load in JUDGED

    def start(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningLoad]:
        instances = _instances(settings_of(case, StressSpec), placement, _find())
        about = {"package": package_versions((PROGRAM,)).get(PROGRAM)}
        return started(instances, workspace, cpu_time, about)


def _find() -> str:
    found = shutil.which(PROGRAM)
    if found is None:
        raise NotReadyError(
            f"{PROGRAM} is not installed",
            why="noise of the kind stress is made by it",
            fix=f"{INSTALL}; `noise: {{kind: memory}}` works without it",
        )
    return found


def _instances(spec: StressSpec, placement: Placement, program: str) -> tuple[Instance, ...]:
    return tuple(
        Instance(name, (program, *_words(spec), "--taskset", str(cpu_of(number, placement))))
        for number, name in enumerate(names_of(spec))
    )


def _words(spec: StressSpec) -> tuple[str, ...]:
    strain = {
        "cpu": ("--cpu", "1", "--cpu-load", str(spec.cpu_share)),
        "cache": ("--cache", "1"),
        "memory": ("--vm", "1", "--vm-keep", "--vm-bytes", str(spec.memory.bytes)),
        "io": ("--io", "1"),
        "irq": ("--timer", "1", "--timer-freq", str(spec.timer_frequency)),
    }[spec.load]
    beside = ("--timeout", "0", "--temp-path", str(Placeholder.RUN))
    return (*strain, *beside, *spec.arguments)
