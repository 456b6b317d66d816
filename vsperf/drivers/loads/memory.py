"""The driver `memory`: our own small program, which reads and writes memory at given rates."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal

from vsperf.config.case import CaseSpec
from vsperf.drivers.loads.base import LoadGenerator, RunningLoad, settings_of
from vsperf.drivers.loads.patterns import MEMORY_LOAD, PatternSpec, last_report, words_of
from vsperf.drivers.loads.programs import Instance, instances_of, started, steps_of
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, ok
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement, Step


class MemorySpec(PatternSpec):
    """Settings of a load on memory by processes of this machine."""

    kind: Literal["memory"]


def _ask(here: Host) -> Answer:
    try:
        return ok(str(MEMORY_LOAD.find(here.environment)))
    except NotReadyError as error:
        return absent(f"{error}; for noise of the kind memory", error.problems[0].fix)


class MemoryLoad(LoadGenerator):
    """Loads memory by processes of our own."""

    kind = "memory"
    summary = "reads and writes memory with given block sizes and rates"
    Spec = MemorySpec
    checks = (Check(MEMORY_LOAD.name, Group.PROGRAMS, _ask),)

    def plan(self, case: CaseSpec, placement: Placement) -> tuple[Step, ...]:
        spec = settings_of(case, MemorySpec)
        instances = _instances(spec, placement, MEMORY_LOAD.planned())
        return steps_of(instances, placement, f": {spec.asked}")

    def require(self, case: CaseSpec) -> None:
        MEMORY_LOAD.find()

    def judged(self, case: CaseSpec) -> bool:
        return True

    def start(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningLoad]:
        spec = settings_of(case, MemorySpec)
        instances = _instances(spec, placement, str(MEMORY_LOAD.find()))
        return started(
            instances, workspace, lambda program, name: last_report(program.log, name), {}
        )


def _instances(spec: MemorySpec, placement: Placement, program: str) -> tuple[Instance, ...]:
    return instances_of(spec, placement, lambda cpu: (program, *words_of(spec), f"--cpu={cpu}"))
