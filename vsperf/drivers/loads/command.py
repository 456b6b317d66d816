"""The driver `command`: a program of the user's own, on CPUs that the placement chooses."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vsperf.config.case import CaseSpec
from vsperf.config.noise import NoiseSpec
from vsperf.drivers.loads.base import LoadGenerator, RunningLoad, settings_of
from vsperf.drivers.loads.cpu_time import cpu_time
from vsperf.drivers.loads.programs import Instance, instances_of, started, steps_of
from vsperf.errors import NotReadyError
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement, Step

Word = Annotated[str, Field(min_length=1)]


class CommandSpec(NoiseSpec):
    """Settings of a program of the user's own."""

    kind: Literal["command"]
    argv: Annotated[tuple[Word, ...], Field(min_length=1)]
    """The program and its words, one item each; no shell reads them. It is to run until it is told
    to end (SIGTERM)."""
    steady: bool = False
    """Whether it takes about the same CPU time all the time, so that a trial in which it got less
    is not to be believed."""


class CommandLoad(LoadGenerator):
    """Runs the user's program, once for each instance."""

    kind = "command"
    summary = "a program of your own, run until the case is over"
    Spec = CommandSpec

    def plan(self, case: CaseSpec, placement: Placement) -> tuple[Step, ...]:
        instances = _instances(settings_of(case, CommandSpec), placement)
        return steps_of(instances, placement, ": the user's program")

    def require(self, case: CaseSpec) -> None:
        for program in ("taskset", settings_of(case, CommandSpec).argv[0]):
            if shutil.which(program) is None:
                raise NotReadyError(
                    f"the program {program} of the noise cannot be run",
                    why="there is none of that name in $PATH that may be run",
                    fix="name it by its whole path: `noise: {kind: command, argv: [PATH, …]}`",
                )

    def judged(self, case: CaseSpec) -> bool:
        return settings_of(case, CommandSpec).steady

    def start(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningLoad]:
        self.require(case)
        instances = _instances(settings_of(case, CommandSpec), placement)
        return started(instances, workspace, cpu_time, {}, Path.cwd())


def _instances(spec: CommandSpec, placement: Placement) -> tuple[Instance, ...]:
    return instances_of(spec, placement, lambda cpu: ("taskset", "-c", str(cpu), *spec.argv))
