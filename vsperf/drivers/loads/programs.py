"""Loads that are programs of this machine: all instances started together, and none left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vsperf.config.noise import NoiseSpec
from vsperf.drivers.loads.base import cpu_of, names_of
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement, Step
from vsperf.records.switch import NoiseActivity

Count = Callable[[Managed, str], NoiseActivity]
"""Reads what an instance has done so far."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One program that is to be started."""

    name: str
    argv: tuple[str, ...]
    """With its placeholders."""


@dataclass
class Programs:
    """The programs of a load."""

    running: tuple[tuple[str, Managed], ...]
    count: Count
    about: dict[str, Any]

    def failure(self) -> str | None:
        found = ((name, program.failure()) for name, program in self.running)
        return next((f"{name} {_plain(why)}" for name, why in found if why is not None), None)

    def counts(self) -> tuple[NoiseActivity, ...]:
        return tuple(self.count(program, name) for name, program in self.running)

    def last_words(self, instance: str) -> str | None:
        return dict(self.running)[instance].last_words()

    def facts(self) -> dict[str, Any]:
        return {**self.about, "argv": [list(program.argv) for _, program in self.running]}


def instances_of(
    spec: NoiseSpec, placement: Placement, argv: Callable[[int], tuple[str, ...]]
) -> tuple[Instance, ...]:
    """Return all instances, by what one is run with on a CPU."""
    return tuple(
        Instance(name, argv(cpu_of(number, placement)))
        for number, name in enumerate(names_of(spec))
    )


def steps_of(
    instances: Sequence[Instance], placement: Placement, does: str, what: str = ""
) -> tuple[Step, ...]:
    """Return how they are started: `what` each is, and what it `does`, for people."""
    return tuple(
        Step(
            component="noise",
            action=f"start {what}{one.name} on CPU {cpu_of(number, placement)}{does}",
            argv=one.argv,
        )
        for number, one in enumerate(instances)
    )


def _plain(why: str) -> str:
    """Leave out last words that are reports of a load, which are for no people."""
    reason, words, said = why.partition("; its last words: ")
    return reason if said.startswith("{") else f"{reason}{words}{said}"


@contextmanager
def started(
    instances: Sequence[Instance],
    workspace: Workspace,
    count: Count,
    about: dict[str, Any],
    folder: Path | None = None,
) -> Iterator[Programs]:
    """Start all instances, in `folder` if one is named; leaving the context ends them."""
    with ExitStack() as stack:
        running = []
        for one in instances:
            argv = [workspace.fill(word) for word in one.argv]
            name = one.name.replace(" ", "-")
            program = managed(argv, name=name, workspace=workspace, folder=folder)
            running.append((one.name, stack.enter_context(program)))
        yield Programs(tuple(running), count, about)
