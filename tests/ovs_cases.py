"""Cases with OVS between two virtual links, for tests that need no YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from simulated_cases import simulated_case

from vsperf.host.workspace import Workspace, workspace
from vsperf.record.plan import Placement
from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import VSwitch
from vsperf.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.vswitches.ovs.plain.driver import Ovs
from vsperf.vswitches.ovs.running import RunningOvs

PLACEMENT = Placement(cpus={"pmd": (1,), "switch main": (0,), "generator": (0,)})


def ovs_case(
    switch: Mapping[str, Any] | None = None,
    links: Mapping[str, Mapping[str, str]] | None = None,
    **sections: Any,
) -> CaseSpec:
    """Return a case with OVS-DPDK; `links` says more about links of the testbed."""
    return _case(OvsDpdk(), switch, links, **sections)


def plain_case(
    switch: Mapping[str, Any] | None = None,
    links: Mapping[str, Mapping[str, str]] | None = None,
    **sections: Any,
) -> CaseSpec:
    """Return a case with OVS without DPDK."""
    return _case(Ovs(), switch, links, **sections)


def _case(
    driver: VSwitch,
    switch: Mapping[str, Any] | None,
    links: Mapping[str, Mapping[str, str]] | None,
    **sections: Any,
) -> CaseSpec:
    vswitch = driver.Spec.model_validate({"kind": driver.kind, **(switch or {})})
    names = dict.fromkeys(["phy0", "phy1", *(links or {})])
    testbed = {
        "name": "local",
        "links": {name: {"speed": "10G", **(links or {}).get(name, {})} for name in names},
    }
    return simulated_case(**{"vswitch": vswitch, "testbed": testbed, **sections})


@contextmanager
def deployed(
    case: CaseSpec, placement: Placement = PLACEMENT
) -> Iterator[tuple[RunningOvs, Workspace]]:
    """Bring the switch up in a workspace of its own."""
    driver = OvsDpdk() if case.vswitch.kind == OvsDpdk.kind else Ovs()
    plan = driver.plan(case, placement)
    with (
        workspace("a test of OVS") as place,
        driver.start(case, plan, placement, place) as running,
    ):
        yield running, place
