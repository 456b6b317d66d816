"""Small exact switches for the tests of searches, and the specifications that go with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from all_methods import method_of

from vsperf.config.case import CaseSpec
from vsperf.config.traffic import TrialPolicy
from vsperf.drivers.generators.sim import SimulatedGeneratorSpec
from vsperf.drivers.vswitches.sim import SimulatedSwitchSpec
from vsperf.methods.throughput import Throughput
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.result import GoalResult, SearchResult
from vsperf.records.trial import Direction, Purpose, Trial, intended_frames
from vsperf.search.base import Budget, Loads, Probe

LINE_RATE = 14_880_952
LOADS = Loads(9001, LINE_RATE, LINE_RATE, step=10_000)
RANGE = {"min_load": "9001fps", "max_load": "100%"}
NDR_PDR = {"ndr": {"loss_ratio": "0"}, "pdr": {"loss_ratio": "0.5%"}}

POLICY = TrialPolicy.model_validate(
    {
        "warm_up": "1s",
        "learning": True,
        "settle": "2s",
        "drain": "2s",
        "pause": "5s",
        "retries": 2,
        "offered_tolerance": "0.1%",
        "stretch_tolerance": "1%",
    }
)

METHODS: dict[str, dict[str, Any]] = {
    "mlr": {
        "kind": "mlr",
        "exceed_ratio": "50%",
        "initial_duration": "1s",
        "final_duration": "1s",
        "duration_sum": "21s",
        "width": "0.5%",
    },
    "mlr as rfc2544": {
        "kind": "mlr",
        "exceed_ratio": "0",
        "initial_duration": "1s",
        "final_duration": "60s",
        "duration_sum": "60s",
        "width": "0.5%",
    },
    "mlr as tst009": {
        "kind": "mlr",
        "exceed_ratio": "50%",
        "initial_duration": "1s",
        "final_duration": "60s",
        "duration_sum": "120s",
        "width": "0.5%",
    },
    "rfc2544": {"kind": "rfc2544", "duration": "60s", "resolution": "0.1%"},
    "tst009": {
        "kind": "tst009",
        "duration": "60s",
        "step": "10kfps",
        "max_repeats": 2,
        "loss_threshold": 5000,
    },
}


def spec_of(method: str, **changes: Any) -> Throughput:
    """Return a method, with NDR and PDR unless `changes` say otherwise."""
    found = method_of({"goals": NDR_PDR, **RANGE, **METHODS[method], **changes})
    assert isinstance(found, Throughput)
    return found


def case_of(method: str, **changes: Any) -> CaseSpec:
    """Return a case on the simulated testbed; `changes` replace whole sections."""
    sections = {
        "name": "sample",
        "topology": {"paths": [["phy0", "phy1"]]},
        "traffic": {"frame_size": "64B"},
        "trial": POLICY,
        "search": spec_of(method),
        "testbed": {
            "name": "sim",
            "simulated": True,
            "links": {"phy0": {"speed": "10G"}, "phy1": {"speed": "10G"}},
        },
        "vswitch": SimulatedSwitchSpec(kind="sim"),
        "generator": SimulatedGeneratorSpec(kind="sim"),
    }
    return CaseSpec.model_validate({**sections, **changes})


def way(intended: int, lost: int = 0, unsent: int = 0, name: str = "phy0 to phy1") -> Direction:
    """Return the counters of a direction; `lost` is what the switch lost of what was sent."""
    sent = intended - unsent
    return Direction(
        name=name, intended_frames=intended, sent_frames=sent, received_frames=sent - lost
    )


def trial(load_fps: int, duration_ns: int, ways: Sequence[Direction], *flags: Flag) -> Trial:
    """Return a valid trial with these counters."""
    return Trial(
        directions=tuple(ways),
        sending_ns=duration_ns,
        elapsed_ns=duration_ns + POLICY.overhead_ns,
        settled=True,
        index=1,
        purpose=Purpose.SEARCH,
        load_fps=load_fps,
        duration_ns=duration_ns,
        started_at="",
        flags=flags,
    )


def lossy(load_fps: int, seconds: float, loss: Fraction | int = 0) -> Trial:
    """Return a trial in one direction that lost a share of its frames, rounded to whole ones."""
    duration_ns = round(seconds * NANOSECONDS)
    intended = intended_frames(load_fps, duration_ns)
    return trial(load_fps, duration_ns, [way(intended, lost=round(intended * loss))])


Measure = Callable[[int, int], Trial]


def switch(forward_fps: int, reverse_fps: int | None = None, sends_fps: int = LINE_RATE) -> Measure:
    """Return an ideal switch with a capacity per direction, behind a generator with one too."""

    def measure(load_fps: int, duration_ns: int) -> Trial:
        intended = intended_frames(load_fps, duration_ns)
        sent = min(intended, intended_frames(sends_fps, duration_ns))
        ways = []
        capacities = {"phy0 to phy1": forward_fps, "phy1 to phy0": reverse_fps or forward_fps}
        for name, capacity in capacities.items():
            lost = max(0, sent - intended_frames(capacity, duration_ns))
            ways.append(way(intended, lost, intended - sent, name))
        short = (intended - sent) > POLICY.offered_tolerance.value * intended
        return trial(load_fps, duration_ns, ways, *([Flag.SHORT_OFFER] if short else []))

    return measure


def probe_of(measure: Measure, budget_s: float | None = None) -> Probe:
    """Return a probe, with as much budget as given."""
    limit = None if budget_s is None else round(budget_s * NANOSECONDS)
    return Probe(measure, Budget(limit), POLICY.overhead_ns)


def search(spec: Throughput, measure: Measure, loads: Loads = LOADS) -> SearchResult:
    """Run a search alone, without a budget."""
    return spec.search(loads).run(probe_of(measure))


def goal_of(result: SearchResult, name: str) -> GoalResult:
    """Return the answer to a goal."""
    return next(goal for goal in result.goals if goal.goal == name)
