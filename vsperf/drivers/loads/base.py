"""What a driver of a load beside a case offers, and what all of them ask of the machine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol, TypeVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.noise import NOISE, NoiseSpec
from vsperf.errors import UsageError
from vsperf.host.cpus import Beside, CpuNeed, Needs
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement, Step
from vsperf.records.switch import NoiseActivity

ROLES = {"switch": "pmd"}
"""Words for a part → the role of its CPUs, where that is another word."""

S = TypeVar("S", bound=NoiseSpec)


class RunningLoad(Protocol):
    """A load that runs."""

    def failure(self) -> str | None:
        """Return why it no longer runs, such as `noise 1 was killed by SIGKILL`, or None."""

    def counts(self) -> tuple[NoiseActivity, ...]:
        """Return what each instance did since its start, as it said last."""

    def last_words(self, instance: str) -> str | None:
        """Return what an instance wrote last, such as the end of a guest's console."""

    def facts(self) -> dict[str, Any]:
        """Return versions and settings as found, for the record."""


class LoadGenerator(Protocol):
    """Runs one kind of load."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Spec: ClassVar[type[DriverSpec]]

    def needs(self, case: CaseSpec) -> Needs:
        """Return what the load asks of the machine; touches nothing."""
        return needs_of(settings_of(case, NoiseSpec))

    def plan(self, case: CaseSpec, placement: Placement) -> tuple[Step, ...]:
        """Say what `start` will do; touches nothing."""

    def require(self, case: CaseSpec) -> None:
        """Raise `NotReadyError` for what the machine lacks; asked before anything is started."""

    def judged(self, case: CaseSpec) -> bool:
        """Whether it has a rate of its own, which it is to keep during a trial."""

    def start(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningLoad]:
        """Start every instance; leaving the context ends them."""


def settings_of(case: CaseSpec, wanted: type[S]) -> S:
    """Return the settings of a case's noise, which are to be of one kind."""
    if not isinstance(case.noise, wanted):
        kind = None if case.noise is None else case.noise.kind
        raise UsageError(f"a load was given settings of kind {kind!r}", fix="--set noise=none")
    return case.noise


def needs_of(spec: NoiseSpec) -> Needs:
    """Return the CPUs of all instances, chosen by where the part is that they are to disturb."""
    pinned = None if spec.cpus is None else spec.cpus.cpus
    beside = Beside(ROLES.get(spec.to, spec.to), spec.near, share=spec.share)
    return Needs((CpuNeed(NOISE, spec.instances, pinned=pinned, beside=beside),))


def names_of(spec: NoiseSpec) -> tuple[str, ...]:
    """Return what the instances are called."""
    return tuple(f"{NOISE} {number}" for number in range(1, spec.instances + 1))


def cpu_of(instance: int, placement: Placement) -> int:
    """Return the CPU of an instance, counted from 0; they take turns where there are too few."""
    cpus = placement.of(NOISE)
    return cpus[instance % len(cpus)]
