"""The main job for real: one command measures OVS-DPDK on this machine, and can account for it."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from real_runs import FIXED, Ended, Place, fixture_calibrations, fixture_place, hugepages

from vsperf.engine.conditions import moved
from vsperf.host.hugepages import read_pools
from vsperf.records.files.validation import validate_file
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.host import Calibration
from vsperf.records.result import Limit
from vsperf.records.run import Outcome, Plan
from vsperf.records.trial import Purpose

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

SMOKE = (
    "run",
    "phy2phy_smoke",
    "--set=trial.warm_up=0s",
    "--set=trial.drain=500ms",
    "--set=trial.retries=5",
    "--set=trial.stretch_tolerance=100%",
    "--set=trial.offered_tolerance=100%",
    "--set=search.goals.ndr.loss_ratio=99.9%",
    "--set=traffic.frame_size=[64,512]",
    "--set=search.min_load=1kfps",
    "--set=search.max_load=2kfps",
    "--set=search.duration_sum=200ms",
)
"""A search whose trials fit into a ring whole, and pass by the first frame: a generator that was
kept from running cannot cost it its answer, even if it came to no more than that."""
SEARCH = (
    "run",
    "phy2phy_smoke",
    "--set=trial.warm_up=0s",
    "--set=search.width=25%",
    "--set=search.duration_sum=200ms",
    "--set=latency=null",
)
"""A search of the kind that people make, up to what this machine can do."""
DEAD_END = (
    "--set=testbed.links.phy0.switch=net_null0,no-rx=1",
    "--set=testbed.links.phy0.generator=net_null1,no-rx=1",
)
"""A port of the switch that swallows what it is given, with nothing at its other end."""
TO_THE_FRAME = "--set=trial.drain=500ms"
"""Who has frames at the end of a trial may not run for a while, and has not counted them then."""


class Smoke(NamedTuple):
    """The run that most tests look at."""

    ended: Ended
    stored: RunView
    cache: Path
    """Where its calibrations are kept."""


@pytest.fixture(name="smokes", scope="module")
def fixture_smokes() -> list[Smoke]:
    return []


@pytest.fixture(name="smoke")
def fixture_smoke(
    smokes: list[Smoke], place: Place, tmp_path_factory: pytest.TempPathFactory
) -> Smoke:
    """Measure once for all tests of this file: two frame sizes, nothing calibrated before."""
    if not smokes:
        fresh = tmp_path_factory.mktemp("fresh")
        ended = place(*SMOKE, XDG_CACHE_HOME=str(fresh))
        assert ended.code == 0, ended.err
        stored = place.records()
        validate_file(stored.folder / "records.jsonl")
        smokes.append(Smoke(ended, stored, fresh))
    return smokes[0]


def filled(text: str, folder: Path) -> str:
    """Fill in a plan as the deployment in `folder` does."""
    return text.replace("RUN", str(folder)).replace("NAME", folder.name)


def command_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]


def asked(command: str) -> str:
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def plan_of(place: Place) -> dict[str, Any]:
    """Return what `vsperf plan` says of the shortest run."""
    ended = place("plan", *FIXED[1:], "--json")
    assert ended.code == 0, ended.err
    (planned,) = json.loads(ended.out)
    plan: dict[str, Any] = planned["plan"]
    return plan


def plan_as_stored(case: CaseView) -> Plan:
    start = case.start
    assert start is not None
    return start.plan


@pytest.mark.everyday("the main job: one search from end to end, which five tests look at")
def test_one_command_measures_two_frame_sizes(smoke: Smoke) -> None:
    ended, stored, _ = smoke
    assert not stored.header.simulated
    assert (stored.end and stored.end.exit_code) == 0
    assert [case.planned.point["frame_size"] for case in stored.cases()] == ["64B", "512B"]
    for case in stored.cases():
        assert case.record is not None
        assert case.record.outcome is Outcome.PASS
        assert case.record.result is not None
        (goal,) = case.record.result.goals
        assert goal.lower_fps == 2_000
        assert case.record.limit is Limit.SETTING
    assert "SIMULATED" not in ended.out


@pytest.mark.everyday
def test_every_trial_accounts_for_its_frames(smoke: Smoke) -> None:
    for case in smoke.stored.cases():
        for trial in (trial for trial in case.trials if trial.valid):
            assert trial.switch is not None
            assert trial.unexplained_frames is not None
            assert abs(trial.unexplained_frames) <= trial.sent_frames // 10_000
            assert sum(pmd.frames for pmd in trial.switch.pmds) == trial.sent_frames


@pytest.mark.everyday
def test_a_path_check_comes_before_every_search(smoke: Smoke) -> None:
    ended, stored, _ = smoke
    assert ended.phases.count("check the path") == len(tuple(stored.cases()))
    for case in stored.cases():
        purposes = list(dict.fromkeys(trial.purpose for trial in case.trials))
        assert purposes == [Purpose.PATH_CHECK, Purpose.SEARCH, Purpose.LATENCY]
        checks = [trial for trial in case.trials if trial.purpose is Purpose.PATH_CHECK]
        assert all(way.good_frames > 0 for way in checks[-1].directions)


@pytest.mark.everyday
def test_latency_is_measured_in_a_trial_of_its_own(smoke: Smoke) -> None:
    for case in smoke.stored.cases():
        asked = [trial for trial in case.trials if trial.purpose is Purpose.LATENCY]
        (trial,) = [trial for trial in asked if trial.valid]  # one is repeated until it is
        assert all(way.latency_histogram for way in trial.directions)
        assert trial.reference == "50% of ndr"


@pytest.mark.everyday
def test_plan_placement_and_conditions_are_recorded(smoke: Smoke) -> None:
    for case in smoke.stored.cases():
        plan = plan_as_stored(case)
        assert set(plan.placement.cpus) == {"pmd", "switch main", "generator", "vsperf"}
        assert plan.hugepage_bytes
        assert case.record is not None
        found = case.record.conditions
        assert found is not None
        assert {stall.cpu for stall in found.stalls} == {
            *plan.placement.of("pmd"),
            *plan.placement.of("generator"),
        }
        assert str(found.switch["dpdk_version"]).startswith("DPDK ")
        assert found.generator["tgen"]
    assert smoke.stored.header.environment["checks"]


def test_a_search_to_the_limit_bounds_it_or_says_what_cost_it_the_answer(place: Place) -> None:
    ended = place(*SEARCH)
    (case,) = place.records().cases()
    assert case.record is not None and case.record.result is not None
    assert ended.code == {Outcome.PASS: 0, Outcome.INVALID: 5}[case.record.outcome], ended.err
    (goal,) = case.record.result.goals
    assert len({trial.load_fps for trial in case.trials if trial.purpose is Purpose.SEARCH}) > 1
    if ended.code == 0:
        assert goal.lower_fps is not None
        assert goal.upper_fps is None or goal.lower_fps < goal.upper_fps
        assert goal.limit not in (Limit.SETTING, Limit.LINK, Limit.BUDGET)
    else:
        assert case.record.reason or goal.flags


def calibration_of(case: CaseView) -> Calibration:
    assert case.record is not None
    assert case.record.conditions is not None
    assert case.record.conditions.calibration is not None
    return case.record.conditions.calibration


def test_the_generator_is_calibrated_once_and_anew_when_asked_to(
    smoke: Smoke, place: Place
) -> None:
    assert [calibration_of(case).cached for case in smoke.stored.cases()] == [False, False]
    first = calibration_of(next(smoke.stored.cases()))
    place(*FIXED, XDG_CACHE_HOME=str(smoke.cache))
    (again,) = map(calibration_of, place.records().cases())
    distances = first.round_trip_ns, again.round_trip_ns
    assert None not in distances
    assert again.cached is not moved([trip for trip in distances if trip is not None])
    place(*FIXED, "--recalibrate", XDG_CACHE_HOME=str(smoke.cache))
    assert [calibration_of(case).cached for case in place.records().cases()] == [False]


def test_a_port_that_leads_nowhere_is_diagnosed_and_not_searched(place: Place) -> None:
    ended = place(*FIXED, *DEAD_END, TO_THE_FRAME)
    assert ended.code == 4, ended.err
    (case,) = place.records().cases()
    assert case.record is not None
    assert case.record.outcome is Outcome.ERROR
    assert "the path is broken" in case.record.reason
    assert "phy1 to phy0: 100 frames sent, 0 arrived" in case.record.reason
    assert "phy1 took 100 and gave 0" in case.record.reason
    assert {trial.purpose for trial in case.trials} == {Purpose.PATH_CHECK}
    assert "search" not in ended.phases


@contextmanager
def no_hugepages() -> Iterator[None]:
    """Take away all hugepages that nobody uses."""
    before = {pool.folder: pool.total for pool in read_pools()}
    for pool in read_pools():
        pool.resize(pool.total - pool.free)
    try:
        yield
    finally:
        for pool in read_pools():
            pool.resize(before[pool.folder])


def test_hugepages_are_reserved_for_the_run_and_given_back(place: Place) -> None:
    with no_hugepages():
        before = hugepages()
        run = place.start(*FIXED)
        run.wait_for("PhaseEntered", phase="search")
        assert sum(hugepages().values()) > sum(before.values())
        assert run.end().code == 0
        assert hugepages() == before


def test_a_second_run_is_refused_while_the_first_one_goes_on(place: Place) -> None:
    first = place.start(*FIXED)
    first.wait_for("PhaseEntered", phase="calibrate")
    second = place(*FIXED)
    assert second.code == 3, second.err
    assert "testbed local is in use" in second.said
    assert f"process {first.process.pid}" in second.said
    assert second.events == []
    assert first.end().code == 0
    folders = [path for path in place.results.iterdir() if path.is_dir() and not path.is_symlink()]
    assert len(folders) == 1, "of a run that was refused there is no record"


def test_a_kept_deployment_is_what_was_planned_and_stays_until_it_is_cleaned(place: Place) -> None:
    plan = plan_of(place)
    ended = place(*FIXED, "--keep")
    assert ended.code == 0, ended.err
    (kept,) = ended.of("DeploymentKept")
    folder = Path(kept["folder"])
    said = [asked(command) for command in kept["access"]]
    assert "Bridge vsperf-br" in said[0]

    (case,) = place.records().cases()
    assert plan_as_stored(case).model_dump(mode="json") == plan
    steps = {step["action"]: step for step in plan["steps"]}
    argvs = [[filled(word, folder) for word in step["argv"] or ()] for step in steps.values()]
    for pid, name in place.programs().items():
        argv = command_of(pid)
        assert any(planned[-len(argv) :] == argv for planned in argvs), name
    assert case.record is not None
    assert case.record.conditions is not None
    assert case.record.conditions.generator["argv"] in argvs
    settings = next(step["lines"] for name, step in steps.items() if "settings" in name)
    found = case.record.conditions.switch["other_config"]
    assert isinstance(found, dict)
    assert found == dict(line.split("=", 1) for line in settings), "by the words of the plan"
    rules = next(step["lines"] for name, step in steps.items() if "rules" in name)
    for rule in rules:
        match, _, actions = rule.partition(",actions=")
        ports = match.rpartition("in_port=")[2], actions.rpartition("output:")[2]
        assert any(_goes(line, *ports) for line in said[1].splitlines()), rule

    refused = place(*FIXED)
    assert refused.code == 3, refused.err
    assert "a deployment that was kept is still up" in refused.err
    assert place("clean").code == 0
    assert place.traces() == []


def _goes(line: str, enters: str, leaves: str) -> bool:
    """Whether a rule, as the switch prints it, sends from one port to another, by number or name.

    Links are numbered from 1, in their order.
    """
    names = {"1": ("1", "phy0", '"phy0"'), "2": ("2", "phy1", '"phy1"')}
    return any(f"in_port={name} " in line for name in names[enters]) and any(
        line.endswith(f"output:{name}") for name in names[leaves]
    )
