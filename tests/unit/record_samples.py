"""Records as a run makes them, for the tests of everything that stores or reads records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag
from vsperf.records.result import (
    Compliance,
    GoalResult,
    Level,
    Limit,
    LoadResult,
    SearchResult,
    Standard,
)
from vsperf.records.run import (
    CaseRecord,
    CaseStart,
    Check,
    Endpoint,
    Line,
    Outcome,
    Plan,
    PlannedCase,
    RunEnd,
    RunHeader,
    Step,
    TrialLine,
)
from vsperf.records.trial import Direction, Purpose, Trial

TIME = "2026-11-20T10:00:00Z"
SECOND_NS = 1_000_000_000


def planned(number: int = 1, **changes: Any) -> PlannedCase:
    size = (64, 128, 256, 512, 1024, 1280, 1518)[(number - 1) % 7]
    values: dict[str, Any] = {
        "key": f"phy2phy_tput-{size}B-{number:08x}",
        "id": f"phy2phy_tput-{size}B-{number:08x}",
        "label": f"phy2phy_tput-{size}B",
        "point": {"frame_size": f"{size}B"},
        "repeat": 1,
        "spec": {
            "name": "phy2phy_tput",
            "tags": ["throughput", "smoke"],
            "traffic": {"frame_size": f"{size}B", "flows": "4096"},
            "testbed": {"name": "sim"},
        },
        "origins": {"traffic.frame_size": "phy2phy_tput.yaml:5"},
    }
    return PlannedCase(**{**values, **changes})


def header(run: str = "2026-11-20-phy2phy_tput-k7f3", cases: int = 2, **changes: Any) -> RunHeader:
    values: dict[str, Any] = {
        "run": run,
        "started_at": TIME,
        "simulated": True,
        "testbed": "sim",
        "preset": "quick",
        "argv": ("vsperf", "run", "phy2phy_tput"),
        "vsperf_version": "0.1.0",
        "environment": {"kernel": "6.1.0", "cpus": 2, "note": "µ – 交换机"},
        "cases": tuple(planned(number) for number in range(1, cases + 1)),
    }
    return RunHeader(**{**values, **changes})


def making(**changes: Any) -> Callable[[str], RunHeader]:
    return lambda run: header(run, **changes)


def plan() -> Plan:
    return Plan(
        steps=(Step(component="vswitch", action="start the model", argv=None),),
        endpoints=(Endpoint(link="phy0", kind="sim", address="linear"),),
        directions=(("phy0", "phy1"), ("phy1", "phy0")),
        notes=("SIMULATED",),
    )


def case_start(case: str, attempt: int = 1) -> CaseStart:
    return CaseStart(case=case, attempt=attempt, started_at=TIME, plan=plan())


def trial(index: int = 1, lost: int = 0, **changes: Any) -> Trial:
    ways = (("phy0-phy1", lost), ("phy1-phy0", 0))
    values: dict[str, Any] = {
        "directions": tuple(
            Direction(
                name=name,
                intended_frames=1_000_000,
                sent_frames=1_000_000,
                received_frames=1_000_000 - missing,
            )
            for name, missing in ways
        ),
        "sending_ns": SECOND_NS,
        "elapsed_ns": SECOND_NS + 10_000_000,
        "settled": True,
        "index": index,
        "purpose": Purpose.SEARCH,
        "load_fps": 1_000_000,
        "duration_ns": SECOND_NS,
        "started_at": TIME,
    }
    return Trial(**{**values, **changes})


def trial_line(case: str, index: int = 1, lost: int = 0) -> TrialLine:
    return TrialLine(case=case, trial=trial(index, lost))


def goal(lower: int | None, upper: int | None, name: str = "ndr", **changes: Any) -> GoalResult:
    """Return the answer to a goal that the switch limited, unless `changes` say otherwise."""
    values: dict[str, Any] = {
        "goal": name,
        "loss_ratio": "0",
        "lower_fps": lower,
        "upper_fps": upper,
        "throughput_fps": lower,
        "limit": Limit.DUT,
        "reason": "the switch lost frames above",
    }
    return GoalResult(**{**values, **changes})


def goal_result(lower_fps: int | None = 8_000_000) -> GoalResult:
    return goal(lower_fps, 8_040_000, reason="loss grew with load", flags=(Flag.LOSS_INVERSION,))


def given_load(load_fps: int = 1, **changes: Any) -> LoadResult:
    """Return what became of a load that was given: one trial, in which it got through."""
    values: dict[str, Any] = {
        "load_fps": load_fps,
        "trials": 1,
        "passed": 1,
        "worst_loss_ratio": "0",
        "throughput_fps": load_fps,
        "limit": Limit.DUT,
        "reason": "",
    }
    return LoadResult(**{**values, **changes})


def lossy_load(ratio: str, **changes: Any) -> LoadResult:
    """Return a load of which this share was lost."""
    return given_load(**{"passed": 0, "worst_loss_ratio": ratio, **changes})


def case_record(case: str, **changes: Any) -> CaseRecord:
    values: dict[str, Any] = {
        "case": case,
        "outcome": Outcome.PASS,
        "reason": "",
        "result": SearchResult(goals=(goal_result(),)),
        "limit": Limit.DUT,
        "flags": (),
        "checks": (Check(criterion="ndr >= 8Mpps", met=True, found="8.000 Mfps"),),
        "compliance": (
            Compliance(standard=Standard.RFC2544, level=Level.NOT, deviations=("trials of 1 s",)),
        ),
        "warnings": (),
        "trials": 3,
        "measured_ns": 3 * SECOND_NS,
        "finished_at": TIME,
    }
    return CaseRecord(**{**values, **changes})


def view_of(
    case: PlannedCase, record: CaseRecord | None = None, trials: Sequence[Trial] = ()
) -> CaseView:
    """Return a case that was tried once, as readers see it."""
    return CaseView(Path(), header(), case, record=record, trials=trials, attempt=1)


def run_end(exit_code: int = 0) -> RunEnd:
    return RunEnd(finished_at=TIME, exit_code=exit_code)


def case_lines(case: str, trials: int = 3, attempt: int = 1) -> Iterator[Line]:
    yield case_start(case, attempt)
    for index in range(1, trials + 1):
        yield trial_line(case, index, lost=7 * (index % 2))
    yield case_record(case, trials=trials)


def run_lines(head: RunHeader, trials: int = 3) -> Iterator[Line]:
    """All lines of a finished run after its header."""
    for case in head.cases:
        yield from case_lines(case.key, trials)
    yield run_end()
