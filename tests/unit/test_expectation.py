"""What is expected of a case: whether its trials will agree, and what it costs beside traffic."""

from __future__ import annotations

from dataclasses import replace

import pytest
from search_models import case_of
from simulated_cases import simulated_case

from vsperf.deploy.planner import CasePlan
from vsperf.engine.expectation import MODELLED_TRIAL_S, expected, overheads, presumption
from vsperf.host.cpus import Cpu, CpuTopology
from vsperf.methods.estimate import RESTLESS, STEADY, Overheads, Rehearsals
from vsperf.record.plan import Placement, Plan
from vsperf.spec.case import CaseSpec
from vsperf.spec.testbed import Testbed
from vsperf.units import NANOSECONDS
from vsperf.vswitches.base import SwitchPlan

SHARED = CpuTopology((Cpu(0), Cpu(1, core=1)))
ISOLATED = CpuTopology(tuple(replace(cpu, isolated=True) for cpu in SHARED.cpus))


def real_case() -> CaseSpec:
    links = {"phy0": {"speed": "10G"}, "phy1": {"speed": "10G"}}
    testbed = Testbed.model_validate({"name": "real", "links": links})
    return case_of("mlr").model_copy(update={"testbed": testbed})


def fixed(duration: str) -> dict[str, object]:
    return {"kind": "fixed", "loads": ["100%"], "duration": duration}


def plan() -> CasePlan:
    placement = Placement(cpus={"generator": (0,), "pmd": (1,)})
    made = Plan(steps=(), endpoints=(), directions=(), placement=placement)
    return CasePlan(made, SwitchPlan((), ()))


def test_trials_agree_in_a_model_and_on_isolated_cpus_only() -> None:
    assert presumption(simulated_case(), plan(), SHARED) is STEADY
    assert presumption(real_case(), plan(), ISOLATED) is STEADY
    assert presumption(real_case(), plan(), SHARED) is RESTLESS


def test_a_model_costs_nothing_beside_its_traffic() -> None:
    assert overheads(simulated_case(), calibrated=False, first=True) == Overheads()


def test_a_model_takes_its_time_here_by_trial_however_long_trials_are_in_it() -> None:
    short, long = (
        expected(simulated_case(search=fixed(duration)), STEADY, None, Rehearsals(), first=True)
        for duration in ("1s", "60s")
    )
    assert long.seconds > 10 * short.seconds
    assert long.here_s == short.here_s == pytest.approx(short.trials * MODELLED_TRIAL_S)


def test_a_model_that_waits_as_a_real_testbed_would_takes_as_long_here() -> None:
    case = simulated_case(generator={"realtime": 1}, search=fixed("60s"))
    found = expected(case, STEADY, None, Rehearsals(), first=True)
    assert found.here_s == pytest.approx(found.seconds, rel=0.01)


def test_what_is_real_takes_as_long_as_is_stated() -> None:
    assert expected(real_case(), RESTLESS, None, Rehearsals(), first=True).here_s is None


def test_trials_that_collectors_have_for_themselves_take_their_time() -> None:
    without, found = (
        expected(real_case(), STEADY, None, Rehearsals(), first=True, apart_ns=apart)
        for apart in ((), (5 * NANOSECONDS,) * 3)
    )
    assert found.trials == without.trials + 3
    assert found.seconds > without.seconds + 15


@pytest.mark.parametrize(
    ("calibrated", "first"), [(False, True), (False, False), (True, True)], ids=str
)
def test_what_is_not_known_yet_takes_time_to_find_out(calibrated: bool, first: bool) -> None:
    known = overheads(real_case(), calibrated=True, first=False)
    found = overheads(real_case(), calibrated=calibrated, first=first)
    assert found.case_ns > known.case_ns > 0
    assert found.trial_ns == known.trial_ns > 0
