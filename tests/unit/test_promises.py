"""A driver whose answer is not what its protocol says is named, in a plan already."""

from __future__ import annotations

from typing import Any

import pytest
from simulated_cases import simulated_case
from switch_cases import TWO_CPUS

from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.generators.sim import SimulatedGenerator
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.ports import Place, vhost_endpoint
from vsperf.drivers.vswitches.sim import SimulatedSwitch
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.plugins import DriverError
from vsperf.records.run import Step

STEP = Step(component="vswitch", action="start it")
PHY0, PHY1 = (vhost_endpoint(Place(name), "vhost-user") for name in ("phy0", "phy1"))


@pytest.mark.parametrize(
    ("method", "answer", "told"),
    [
        ("plan", None, "`plan` returned None, and not a `SwitchPlan`"),
        ("plan", (STEP, PHY0), "`plan` returned a `tuple`"),
        ("plan", SwitchPlan([STEP], (PHY0, PHY1)), "SwitchPlan.steps is a `list`"),  # type: ignore[arg-type]
        ("plan", SwitchPlan((STEP,), (PHY0, "phy1")), "SwitchPlan.endpoints holds a `str`"),  # type: ignore[arg-type]
        ("plan", SwitchPlan((STEP,), ()), "endpoints for none; the topology p2p has .* phy0, phy1"),
        ("plan", SwitchPlan((STEP,), (PHY0, PHY0)), "endpoints for phy0, phy0"),
        ("needs", None, "`needs` returned None, and not `Needs`"),
        ("needs", Needs(cpus=CpuNeed("pmd", 1)), "Needs.cpus is a `CpuNeed`"),  # type: ignore[arg-type]
        ("needs", Needs((CpuNeed("poller", 1),)), "the role 'poller'; a switch has 'pmd'"),
    ],
)
def test_a_slip_of_a_switch_is_told_by_its_name(
    monkeypatch: pytest.MonkeyPatch, method: str, answer: Any, told: str
) -> None:
    driver = SimulatedSwitch()
    monkeypatch.setattr(driver, method, lambda *_: answer, raising=False)
    with pytest.raises(DriverError, match=f"SimulatedSwitch: .*{told}") as caught:
        make_plan(simulated_case(), Drivers(driver, SimulatedGenerator()), TWO_CPUS)
    assert caught.value.module == SimulatedSwitch.__module__
