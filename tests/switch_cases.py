"""Cases with any switch between two virtual links, for tests that need no YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from places import PLACEMENT, room
from simulated_cases import PATIENCE, patiently, simulated_case

from vsperf.config.case import CaseSpec
from vsperf.deploy.deployment import Deployment, deploy, prepare
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.generators.tgen.driver import TgenGenerator
from vsperf.drivers.vnfs.process.driver import ProcessVnf
from vsperf.drivers.vswitches.base import RunningSwitch, VSwitch
from vsperf.host.cpus import Cpu, CpuTopology, Needs
from vsperf.host.workspace import Nowhere, Workspace
from vsperf.plugins import Plugins
from vsperf.records.run import Placement
from vsperf.records.trial import TrialCounts

P2P = {"name": "p2p", "paths": [["phy0", "phy1"]]}
PVP = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
PVVP = {"name": "pvvp", "paths": [["phy0", "vm1", "vm2", "phy1"]]}
PVPV = {"name": "pvpv", "paths": [["phy0", "vm1", "phy1"], ["phy0", "vm2", "phy1"]]}
V2V = {"name": "v2v", "paths": [["vm1", "vm2"]]}
TWO_CPUS = CpuTopology((Cpu(0), Cpu(1, core=1)))


def switch_case(
    kind: str,
    switch: Mapping[str, Any] | None = None,
    links: Mapping[str, Mapping[str, str]] | None = None,
    **sections: Any,
) -> CaseSpec:
    """Return a case with a switch of a kind; `links` says more about links of the testbed."""
    vswitch = driver_of(kind).Spec.model_validate({"kind": kind, **(switch or {})})
    names = dict.fromkeys(["phy0", "phy1", *(links or {})])
    testbed = {
        "name": "local",
        "links": {name: {"speed": "10G", **(links or {}).get(name, {})} for name in names},
    }
    return simulated_case(**{"vswitch": vswitch, "testbed": testbed, **sections})


def real_case(kind: str, switch: Mapping[str, Any] | None = None, **sections: Any) -> CaseSpec:
    """Return a case for real parts, on a machine that other tests use at the same time.

    Sending may take long, no more is on its way than has room in a ring that nobody empties, and
    what is on its way at the end is waited for though somebody sleeps meanwhile. VNFs are
    processes.
    """
    generator = TgenGenerator.Spec.model_validate(
        {"kind": "tgen", "grace": PATIENCE, "in_flight": 128, "hugepages": False}
    )
    if "topology" in sections:
        vnf = {"kind": "process", "hugepages": False}
        sections = {"vnf": ProcessVnf.Spec.model_validate(vnf), **sections}
    case = switch_case(kind, switch, **sections)
    patient = patiently(case, offered_tolerance="1%", drain="500ms", linger="100ms")
    return patient.model_copy(update={"generator": generator})


def driver_of(kind: str) -> VSwitch:
    """Return the driver of a switch, found as a run finds it."""
    found: VSwitch = plugins().driver("vswitch", kind)
    return found


@cache
def plugins() -> Plugins:
    """Return the drivers of this installation, which are looked for once."""
    return Plugins.load()


@contextmanager
def deployed(case: CaseSpec) -> Iterator[tuple[Deployment, Workspace]]:
    """Deploy a case as a run does, and see that nothing is left of it."""
    drivers = Drivers.of(case, plugins())
    plan = make_plan(case, drivers, TWO_CPUS)
    with room("a test of switches") as place, ExitStack() as stack:
        prepare(case, plan, place, stack)
        yield deploy(case, plan, drivers, place, stack), place


@contextmanager
def started(case: CaseSpec, placement: Placement = PLACEMENT) -> Iterator[tuple[Any, Workspace]]:
    """Bring the switch up alone, in a workspace of its own."""
    driver = driver_of(case.vswitch.kind)
    plan = driver.plan(case, placement)
    with room("a test of a switch") as place, driver.start(case, plan, placement, place) as running:
        yield running, place


def all_arrived(counts: TrialCounts) -> list[int]:
    """See that all arrived whole that was sent; return how many frames each direction sent.

    That are fewer than were asked for where the machine was away for longer than sending may take.
    """
    sent = [way.sent_frames for way in counts.directions]
    assert [way.good_frames for way in counts.directions] == sent
    assert all(sent)
    return sent


def ran_nothing(driver: VSwitch, case: CaseSpec) -> RunningSwitch:
    """See that a driver asks for nothing, starts nothing and counts nothing; return what ended."""
    plan = driver.plan(case, Placement())
    assert driver.needs(case) == Needs()
    assert [step.argv for step in plan.steps] == [None]
    with driver.start(case, plan, Placement(), Nowhere()) as running:
        assert running.failure() is None
        assert running.counters() is None
        assert running.access() == ()
    return running
