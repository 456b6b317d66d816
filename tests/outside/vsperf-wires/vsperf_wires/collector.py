# vsperf-wires/vsperf_wires/collector.py
"""A collector: what the kernel calls the load of the machine, around each trial."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.collectors.base import COMPONENT, Asking, RunningCollector, Seat
from vsperf.records.run import Placement, Step
from vsperf.records.series import Nature, Quantity, Sample

SOURCE = Path("/proc/loadavg")


class LoadAverageSpec(DriverSpec):
    """Settings of `loadavg`; it has none."""

    kind: Literal["loadavg"]


class LoadAverage:
    """Reads one file before each trial and after it."""

    kind: ClassVar[str] = "loadavg"
    summary: ClassVar[str] = "load average and running tasks of the machine"
    Spec: ClassVar[type[DriverSpec]] = LoadAverageSpec

    def heavy(self, settings: DriverSpec) -> bool:
        return False

    def disturbs(self, settings: DriverSpec) -> str:
        return "light: it reads one file before a trial and after it"

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        gauge = Nature.GAUGE
        return (
            Quantity(name="load", unit="1", nature=gauge, meaning="average of the last minute"),
            Quantity(name="running", unit="1", nature=gauge, meaning="tasks that run or could"),
        )

    def plan(self, settings: DriverSpec, name: str, placement: Placement) -> tuple[Step, ...]:
        action = f"{name}: read {SOURCE} before each trial and after it"
        return (Step(component=COMPONENT, action=action),)

    def require(self, case: CaseSpec, settings: DriverSpec) -> None:
        """Every Linux has it."""

    def facts(self, settings: DriverSpec) -> dict[str, Any]:
        return {}

    @contextmanager
    def start(self, settings: DriverSpec, seat: Seat) -> Iterator[RunningCollector]:
        def ask(trial: int) -> tuple[Sample, ...]:
            load, _, _, tasks, _ = SOURCE.read_text().split()
            values = {"load": float(load), "running": int(tasks.partition("/")[0])}
            return (Sample(trial=trial, at_ns=time.time_ns(), of="host", values=values),)

        yield Asking(seat, ask)
