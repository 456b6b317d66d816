"""The driver `stress`: stress-ng of the distribution, on given CPUs of this machine."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from typing import Literal

from vsperf.config.case import CaseSpec
from vsperf.drivers.loads.base import LoadGenerator, RunningLoad, settings_of
from vsperf.drivers.loads.cpu_time import cpu_time
from vsperf.drivers.loads.programs import Instance, instances_of, started, steps_of
from vsperf.drivers.loads.strain import (
    INSTALL,
    PROGRAM,
    StrainSpec,
    find_stress,
    strain_words,
    stress_version,
)
from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, ok
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placeholder, Placement, Step


class StressSpec(StrainSpec):
    """Settings of stress-ng on this machine."""

    kind: Literal["stress"]


def _ask(here: Host) -> Answer:
    found = shutil.which(PROGRAM, path=here.environment.get("PATH"))
    if found is None:
        return absent("not installed; for noise of the kinds stress and stress-vm", INSTALL)
    version = stress_version()
    return ok(f"{found}, package {PROGRAM} {version}" if version else found)


class StressLoad(LoadGenerator):
    """Runs one stress-ng for each instance."""

    kind = "stress"
    summary = "stress-ng on CPUs of this machine: cpu, cache, memory, io or irq"
    Spec = StressSpec
    checks = (Check(PROGRAM, Group.PROGRAMS, _ask),)

    def plan(self, case: CaseSpec, placement: Placement) -> tuple[Step, ...]:
        spec = settings_of(case, StressSpec)
        instances = _instances(spec, placement, PROGRAM)
        return steps_of(instances, placement, f": {spec.load} load by {PROGRAM}")

    def require(self, case: CaseSpec) -> None:
        find_stress()

    def judged(self, case: CaseSpec) -> bool:
        return settings_of(case, StressSpec).judged

    def start(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningLoad]:
        instances = _instances(settings_of(case, StressSpec), placement, find_stress())
        return started(instances, workspace, cpu_time, {"package": stress_version()})


def _instances(spec: StressSpec, placement: Placement, program: str) -> tuple[Instance, ...]:
    words = strain_words(spec, str(Placeholder.RUN))
    return instances_of(spec, placement, lambda cpu: (program, *words, "--taskset", str(cpu)))
