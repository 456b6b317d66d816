"""What collectors have in common that ask a part which runs, before a trial and after it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.collectors.base import (
    COMPONENT,
    Asking,
    Collector,
    Inside,
    Parts,
    RunningCollector,
    Seat,
    refuse,
)
from vsperf.errors import ComponentError
from vsperf.records.run import Placement, Step
from vsperf.records.series import Sample, Value


class Asked(Collector):
    """Asks the switch, or the VNFs, what else they count; nothing runs beside a trial.

    Who can be asked names the collector in its settings, as `TELLS`.
    """

    section: ClassVar[str] = "vswitch"
    """Whose drivers these are."""

    def disturbs(self, settings: DriverSpec) -> str:
        return "light: it is asked before a trial and after it, never while frames are sent"

    def plan(self, settings: DriverSpec, name: str, placement: Placement) -> tuple[Step, ...]:
        action = f"{name}: ask {self._whom} before each trial and after it"
        return (Step(component=COMPONENT, action=action),)

    def require(self, case: CaseSpec, settings: DriverSpec) -> None:
        found = getattr(case, self.section)
        if self.section == "vnf" and not case.topology.vnfs:
            raise refuse(self.kind, f"topology {case.topology.name} has no VNFs", FIX)
        if getattr(found, "TELLS", None) != self.kind:
            what = found.kind if found is not None else "nothing"
            why = f"{self.section}.kind is {what}, which does not tell what it asks"
            raise refuse(self.kind, why, FIX)

    @property
    def _whom(self) -> str:
        return "the switch" if self.section == "vswitch" else "the VNFs"

    def part(self, parts: Parts) -> object | None:
        """Return who is asked."""
        return parts.switch if self.section == "vswitch" else parts.vnfs

    def derived(self, before: Mapping[str, Value], now: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return what follows of two looks around a trial, of one thing; nothing by default."""
        return {}

    @contextmanager
    def start(self, settings: DriverSpec, seat: Seat) -> Iterator[RunningCollector]:
        part = self.part(seat.parts)
        if not isinstance(part, Inside):
            raise ComponentError(f"{self._whom} cannot be asked by the collector {self.kind}")

        before: dict[tuple[int, str], dict[str, int]] = {}

        def ask(trial: int) -> tuple[Sample, ...]:
            found, at_ns = part.insides(), time.time_ns()
            samples = []
            for of, values in found.items():
                then = before.get((trial, of))
                more = {} if then is None else self.derived(then, values)
                if values:
                    samples.append(
                        Sample(trial=trial, at_ns=at_ns, of=of, values={**values, **more})
                    )
            before.clear()  # a look before a trial is needed for the one after it only
            before.update({(trial, of): values for of, values in found.items()})
            return tuple(samples)

        yield Asking(seat, ask)


FIX = "take it out of `collect`"
