"""Cases to explain: what trials at their bound and above it counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from record_samples import case_record, goal_result, trial

from vsperf.analysis.why import Measured, Sentence
from vsperf.records.host import Calibration, Conditions
from vsperf.records.result import Limit, SearchResult
from vsperf.records.switch import PmdCounters, PortCounters, SwitchCounters
from vsperf.records.trial import Trial

BOUND, ABOVE = 1_000_000, 1_100_000
SECOND_NS = 1_000_000_000


def cap(fps: int, round_trip_ns: int | None = None) -> Conditions:
    calibration = Calibration(
        frame_size=64,
        cap_fps=fps,
        method="mirror",
        measured_at="2026",
        cpus=(0, 1),
        round_trip_ns=round_trip_ns,
    )
    return Conditions(calibration=calibration)


def switch(frames: int = 0, busy: int = 0, idle: int = 0, **drops: int) -> SwitchCounters:
    port = PortCounters(
        name="phy1", link="phy1", received_frames=0, sent_frames=0, drops={"tx dropped": 0, **drops}
    )
    pmd = PmdCounters(cpu=1, frames=frames, busy_cycles=busy, idle_cycles=idle)
    return SwitchCounters(ports=(port,), pmds=(pmd,))


def passing(cycles: int = 200, **changes: Any) -> Trial:
    counted = switch(2_000_000, cycles * 2_000_000, 1000)
    return trial(**{"index": 1, "load_fps": BOUND, "switch": counted, **changes})


def lossy(**changes: Any) -> Trial:
    values = {"load_fps": ABOVE, "switch": switch(1_900_000, 10**9, 0), **changes}
    return trial(2, lost=100_000, **values)


def bound_at(fps: int, limit: Limit = Limit.DUT) -> SearchResult:
    """The result of a case that came to that load."""
    changes = {"limit": limit, "upper_fps": fps + fps // 10}
    return SearchResult(goals=(goal_result(fps).model_copy(update=changes),))


def case(*trials: Trial, limit: Limit = Limit.DUT, **changes: Any) -> Measured:
    values = {
        "result": bound_at(BOUND, limit),
        "limit": limit,
        "conditions": cap(3_000_000),
        **changes,
    }
    made = trials or (passing(), lossy())
    return Measured("here", case_record("case", **values), made)


def said(found: Sequence[Sentence], resource: str) -> Sentence:
    (one,) = [one for one in found if resource in one.resource]
    return one
