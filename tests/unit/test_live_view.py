"""What is shown while a case runs: where its goals stand, by the rules of its answer."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from simulated_cases import SECOND, behaving, simulated_case

from vsperf.analysis.answers import interval
from vsperf.cli.main import run_cli
from vsperf.cli.progress import LiveProgress, trial_line
from vsperf.config.case import Case
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.generators.sim import SimulatedGenerator
from vsperf.drivers.vswitches.sim import SimulatedSwitch
from vsperf.engine.assignment import CaseRun
from vsperf.engine.calibration import Calibrator
from vsperf.engine.case import run_case
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.progress import Calibrated, CaseStarted, TrialFinished
from vsperf.records.result import COUNTED, Limit, SearchResult
from vsperf.records.trial import Direction, Purpose, Trial
from vsperf.search.base import Budget

LOSSY = {"loss_ratio": "0%"}
SEARCHES: dict[str, dict[str, Any]] = {
    "mlr": {
        "goals": {"ndr": LOSSY, "pdr": {"loss_ratio": "0.5%"}},
        "exceed_ratio": "50%",
        "initial_duration": "500ms",
        "final_duration": "1s",
        "duration_sum": "5s",
        "width": "1%",
    },
    "rfc2544": {"goals": {"ndr": LOSSY}, "duration": "1s", "resolution": "1%"},
    "tst009": {
        "goals": {"ndr": LOSSY},
        "duration": "1s",
        "step": "1%",
        "max_repeats": 2,
        "loss_threshold": 1000,
    },
}
TOP_FPS = 2_550_613


def case_of(kind: str = "mlr", switch: str = "soft-knee") -> Case:
    search = {"kind": kind, "min_load": "9kpps", "max_load": "100%", **SEARCHES[kind]}
    return Case(simulated_case(behaving(switch), search=search))


def live(case: Case, cap_fps: int | None = TOP_FPS) -> LiveProgress:
    """Return the view of a case of which it is known what the generator can do."""
    shown = LiveProgress(Console(file=io.StringIO(), width=100))
    shown(CaseStarted(case, 1, 1, 60.0, 0.0, None))
    shown(Calibrated(case, cap_fps))
    return shown


def made(load_fps: int, lost: int = 0, **changes: Any) -> Trial:
    ways = [("phy0 to phy1", 0), ("phy1 to phy0", lost)]
    values: dict[str, Any] = {
        "directions": tuple(
            Direction(
                name=name,
                intended_frames=load_fps,
                sent_frames=load_fps,
                received_frames=load_fps - missing,
            )
            for name, missing in ways
        ),
        "sending_ns": SECOND,
        "elapsed_ns": SECOND,
        "settled": True,
        "index": 1,
        "purpose": Purpose.SEARCH,
        "load_fps": load_fps,
        "duration_ns": SECOND,
        "started_at": "",
    }
    return Trial(**{**values, **changes})


def goals(shown: LiveProgress) -> tuple[str, ...]:
    assert shown.view is not None
    return shown.view.goals


def test_a_load_that_mostly_passed_is_no_upper_bound_of_the_view_either() -> None:
    """One trial of five failed, and half of the time may: the answer is that the load passed."""
    case = case_of()
    shown = live(case)
    for lost in (0, 23_046, 0, 0, 0):
        shown(TrialFinished(case, made(TOP_FPS, lost)))
    assert goals(shown) == ("ndr ≥ 2.550 Mfps", "pdr ≥ 2.550 Mfps")


def test_what_is_not_decided_yet_is_said_to_be_searched_for() -> None:
    case = case_of()
    shown = live(case)
    assert goals(shown)[0] == "ndr unknown, still searching"
    shown(TrialFinished(case, made(TOP_FPS, 23_046)))
    shown(TrialFinished(case, made(2_000_000)))
    assert goals(shown)[0] == "ndr 2.000 … 2.551 Mfps, still searching"


def test_what_was_made_on_a_deployment_that_died_says_nothing_of_the_next() -> None:
    case = case_of()
    shown = live(case)
    shown(TrialFinished(case, made(2_000_000)))
    shown(Calibrated(case, TOP_FPS))
    assert goals(shown)[0] == "ndr unknown, still searching"


def test_what_is_no_trial_of_the_search_says_nothing_of_a_goal() -> None:
    case = case_of()
    shown = live(case)
    shown(TrialFinished(case, made(2_000_000, purpose=Purpose.WARM_UP)))
    assert Purpose.WARM_UP not in COUNTED
    assert goals(shown)[0] == "ndr unknown, still searching"


@pytest.mark.parametrize("switch", ["soft-knee", "noisy", "inversion", "never-lossy"])
@pytest.mark.parametrize("kind", SEARCHES)
def test_what_is_shown_last_is_the_answer(kind: str, switch: str) -> None:
    last, result = searched(case_of(kind, switch))
    for line, goal in zip(last, result.goals, strict=True):
        said, _, searching = line.partition(", ")
        assert said == f"{goal.goal} {interval(goal)}"
        assert not searching or goal.limit is Limit.UNKNOWN


def searched(case: Case) -> tuple[tuple[str, ...], SearchResult]:
    """Return what was shown of the goals of a simulated case last, and what it came to."""
    shown, writer = live(case), SimpleNamespace(run="a-run", append=lambda line: None)
    drivers = Drivers(SimulatedSwitch(), SimulatedGenerator())
    plan = make_plan(case.spec, drivers, CpuTopology((Cpu(0), Cpu(1, core=1))))
    keeping: Any = writer
    record, _ = run_case(CaseRun(case, plan, drivers, keeping, shown, Budget(), Calibrator()))
    assert record.result is not None
    return goals(shown), record.result


# How long it still takes, by the time that passes for whoever waits.


@pytest.mark.parametrize(("here_s", "left"), [(None, "about 20 s left"), (1.0, "about 50 s of")])
def test_the_time_left_is_that_of_the_case_less_what_has_passed(
    here_s: float | None, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here what parts take to be deployed passes, too; in a model trials alone take time."""
    case, shown = case_of(), LiveProgress(Console(file=io.StringIO(), width=100))
    shown(CaseStarted(case, 1, 1, 60.0, 0.0, here_s))
    shown(TrialFinished(case, made(2_000_000, elapsed_ns=10 * SECOND)))
    assert shown.view is not None
    now = shown.view.started + 40
    later = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("vsperf.cli.progress.time", later)
    out = Console(file=io.StringIO(), width=100)
    out.print(shown._render())
    assert isinstance(out.file, io.StringIO)
    assert left in out.file.getvalue()


# A line of a trial has the loss that tables have, of all directions, and the share that decides.


def line_of(*lost: int) -> str:
    ways = tuple(
        Direction(
            name=name,
            intended_frames=10_000,
            sent_frames=10_000,
            received_frames=10_000 - missing,
        )
        for name, missing in zip(("phy0 to phy1", "phy1 to phy0"), lost, strict=False)
    )
    return trial_line(made(10_000, directions=ways)).partition("1 s  ")[2]


def test_a_line_has_the_loss_of_all_directions_and_the_share_of_the_worse_one() -> None:
    assert line_of(1_000, 4_000) == "lost 5,000, max 40% (phy1 to phy0)"
    assert line_of(1_000) == "lost 1,000 (10%)"
    assert line_of(0, 0) == "lost 0"


def test_what_comes_too_often_one_way_makes_up_for_no_loss_of_the_other() -> None:
    assert line_of(1_000, -3_000) == "lost 1,000, max 10% (phy0 to phy1)"
    assert line_of(-1_000) == "1,000 more than sent, phy0 to phy1"


def test_explain_says_of_which_direction_a_loss_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["explain", "lost"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "of all directions together" in said
    assert "that of the worse direction" in said
