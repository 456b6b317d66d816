"""An answer that went by a cap of the generator which a later case refutes does not stand."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from record_samples import case_record, case_start, header, run_end, trial_line
from simulated_cases import behaving, simulated_case

from vsperf.cli.main import run_cli
from vsperf.config.case import Case, CaseSpec
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.generators.sim import SimulatedGenerator, SimulatedSession
from vsperf.drivers.vswitches.sim import SimulatedSwitch
from vsperf.engine.calibration import ATTEMPTS
from vsperf.engine.run import Before, Planned, RunOptions, run_cases
from vsperf.engine.session import take_up
from vsperf.errors import ExitCode
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.host.workspace import Nowhere, Workspace
from vsperf.methods.estimate import Estimate
from vsperf.output.report.write import write_html
from vsperf.plugins import Plugins
from vsperf.progress import CaseFinished, CaseStarted, DeploymentKept, Event, PhaseEntered
from vsperf.records.files.index import Filter, Index
from vsperf.records.files.view import CaseView, open_run
from vsperf.records.files.writer import RunWriter
from vsperf.records.host import Calibration, Conditions
from vsperf.records.run import CaseRecord, Outcome, Placement, PlannedCase, RunHeader

FALLEN, CAP = 118_600, 2_868_000
SIZES = ("64B", "128B", "256B")
WHY = "its answer does not stand, as the machine kept the generator from running"
HOST = CpuTopology((Cpu(0), Cpu(1, core=1)))


@dataclass
class Calibrated(SimulatedGenerator):
    """A generator of which is told what it could do each time."""

    caps: list[int] = field(default_factory=list)
    distances: list[int] = field(default_factory=list)
    """How far the CPUs were apart each time; where nothing is told nobody knows."""

    def calibrate(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> Calibration | None:
        return Calibration(
            frame_size=case.traffic.frame_size.bytes,
            cap_fps=self.caps.pop(0) if self.caps else CAP,
            method="made up",
            measured_at=datetime.now(UTC).isoformat(),
            cpus=(0, 1),
            round_trip_ns=self.distances.pop(0) if self.distances else None,
        )


@dataclass
class Run:
    """A run of cases with frames of these sizes."""

    results: Path
    caps: list[int]
    sizes: tuple[str, ...] = SIZES
    keep: bool = False
    budget_ns: int | None = None
    distances: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def carried_out(self, listen: Callable[[Event], None] | None = None) -> ExitCode:
        planned = self.planned()
        announced = tuple(_announced(one.case) for one in planned)
        emit = listen or self.events.append

        def announcing(run: str) -> RunHeader:
            return header(run).model_copy(update={"cases": announced})

        with RunWriter.create(self.results, ["mine"], announcing) as writer:
            return run_cases(planned, writer, emit, RunOptions(self.budget_ns, keep=self.keep))

    def planned(self) -> list[Planned]:
        drivers = Drivers(SimulatedSwitch(), Calibrated(caps=self.caps, distances=self.distances))
        specs = [
            simulated_case(behaving("never-lossy"), traffic={"frame_size": size})
            for size in self.sizes
        ]
        return [
            Planned(Case(spec), make_plan(spec, drivers, HOST), drivers, Estimate(1, 1.0))
            for spec in specs
        ]

    def left_after_the_first(self) -> dict[str, CaseRecord]:
        """Carry it out until the first case is over, and return what stands of it."""

        def interrupted(event: Event) -> None:
            if isinstance(event, PhaseEntered) and event.case.label == "simulated-128B":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.carried_out(interrupted)
        return {one.planned.key: one.record for one in self.cases if one.over and one.record}

    @property
    def folder(self) -> Path:
        (folder,) = (one for one in self.results.iterdir() if one.name.startswith("20"))
        return folder

    @property
    def cases(self) -> tuple[CaseView, ...]:
        return tuple(open_run(self.folder).cases())

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
    assert first.attempt == 2
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


LOW = CAP // 4
"""Of a generator that others kept from running: not absurd, so nothing else refutes it."""


def test_a_case_that_ends_at_a_kept_cap_is_measured_again_if_the_generator_does_more(
    results: Path,
) -> None:
    Run(results.parent / "before", [LOW], ("64B",)).carried_out()
    run = Run(results, [CAP], ("64B", "128B"))
    assert run.carried_out() is ExitCode.OK
    assert run.loads == [CAP, CAP]
    assert [one.attempt for one in run.cases] == [2, 1]
    record = run.cases[0].record
    assert record is not None
    (said,) = (text for text in record.warnings if "measured anew" in text)
    assert said.endswith("the one of an earlier run was 717.0 kfps, and now it is 2.868 Mfps")
    begun = [one.case.label for one in run.events if isinstance(one, CaseStarted)]
    assert begun == ["simulated-64B", "simulated-64B", "simulated-128B"]


def test_it_stands_if_the_generator_does_no_more(results: Path) -> None:
    Run(results.parent / "before", [CAP], ("64B",)).carried_out()
    run = Run(results, [CAP + 1000], ("64B",))
    run.carried_out()
    assert run.loads == [CAP]
    (case,) = run.cases
    assert case.attempt == 1
    assert case.record is not None
    assert not any("anew" in text for text in case.record.warnings)


@pytest.fixture(name="near")
def fixture_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the CPUs near each other in all trials."""
    monkeypatch.setattr(SimulatedSession, "round_trip_ns", lambda *_: 90)


@pytest.mark.usefixtures("near")
def test_a_case_that_ends_at_a_cap_from_cpus_farther_apart_is_measured_again_at_once(
    results: Path,
) -> None:
    run = Run(results, [LOW, CAP, CAP], ("64B", "128B"), distances=[400, 90, 90])
    assert run.carried_out() is ExitCode.OK
    assert run.loads == [CAP, CAP]
    assert [one.attempt for one in run.cases] == [2, 1]
    record = run.cases[0].record
    assert record is not None
    (said,) = (text for text in record.warnings if "measured anew" in text)
    assert said.endswith(
        "the one found with the CPUs farther apart was 717.0 kfps, and now it is 2.868 Mfps"
    )


@pytest.mark.usefixtures("near")
def test_it_is_measured_again_once_wherever_the_machine_moves_its_cpus(results: Path) -> None:
    run = Run(results, [LOW, LOW * 2, CAP], ("64B",), distances=[400, 400, 400])
    run.carried_out()
    assert (run.cases[0].attempt, run.loads) == (2, [LOW * 2])


@pytest.mark.usefixtures("near")
def test_it_stands_where_the_machine_does_not_come_near_again(results: Path) -> None:
    run = Run(results, [CAP, CAP // 2], ("64B",), distances=[400, 400])
    run.carried_out()
    assert (run.cases[0].attempt, run.loads) == (1, [CAP])


def test_where_no_time_is_left_for_that_the_next_run_measures_the_cap(results: Path) -> None:
    before = Run(results.parent / "before", [LOW], ("64B",))
    before.carried_out()
    took_ns = before.cases[0].record.measured_ns if before.cases[0].record else 0
    run = Run(results, [CAP], ("64B",), budget_ns=took_ns * 3 // 2)
    run.carried_out()
    (case,) = run.cases
    assert (case.attempt, run.loads) == (1, [LOW])
    assert case.record is not None
    assert any("the next run measures it anew" in text for text in case.record.warnings)
    after = Run(results.parent / "after", [CAP], ("64B",))
    after.carried_out()
    assert (after.cases[0].attempt, after.loads) == (1, [CAP])


def test_so_it_is_where_the_cap_is_not_to_be_had_again(results: Path) -> None:
    """There is an answer, and a lower bound is one whatever the cap is."""
    Run(results.parent / "before", [LOW], ("64B",)).carried_out()
    run = Run(results, [LOW // 7] * ATTEMPTS, ("64B",))
    assert run.carried_out() is ExitCode.OK
    (case,) = run.cases
    assert (case.attempt, run.loads) == (1, [LOW])
    assert case.record is not None
    assert any("the next run measures it anew" in text for text in case.record.warnings)


def test_where_no_cap_fell_each_case_is_measured_once(results: Path) -> None:
    run = Run(results, [CAP, CAP - 1000, CAP])
    run.carried_out()
    assert [one.attempt for one in run.cases] == [1, 1, 1]
    said = [text for one in run.cases if one.record for text in one.record.warnings]
    assert not any("measured anew" in text for text in said)


def test_all_cases_that_went_by_it_are_measured_again(results: Path) -> None:
    run = Run(results, [FALLEN, FALLEN, CAP])
    run.carried_out()
    assert run.loads == [CAP] * 3
    assert [one.attempt for one in run.cases] == [2, 2, 1]


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


def test_it_does_not_from_the_moment_in_which_that_is_found_so_that_a_kill_leaves_none(
    results: Path,
) -> None:
    """What is on disk when the case is deployed that refutes it is what a killed run leaves."""
    run = Run(results, [FALLEN, CAP])
    left: list[list[bool]] = []

    def looking(event: Event) -> None:
        if isinstance(event, PhaseEntered) and event.phase == "deploy":
            left.append([one.over for one in run.cases])

    run.carried_out(looking)
    assert left[1] == [False, False, False]


def test_a_resumed_run_measures_again_what_went_by_it_before(results: Path) -> None:
    run = Run(results, [FALLEN, CAP, CAP - 1000])
    records = run.left_after_the_first()
    planned = run.planned()
    held = Before(dict.fromkeys(records, 1), list(records.values()), planned[:1])
    with RunWriter.resume(run.folder) as writer:
        run_cases(planned[1:], writer, run.events.append, RunOptions(), held)
    assert run.loads == [CAP - 1000, CAP, CAP]
    assert [one.attempt for one in run.cases] == [2, 2, 1]


def test_what_a_resumed_run_may_have_to_measure_again_is_planned_before_it_goes_on(
    results: Path,
) -> None:
    folder = written(results, [FALLEN, None])
    session = take_up(folder, Plugins.load(), [])
    session.writer.close()
    assert session.before is not None
    assert [one.case.label for one in session.before.planned] == ["simulated-64B"]
    assert [one.case.label for one in session.planned] == ["simulated-128B"]


def written(results: Path, caps: list[int | None]) -> Path:
    """Write a run of cases that went by these caps; one without never began."""
    announced = [_announced(one.case) for one in Run(results, []).planned()[: len(caps)]]
    specs = [
        simulated_case(behaving("never-lossy"), traffic={"frame_size": size}) for size in SIZES
    ]
    announced = [
        one.model_copy(update={"spec": spec.model_dump(mode="json")})
        for one, spec in zip(announced, specs, strict=False)
    ]

    def announcing(run: str) -> RunHeader:
        return header(run).model_copy(update={"cases": tuple(announced)})

    with RunWriter.create(results, ["mine"], announcing) as writer:
        for one, cap in zip(announced, caps, strict=True):
            if cap is None:
                continue
            writer.append(case_start(one.key))
            writer.append(trial_line(one.key))
            size = int(one.label.rpartition("-")[2].removesuffix("B"))
            around = Conditions(calibration=calibrated(size, cap))
            writer.append(case_record(one.key, conditions=around))
        if None not in caps:
            writer.append(run_end())
    return writer.folder


def calibrated(size: int, cap: int) -> Calibration:
    moment = datetime.now(UTC).isoformat()
    return Calibration(
        frame_size=size, cap_fps=cap, method="made up", measured_at=moment, cpus=(0, 1)
    )


def test_records_say_themselves_that_an_answer_does_not_stand(results: Path) -> None:
    """Whoever wrote them: a vsperf that did not look, or one that could not begin it again."""
    run = open_run(written(results, [CAP, FALLEN, CAP]))
    first, second, third = run.cases()
    assert (first.over, second.over, third.over) == (True, False, True)
    assert (first.refuted, third.refuted) == ("", "")
    assert "118.6 kfps" in second.refuted
    assert second.record is None
    assert [one.label for one in run.unfinished()] == ["simulated-128B"]


def test_it_stands_where_cpus_or_settings_of_the_generator_are_others(results: Path) -> None:
    folder = written(results, [CAP, FALLEN])
    text = (folder / "records.jsonl").read_text()
    assert '"cpus":[0,1]' in text
    head, tail = text.rsplit('"cpus":[0,1]', 1)
    (folder / "records.jsonl").write_text(f'{head}"cpus":[2,3]{tail}')
    assert [one.over for one in open_run(folder).cases()] == [True, True]


def test_every_output_says_so_and_none_has_the_answer(
    results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(results, [CAP, FALLEN, CAP])
    where = ["--results", str(results)]
    told = {}
    for name, asked in {
        "show": ["show", folder.name],
        "case": ["show", folder.name, "128B"],
        "json": ["show", folder.name, "--json"],
        "junit": ["export", "junit", folder.name],
        "results": ["results", folder.name],
        "results as json": ["results", folder.name, "--json"],
    }.items():
        capsys.readouterr()
        run_cli([*asked, *where])
        told[name] = capsys.readouterr().out
    page = io.StringIO()
    write_html([folder], page, lambda *_: None)
    told["report"] = page.getvalue()
    silent = [name for name, text in told.items() if WHY not in text and "refuted" not in text]
    assert not silent
    shown = json.loads(told["json"])["cases"]
    assert [one["outcome"] for one in shown] == ["PASS", None, "PASS"]
    assert [one["rate_fps"] is None for one in shown] == [False, True, False]


def test_the_index_agrees_whatever_it_had_read_before(results: Path) -> None:
    folder = written(results, [CAP, FALLEN, CAP])
    path = folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for known in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:known]))
        with Index.open(results) as index:
            index.refresh()
            found = [one.outcome for one in index.cases()]
            (run,) = index.runs()
        views = [one.outcome for one in open_run(folder).cases()]
        assert found == views
        assert sum(run.outcomes.values()) == sum(one is not None for one in views)
    with Index.open(results) as index:
        assert [one.label for one in index.cases(Filter(outcome=Outcome.PASS))] == [
            "simulated-64B",
            "simulated-256B",
        ]


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
