"""An answer that went by a cap of the generator which a later case refutes does not stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from record_samples import header
from simulated_cases import behaving, simulated_case

from vsperf.deploy.planner import Drivers, make_plan
from vsperf.engine.run import Manner, Planned, run_cases
from vsperf.errors import ExitCode
from vsperf.events import CaseFinished, CaseStarted, DeploymentKept, Event, PhaseEntered
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.host.workspace import Nowhere, Workspace
from vsperf.methods.estimate import Estimate
from vsperf.record.host import Calibration
from vsperf.record.plan import Placement
from vsperf.record.run import PlannedCase, RunHeader
from vsperf.spec.case import Case, CaseSpec
from vsperf.store.reader import StoredCase, read_run
from vsperf.store.writer import RunWriter
from vsperf.trafficgens.sim import SimulatedGenerator
from vsperf.vswitches.sim import SimulatedSwitch

FALLEN, CAP = 118_600, 2_868_000
MACHINE = CpuTopology((Cpu(0), Cpu(1, core=1)))


@dataclass
class Calibrated(SimulatedGenerator):
    """A generator of which is told what it could do each time."""

    caps: list[int] = field(default_factory=list)

    def calibrate(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> Calibration | None:
        return Calibration(
            frame_size=case.traffic.frame_size.bytes,
            cap_fps=self.caps.pop(0) if self.caps else CAP,
            method="made up",
            measured_at=datetime.now(UTC).isoformat(),
            cpus=(0, 1),
        )


@dataclass
class Run:
    """A run of cases with frames of these sizes."""

    results: Path
    caps: list[int]
    sizes: tuple[str, ...] = ("64B", "128B", "256B")
    keep: bool = False
    events: list[Event] = field(default_factory=list)

    def carried_out(self, listen: Callable[[Event], None] | None = None) -> ExitCode:
        planned = self.planned()
        announced = tuple(_announced(one.case) for one in planned)
        emit = listen or self.events.append

        def announcing(run: str) -> RunHeader:
            return header(run).model_copy(update={"cases": announced})

        with RunWriter.create(self.results, ["mine"], announcing) as writer:
            return run_cases(planned, writer, emit, Manner(keep=self.keep))

    def planned(self) -> list[Planned]:
        drivers = Drivers(SimulatedSwitch(), Calibrated(caps=self.caps))
        specs = [
            simulated_case(behaving("never-lossy"), traffic={"frame_size": size})
            for size in self.sizes
        ]
        return [
            Planned(Case(spec), make_plan(spec, drivers, MACHINE), drivers, Estimate(1, 1.0))
            for spec in specs
        ]

    @property
    def cases(self) -> tuple[StoredCase, ...]:
        (folder,) = (one for one in self.results.iterdir() if one.name.startswith("20"))
        return read_run(folder).cases

    @property
    def loads(self) -> list[int | None]:
        """What was offered in the answer that stands, by case."""
        return [
            one.record.result.loads[0].load_fps if one.record and one.record.result else None
            for one in self.cases
        ]


def _announced(case: Case) -> PlannedCase:
    return PlannedCase(
        key=case.key, id=case.id, label=case.label, point={}, repeat=1, spec={}, origins={}
    )


@pytest.fixture(name="results", autouse=True)
def fixture_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "results"


def test_a_case_that_went_by_a_fallen_cap_is_measured_again_before_the_next(results: Path) -> None:
    run = Run(results, [FALLEN, CAP, CAP - 1000])
    assert run.carried_out() is ExitCode.OK
    assert run.loads == [CAP - 1000, CAP, CAP]
    first = run.cases[0]
    assert len(first.attempts) == 2
    assert first.record is not None
    assert any("118.6 kfps" in text for text in first.record.warnings)
    begun = [
        (one.case.label, one.number, one.total)
        for one in run.events
        if isinstance(one, CaseStarted)
    ]
    assert begun == [
        ("simulated-64B", 1, 3),
        ("simulated-128B", 2, 3),
        ("simulated-64B", 3, 4),
        ("simulated-256B", 4, 4),
    ]


def test_where_no_cap_fell_each_case_is_measured_once(results: Path) -> None:
    run = Run(results, [CAP, CAP - 1000, CAP])
    run.carried_out()
    assert [len(one.attempts) for one in run.cases] == [1, 1, 1]
    said = [text for one in run.cases if one.record for text in one.record.warnings]
    assert not any("measured anew" in text for text in said)


def test_all_cases_that_went_by_it_are_measured_again(results: Path) -> None:
    run = Run(results, [FALLEN, FALLEN, CAP])
    run.carried_out()
    assert run.loads == [CAP] * 3
    assert [len(one.attempts) for one in run.cases] == [2, 2, 1]


def test_an_answer_that_is_refuted_does_not_stand_where_the_run_ends_before(results: Path) -> None:
    run = Run(results, [FALLEN, CAP])

    def interrupted(event: Event) -> None:
        if isinstance(event, CaseFinished) and event.case.label == "simulated-128B":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.carried_out(interrupted)
    assert [one.over for one in run.cases] == [False, True, False]


def test_so_it_is_where_the_case_that_refutes_it_is_interrupted(results: Path) -> None:
    run = Run(results, [FALLEN, CAP])

    def interrupted(event: Event) -> None:
        entered = event if isinstance(event, PhaseEntered) else None
        if entered and (entered.phase, entered.case.label) == ("deploy", "simulated-128B"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.carried_out(interrupted)
    assert [one.over for one in run.cases] == [False, False, False]


def test_only_the_deployment_of_the_case_that_is_measured_last_is_kept(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model has none, so that it would be is all that can be seen."""
    monkeypatch.setattr(Nowhere, "keep", lambda _: None)
    monkeypatch.setattr(Nowhere, "folder", results, raising=False)
    run = Run(results, [FALLEN, CAP], ("64B", "128B"), keep=True)
    run.carried_out()
    kept = [one.case.label for one in run.events if isinstance(one, DeploymentKept)]
    assert kept == ["simulated-64B"]
