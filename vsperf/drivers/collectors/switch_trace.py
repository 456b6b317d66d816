"""`switch-trace`: where each role spends its time, as a flame graph, in trials of its own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.counted import Counted
from vsperf.drivers.collectors.base import (
    COMPONENT,
    OwnTrialsSpec,
    RunningCollector,
    Seat,
    own_trials_text,
)
from vsperf.drivers.collectors.flames import flame_graph, folded, folded_text
from vsperf.drivers.collectors.perf_program import (
    PROGRAM,
    PerRole,
    perf_facts,
    require_perf,
    started,
)
from vsperf.errors import ComponentError
from vsperf.host.process import managed
from vsperf.records.run import Placement, Step
from vsperf.records.series import Nature, Note, Quantity, Sample
from vsperf.trust.printable import as_label

SCRIPT_S = 120.0
"""Patience with perf, which looks names up in all programs."""


class SwitchTraceSpec(OwnTrialsSpec):
    """Settings of `switch-trace`."""

    kind: Literal["switch-trace"]
    frequency: Annotated[int, Field(ge=1, le=20_000), Counted] = 997
    """Looks at each thread in a second; a prime number keeps no step with timers."""


class Recording(PerRole):
    """A perf for each role that records."""

    def keep(self, role: str, file: Path, trial: int, at_ns: int) -> None:
        """Draw what it recorded."""
        name = f"collect-{self.seat.name}-script-{as_label(role)}-{trial}"
        argv = (PROGRAM, "script", "-i", str(file), "--fields", "comm,tid,ip,sym,dso")
        with managed(argv, name=name, workspace=self.seat.workspace) as program:
            self.seat.workspace.parts.pop(name, None)
            if not program.await_end(SCRIPT_S):
                raise ComponentError(f"perf did not read its own data within {SCRIPT_S:g} s")
            if program.poll() != 0:
                raise ComponentError(f"perf could not read its own data: {program.obituary()}")
            with program.log.open(errors="replace") as lines:
                stacks = folded(lines)
        total = sum(stacks.values())
        if not total:
            text = f"no sample of the {role} was taken: perf said nothing of its threads"
            self.seat.file.append(Note(trial=trial, text=text))
            return
        name = f".{as_label(role)}" if trial == 1 else f".{as_label(role)}.{trial}"
        graph = flame_graph(stacks, f"{role}, {self.seat.file.path.parent.parent.name}")
        drawn = self.seat.file.write_beside(f"{name}.svg", graph)
        self.seat.file.write_beside(f"{name}.folded", folded_text(stacks))
        values = {"samples": total, "stacks": len(stacks)}
        self.seat.file.append(
            Sample(trial=trial, at_ns=at_ns, of=role, values=values),
            Note(trial=trial, text=f"flame graph of the {role}: {drawn.name}"),
        )


class SwitchTrace:
    """Records stacks of the polling threads of each role."""

    kind: ClassVar[str] = "switch-trace"
    summary: ClassVar[str] = (
        "perf record by role: folded stacks and a flame graph, in a trial apart"
    )
    Spec: ClassVar[type[DriverSpec]] = SwitchTraceSpec

    def heavy(self, settings: DriverSpec) -> bool:
        return True

    def disturbs(self, settings: DriverSpec) -> str:
        return f"heavy: threads are interrupted for each look; it has {own_trials_text(settings)}"

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        total = Nature.TOTAL
        return (
            Quantity(name="samples", unit="1", nature=total, meaning="looks at its threads"),
            Quantity(name="stacks", unit="1", nature=total, meaning="different stacks among them"),
        )

    def plan(self, settings: DriverSpec, name: str, placement: Placement) -> tuple[Step, ...]:
        own = own_trials_text(settings)
        action = f"{name}: after the search, record stacks by role in {own}"
        return (Step(component=COMPONENT, action=action, argv=_command(settings)),)

    def require(self, case: CaseSpec, settings: DriverSpec) -> None:
        require_perf(self.kind)

    def facts(self, settings: DriverSpec) -> dict[str, Any]:
        return dict(perf_facts())

    def start(self, settings: DriverSpec, seat: Seat) -> AbstractContextManager[RunningCollector]:
        return started(Recording, seat, _command(settings), ".data")


def _command(settings: DriverSpec) -> tuple[str, ...]:
    frequency = getattr(settings, "frequency", 997)
    return (PROGRAM, "record", "-F", str(frequency), "-g")
