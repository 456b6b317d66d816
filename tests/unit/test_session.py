"""A run as a whole: what ends it between two cases, and where it can be taken up again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from config_world import DRIVERS, cases
from record_samples import case_record, case_start, header, trial_line
from simulated_cases import LEFT, behaving, leaving, simulated_case

from vsperf.cli.main import run_cli
from vsperf.cli.progress import plain_line
from vsperf.config.case import Case
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.generators.sim import SimulatedGenerator
from vsperf.drivers.vswitches.sim import SimulatedSwitch
from vsperf.engine import run as engine
from vsperf.engine import session
from vsperf.engine.assignment import CaseRun
from vsperf.engine.run import Planned, RunOptions, run_cases
from vsperf.engine.session import announced, restore_cases, take_up
from vsperf.errors import (
    ComponentError,
    DiedError,
    ExitCode,
    RecordingError,
    StoreError,
    VsperfError,
)
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.host.workspace import LeftBehindError, nothing_left_of
from vsperf.methods.estimate import Estimate
from vsperf.plugins import Plugins
from vsperf.progress import CaseFinished, CaseStarted, Event, Resumed, RunStarted
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.folders import resolve
from vsperf.records.files.reader import RunState
from vsperf.records.files.view import RunView, open_run
from vsperf.records.files.writer import RunWriter
from vsperf.records.run import CaseRecord, Outcome, PlannedCase, RunEnd, RunHeader

SIZES = ("64B", "128B", "256B")
HOST = CpuTopology((Cpu(0), Cpu(1, core=1)))
WHY = "cannot remove the bridge: it is busy"
TWO = ("--set", "traffic.frame_size=[64,128]")


def planned() -> list[Planned]:
    drivers = Drivers(SimulatedSwitch(), SimulatedGenerator())
    specs = [
        simulated_case(behaving("never-lossy"), traffic={"frame_size": size}) for size in SIZES
    ]
    return [
        Planned(Case(spec), make_plan(spec, drivers, HOST), drivers, Estimate(1, 1.0))
        for spec in specs
    ]


def written(results: Path, damage: Mapping[str, Any] | None = None, **changes: Any) -> RunWriter:
    """Begin the record of a run of these cases; `damage` is in the specification of each."""
    cases = tuple(
        PlannedCase(
            key=case.key,
            id=case.id,
            label=case.label,
            point={},
            repeat=1,
            spec={**case.spec.model_dump(mode="json"), **(damage or {})},
            origins={},
        )
        for case in (one.case for one in planned())
    )

    def announcing(run: str) -> RunHeader:
        return header(run, **changes).model_copy(update={"cases": cases})

    return RunWriter.create(results, ["mine"], announcing)


# What a case leaves on the machine is beside all that come after it.


class Leaving:
    """Cases that are measured at once; some leave something."""

    def __init__(self, *leaving: str) -> None:
        self.leaving = leaving
        self.events: list[Event] = []

    def run_case(self, run: CaseRun) -> tuple[CaseRecord, VsperfError | None]:
        if run.case.label not in self.leaving:
            return case_record(run.case.key), None
        error = LeftBehindError("something of mine is left on this machine", why=WHY)
        return case_record(run.case.key, outcome=Outcome.ERROR, reason=error.with_why), error

    def carried_out(self, results: Path, monkeypatch: pytest.MonkeyPatch) -> ExitCode:
        monkeypatch.setattr(engine, "run_case", self.run_case)
        with written(results) as writer:
            code = run_cases(planned(), writer, self.events.append, RunOptions())
            writer.append(RunEnd(finished_at="2026-11-20T10:00:00Z", exit_code=int(code)))
        return code

    def stored(self, results: Path) -> RunView:
        (folder,) = (one for one in results.iterdir() if one.name.startswith("20"))
        return open_run(folder)


def test_each_case_is_announced_with_what_a_budget_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "run_case", Leaving().run_case)
    half_ns, events = 1_500_000_000, list[Event]()
    whole, within = planned(), engine.within(planned(), half_ns)
    session.Session(written(tmp_path), tuple(whole), simulated=True).carry_out(
        events.append, RunOptions(half_ns)
    )
    (run,) = (one for one in events if isinstance(one, RunStarted))
    first, *_ = (one for one in events if isinstance(one, CaseStarted))
    assert [one.seconds for one in within] == [0.5, 0.5, 0.5]
    assert (run.estimated_s, first.estimated_s) == (1.5, 0.5)


def test_a_budget_that_all_trials_fit_in_cuts_none_however_long_it_takes_to_deploy() -> None:
    """To deploy, to calibrate and to take down uses nothing of it, so it gives no larger share."""
    long, short = Estimate(50, 110.0, beside_s=10.0), Estimate(10, 120.0, beside_s=100.0)
    cases = [replace(one, estimate=own) for one, own in zip(planned(), (long, short), strict=False)]
    assert engine.within(cases, 125 * NANOSECONDS) == (long, short)
    half = engine.within(cases, 60 * NANOSECONDS)
    assert [one.measuring_s for one in half] == pytest.approx([50, 10])


def test_after_a_case_that_left_something_none_is_begun_and_the_run_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Leaving("simulated-128B")
    with pytest.raises(LeftBehindError, match="stops after simulated-128B") as stopped:
        run.carried_out(tmp_path, monkeypatch)
    assert stopped.value.exit_code is ExitCode.LEFT_BEHIND
    stored = run.stored(tmp_path)
    (problem,) = stopped.value.problems
    assert problem.why == WHY
    assert problem.fix is not None
    assert f"vsperf clean, and vsperf run --resume {stored.run}" in problem.fix
    begun = [one.case.label for one in run.events if isinstance(one, CaseStarted)]
    told = [one.record.outcome for one in run.events if isinstance(one, CaseFinished)]
    assert begun == ["simulated-64B", "simulated-128B"]
    assert told == [Outcome.PASS, Outcome.ERROR]
    assert stored.state is RunState.INTERRUPTED
    records = [one.record.outcome if one.record else None for one in stored.cases()]
    assert records == [Outcome.PASS, Outcome.ERROR, None]
    assert [one.label for one in stored.unfinished()] == ["simulated-256B"]


def test_the_last_case_ends_the_run_whatever_it_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Leaving("simulated-256B")
    assert run.carried_out(tmp_path, monkeypatch) is ExitCode.LEFT_BEHIND
    assert run.stored(tmp_path).state is RunState.FINISHED


def test_what_was_measured_by_then_is_shown_with_the_way_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(engine, "run_case", Leaving("phy2phy_tput-64B").run_case)
    sizes = ("--set", "traffic.frame_size=[64,128]")
    where = ("--results", str(tmp_path / "results"))
    code = run_cli(["run", "phy2phy_tput", "--testbed", "sim", *sizes, *where, "--anyway"])
    told = capsys.readouterr()
    assert code == ExitCode.LEFT_BEHIND
    assert "1 of 2 cases not finished" in told.out
    assert WHY in told.err
    assert "vsperf clean" in told.err


def smoke(results: Path, *more: str) -> tuple[int, RunView]:
    where = ("--results", str(results), "--anyway", "--progress", "quiet")
    code = run_cli(["run", *(more or ("phy2phy_smoke", "--testbed", "sim", *TWO)), *where])
    return code, open_run(resolve(results, "latest"))


def test_what_a_case_found_stands_whatever_it_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    _, undisturbed = smoke(tmp_path / "undisturbed")
    with monkeypatch.context() as untidy:
        leaving(untidy, 1)
        code, stored = smoke(tmp_path / "results")
    assert code == ExitCode.LEFT_BEHIND
    told = f"after all was measured: something of a run is left on this machine: {LEFT}"
    assert told in " ".join(capsys.readouterr().out.split())
    (first, second), (expected, _) = stored.cases(), undisturbed.cases()
    assert (first.outcome, first.result) == (expected.outcome, expected.result)
    assert first.result is not None
    assert first.record is not None
    assert first.record.warnings[-1] == (
        f"{told}; to mend it: mend what stands in the way, then: vsperf clean"
    )
    assert second.attempt == 0, "nothing is measured beside what is left"
    code, stored = smoke(tmp_path / "results", "--resume", stored.run)
    first, second = stored.cases()
    assert (code, first.result, second.attempt) == (ExitCode.OK, expected.result, 1)


def test_a_run_that_goes_on_says_so_first_with_what_it_takes_from_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with monkeypatch.context() as untidy:
        leaving(untidy, 1)
        _, stored = smoke(tmp_path)
    capsys.readouterr()
    first, _ = stored.cases()
    assert first.record is not None
    where = ("--results", str(tmp_path), "--anyway")
    run_cli(["run", "--resume", "latest", *where, "--progress", "plain"])
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith(f"SIMULATED resuming {stored.run}: 1 case left, about ")
    assert told[1] == f"  taken from before: 1 case with {first.record.trials} trials"


@pytest.mark.parametrize(
    ("resumed", "said"),
    [
        (Resumed(0, 0, 0), "no case"),
        (Resumed(0, 0, 7), "no case; not taken: 7 trials of what was not finished"),
        (
            Resumed(2, 41, 1),
            "2 cases with 41 trials; not taken: 1 trial of what was not finished",
        ),
    ],
)
def test_trials_that_are_not_taken_are_told_of_as_well(resumed: Resumed, said: str) -> None:
    event = RunStarted("a-run", "results/a-run", (), 1.0, 0.0, None, False, resumed)
    begun, taken = plain_line(event).splitlines()
    assert begun.startswith("resuming a-run: 0 cases left, ")
    assert taken == f"  taken from before: {said}"


def test_trials_of_the_case_that_was_interrupted_count_as_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with written(tmp_path) as writer:
        key = planned()[0].case.key
        for line in (case_start(key), trial_line(key, 1), trial_line(key, 2)):
            writer.append(line)
    monkeypatch.setattr(session, "_require_same_ground", lambda header: None)
    taken = take_up(resolve(tmp_path, "latest"), Plugins.load(), ())
    taken.writer.close()
    assert taken.before is not None
    assert (len(taken.before.records), taken.before.dropped) == (0, 2)


@pytest.mark.parametrize(
    "error",
    [ComponentError("it does not end"), DiedError("it died"), OSError(16, "it is busy")],
    ids=repr,
)
def test_what_a_case_found_stands_whatever_fails_when_it_is_taken_down(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = SimulatedSwitch.start
    started: list[Any] = []

    @contextmanager
    def start_and_fail(*given: Any) -> Iterator[Any]:
        with start(*given) as running:
            started.append(running)
            yield running
        raise error

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(SimulatedSwitch, "start", start_and_fail)
    code, stored = smoke(tmp_path / "results")
    assert code == ExitCode.COMPONENT_FAILED
    assert len(started) == 2, "a case for which there is an answer is not measured anew"
    for case in stored.cases():
        assert case.record is not None
        assert (case.outcome, case.result is None) == (Outcome.PASS, False)
        assert case.record.warnings[-1].startswith("after all was measured: ")
        assert str(error.args[-1]) in case.record.warnings[-1]


@pytest.mark.parametrize(
    "stopped", [KeyboardInterrupt(), RecordingError("the disk is full")], ids=str
)
def test_what_ends_the_whole_run_is_told_with_what_is_left(
    stopped: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whoever presses Ctrl-C while a bridge cannot be removed has to know of the bridge."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place: Any = SimpleNamespace(left=(WHY,), owner=SimpleNamespace(purpose="a run"))

    def run_case(run: CaseRun) -> tuple[CaseRecord, VsperfError | None]:
        with nothing_left_of([place]):
            raise stopped

    monkeypatch.setattr(engine, "run_case", run_case)
    where = ("--results", str(tmp_path / "results"))
    code = run_cli(["run", "phy2phy_smoke", "--testbed", "sim", *where, "--anyway"])
    assert code == (130 if isinstance(stopped, KeyboardInterrupt) else 4)
    assert f"a run left something, see vsperf clean: {WHY}" in capsys.readouterr().err


# All cases of a run share one account of machine and software, so it has to be true of each.

HERE: dict[str, Any] = {
    "id": "0123456789ab",
    "host": {"hostname": "one", "cpu_model": "A", "memory_bytes": 8, "hugepages": [{"free": 3}]},
    "system": {"kernel": "6.1.0"},
    "packages": {"dpdk": "22.11"},
    "software": {"python": "3.11.7"},
}


def there(**changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return another account, in which these facts are others."""
    changed = {part: {**HERE[part], **facts} for part, facts in changes.items()}
    return {**HERE, "id": "ba9876543210", **changed}


def taken_up(
    results: Path, monkeypatch: pytest.MonkeyPatch, now: Mapping[str, Any], **begun: Any
) -> int:
    """Begin a run, and take it up where `now` is found; return how many cases are left."""
    monkeypatch.setattr(session, "environment", lambda: now)
    monkeypatch.setattr(session, "require_ready", lambda *_: [])
    with written(results, environment=HERE, **begun) as writer:
        folder = writer.folder
    found = take_up(folder, Plugins.load(), [])
    found.writer.close()
    return len(found.planned)


@pytest.mark.parametrize(
    ("now", "begun", "why"),
    [
        (HERE, {"vsperf_version": "0.0.9"}, "and was 0.0.9"),
        (there(system={"kernel": "6.2.0"}), {}, "system.kernel is 6.2.0, and was 6.1.0"),
        (there(host={"cpu_model": "B"}), {}, "host.cpu_model is B, and was A"),
        (there(packages={"dpdk": "23.11"}), {}, "packages.dpdk is 23.11, and was 22.11"),
    ],
    ids=["vsperf", "kernel", "machine", "package"],
)
def test_a_run_is_not_taken_up_where_its_account_would_not_be_true(
    now: Mapping[str, Any],
    begun: dict[str, Any],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(StoreError, match="cannot be resumed") as refused:
        taken_up(tmp_path, monkeypatch, now, simulated=False, **begun)
    (problem,) = refused.value.problems
    assert why in str(problem.why)
    assert "vsperf compare" in str(problem.fix)
    (folder,) = (one for one in tmp_path.iterdir() if one.name.startswith("20"))
    assert not open_run(folder).resumes


def test_it_is_where_only_that_has_changed_which_passes_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HERE["host"], "nics", [{"driver": "ixgbe", "device": "1"}])
    passing: dict[str, Any] = {"hostname": "two", "memory_bytes": 7, "hugepages": [{"free": 0}]}
    passing["nics"] = [{"driver": "vfio-pci", "device": "1"}]
    now = there(host=passing, software={"python": "3.11.8"})
    assert taken_up(tmp_path, monkeypatch, now, simulated=False) == len(SIZES)


@pytest.mark.parametrize(
    "damage",
    [
        {"traffic": None},
        {"traffic": {"frame_size": [64]}},
        {"name": [1]},
        {"search": {"kind": [1]}},
        {"vswitch": {"kind": {}}},
    ],
    ids=str,
)
def test_a_specification_that_was_damaged_is_refused_by_the_name_of_its_case(
    damage: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match="simulated-64B cannot be resumed"):
        taken_up(tmp_path, monkeypatch, HERE, damage=damage)


def test_so_is_a_simulated_one_on_any_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert taken_up(tmp_path, monkeypatch, there(system={"kernel": "6.2.0"})) == len(SIZES)


def test_so_is_one_of_which_nobody_can_say_that_anything_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine may be too busy to tell its packages, and an old record says less."""
    now = {**there(host={"microcode": "0x1"}), "packages": {}}
    assert taken_up(tmp_path / "busy", monkeypatch, now, simulated=False) == len(SIZES)
    monkeypatch.setitem(HERE, "id", None)
    now = there(system={"kernel": "6.2.0"})
    assert taken_up(tmp_path / "old", monkeypatch, now, simulated=False) == len(SIZES)


@pytest.mark.parametrize(
    "said",
    [
        "search: {kind: paired}\nlatency: null",
        "search: {kind: paired, load: 3Mpps}\nlatency: null",
        "vswitch: {kind: vpp, worker_cpus: '2,3'}",
        "vswitch: {kind: dpvs, worker_cpus: '2,3'}",
        "vswitch: {kind: ovs-dpdk, pmd_cpus: '2,3'}",
    ],
)
def test_what_a_run_recorded_fits_the_vsperf_that_wrote_it(said: str, tmp_path: Path) -> None:
    """All settings stand there, those that nobody wrote beside one that excludes them as well."""
    for case in cases(tmp_path, f"{said}\n"):
        recorded = announced(case)
        (restored,) = restore_cases([recorded], [recorded], DRIVERS)
        assert announced(restored) == recorded
