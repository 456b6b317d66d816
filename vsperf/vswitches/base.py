"""What a virtual switch driver offers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar, Protocol

from vsperf.record.plan import Endpoint, Step
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """What a driver will do, and where its ports will be."""

    steps: tuple[Step, ...]
    endpoints: tuple[Endpoint, ...]


class RunningSwitch(Protocol):
    """A switch that forwards."""

    def failure(self) -> str | None:
        """Return why the switch no longer works, or None while it does."""
        ...


class VSwitch(Protocol):
    """Deploys one kind of switch."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Spec: ClassVar[type[DriverSpec]]

    def plan(self, case: CaseSpec) -> SwitchPlan:
        """Say what `start` will do; touches nothing."""
        ...

    def start(self, case: CaseSpec, plan: SwitchPlan) -> AbstractContextManager[RunningSwitch]:
        """Bring the switch up; leaving the context takes it down."""
        ...
