"""Cases on the simulated testbed, for tests that need no YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from typing import Any

import pytest
from all_methods import method_of
from places import PLACEMENT, started_generator, started_switch

from vsperf.config.case import CaseSpec
from vsperf.config.traffic import TrialPolicy
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.sim import SimulatedGenerator, SimulatedSession
from vsperf.drivers.vswitches.sim import SimulatedSwitch
from vsperf.engine.assignment import CaseRun
from vsperf.host.owner import Owner
from vsperf.host.workspace import Nowhere
from vsperf.records.trial import TrialCounts
from vsperf.simulation.switch import SwitchModel

SECOND = 1_000_000_000
WAYS = {
    "both": (("phy0", "phy1"), ("phy1", "phy0")),
    "forward": (("phy0", "phy1"),),
    "reverse": (("phy1", "phy0"),),
}
CAPACITY_FPS = 1_000_000
KINDS = (
    "soft-knee",
    "ideal",
    "noisy",
    "random-loss",
    "inversion",
    "asymmetric",
    "never-lossy",
    "always-lossy",
    "one-frame-loss",
    "duplicating",
    "warm-up",
    "dies",
)


def simulated_case(
    switch: Mapping[str, Any] | None = None,
    generator: Mapping[str, Any] | None = None,
    traffic: Mapping[str, Any] | None = None,
    **sections: Any,
) -> CaseSpec:
    """Return a case between two 10G links, with the given settings on top of the defaults."""
    links = {"phy0": {"speed": "10G"}, "phy1": {"speed": "10G"}}
    policy = {
        "warm_up": "0s",
        "learning": False,
        "settle": "10ms",
        "drain": "100ms",
        "pause": "1ms",
        "retries": 1,
        "offered_tolerance": "0.1%",
        "stretch_tolerance": "1%",
    }
    content: dict[str, Any] = {
        "name": "simulated",
        "topology": {"name": "p2p", "paths": [["phy0", "phy1"]]},
        "traffic": {"frame_size": "64B", **(traffic or {})},
        "trial": policy,
        "search": {"kind": "fixed", "loads": ["100%"], "duration": "1s"},
        "testbed": {"name": "sim", "simulated": True, "links": links},
        "vswitch": SimulatedSwitch.Spec.model_validate({"kind": "sim", **(switch or {})}),
        "generator": SimulatedGenerator.Spec.model_validate({"kind": "sim", **(generator or {})}),
    }
    content |= sections
    return CaseSpec.model_validate(content | {"search": method_of(content["search"])})


class Patient(TrialPolicy):
    """Has a real generator send on until all has left, on a machine that is away again and again.

    It takes no longer than its frames do; what nobody can send in that time stays unsent.
    """

    def allowed_late_ns(self, duration_ns: int) -> int:
        return 20 * duration_ns


PATIENCE = "2s"
"""Of a generator beside a `Patient` policy: several stalls of a machine, one after the other."""


def patiently(case: CaseSpec, **policy: object) -> CaseSpec:
    """Return a case whose trials are so, with other settings of the policy."""
    trial = Patient.model_validate(case.trial.model_dump() | policy)
    return case.model_copy(update={"trial": trial})


def behaving(kind: str, **settings: Any) -> dict[str, Any]:
    """Return switch settings for a behaviour, with a capacity of `CAPACITY_FPS` each way."""
    return {"capacity": f"{CAPACITY_FPS}fps", "behaviour": {"kind": kind, **settings}}


@contextmanager
def session(case: CaseSpec) -> Iterator[SimulatedSession]:
    """Deploy the case's switch and generator."""
    switch, generator = SimulatedSwitch(), SimulatedGenerator()
    plan = switch.plan(case, PLACEMENT)
    ways = WAYS[case.traffic.direction]
    with (
        started_switch(switch, case, plan),
        started_generator(generator, case, plan.endpoints, ways) as running,
    ):
        yield running


def trials(case: CaseSpec, *loads_fps: int, duration_ns: int = SECOND) -> list[TrialCounts]:
    """Return a trial for each load, all in one session."""
    with session(case) as running:
        return [running.run(TrialRequest(load, duration_ns)) for load in loads_fps]


def switch_of(case: CaseSpec) -> SwitchModel:
    """Return the switch that the case's endpoints describe."""
    return SwitchModel.at(SimulatedSwitch().plan(case, PLACEMENT).endpoints[0].address)


LEFT = "process 7 does not end"


def leaving(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    """Have these of all places of a run, in the order in which they are made, leave something."""
    made = count(1)

    def workspace(run: CaseRun) -> AbstractContextManager[Nowhere]:
        place = Nowhere()
        if next(made) in numbers:
            place.left, place.owner = (LEFT,), Owner.this_process("a run")
        return nullcontext(place)

    monkeypatch.setattr(CaseRun, "workspace", workspace)
