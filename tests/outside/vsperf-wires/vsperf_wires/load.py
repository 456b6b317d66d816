# vsperf-wires/vsperf_wires/load.py
"""A load beside a case: a Python that never rests, on a CPU that the placement chooses."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.noise import NoiseSpec
from vsperf.drivers.loads.base import RunningLoad, cpu_of, names_of, needs_of, settings_of
from vsperf.drivers.loads.cpu_time import cpu_time
from vsperf.drivers.loads.programs import Instance, started
from vsperf.host.cpus import Needs
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement, Step

SPINS = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


class SpinSpec(NoiseSpec):
    """Settings of `spin`: those that every load has."""

    kind: Literal["spin"]


class Spin:
    """Runs a loop for each instance."""

    kind: ClassVar[str] = "spin"
    summary: ClassVar[str] = "a loop that never rests, on CPUs of this machine"
    Spec: ClassVar[type[DriverSpec]] = SpinSpec

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(settings_of(case, SpinSpec))

    def plan(self, case: CaseSpec, placement: Placement) -> tuple[Step, ...]:
        return tuple(
            Step(
                component="noise",
                action=f"start {one.name} on CPU {cpu_of(number, placement)}: a loop",
                argv=one.argv,
            )
            for number, one in enumerate(instances(case, placement))
        )

    def require(self, case: CaseSpec) -> None:
        """Python is there."""

    def judged(self, case: CaseSpec) -> bool:
        return False  # it takes what it gets, and has no rate to keep

    def start(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningLoad]:
        return started(instances(case, placement), workspace, cpu_time, {})


def instances(case: CaseSpec, placement: Placement) -> tuple[Instance, ...]:
    python = (sys.executable, "-I", "-S", "-c", SPINS)
    names = names_of(settings_of(case, SpinSpec))
    return tuple(
        Instance(name, (*python, str(cpu_of(number, placement))))
        for number, name in enumerate(names)
    )
