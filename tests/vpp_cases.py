"""Cases with VPP between two virtual links, for tests that need no YAML."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulated_cases import simulated_case

from vsperf.host.workspace import Workspace, workspace
from vsperf.record.plan import Placement
from vsperf.spec.case import CaseSpec
from vsperf.vswitches.vpp.driver import Vpp
from vsperf.vswitches.vpp.running import RunningVpp

PLACEMENT = Placement(cpus={"pmd": (1,), "switch main": (0,), "generator": (0,)})
VPP_VARIABLE = "VSPERF_VPP"
P2P = {"name": "p2p", "paths": [["phy0", "phy1"]]}
PVP = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
PVPV = {"name": "pvpv", "paths": [["phy0", "vm1", "phy1"], ["phy0", "vm2", "phy1"]]}
PVVP = {"name": "pvvp", "paths": [["phy0", "vm1", "vm2", "phy1"]]}
V2V = {"name": "v2v", "paths": [["vm1", "vm2"]]}


def vpp_install() -> str | None:
    """Return the folder of the VPP to test: that of the variable, or of the one on the path."""
    if named := os.environ.get(VPP_VARIABLE):
        return named
    found = shutil.which("vpp")
    return None if found is None else str(Path(found).parent.parent)


def vpp_case(
    switch: Mapping[str, Any] | None = None,
    links: Mapping[str, Mapping[str, str]] | None = None,
    **sections: Any,
) -> CaseSpec:
    """Return a case with VPP; `links` says more about links of the testbed."""
    vswitch = Vpp.Spec.model_validate({"kind": "vpp", "install": vpp_install(), **(switch or {})})
    names = dict.fromkeys(["phy0", "phy1", *(links or {})])
    testbed = {
        "name": "local",
        "links": {name: {"speed": "10G", **(links or {}).get(name, {})} for name in names},
    }
    return simulated_case(**{"vswitch": vswitch, "testbed": testbed, **sections})


@contextmanager
def deployed(
    case: CaseSpec, placement: Placement = PLACEMENT
) -> Iterator[tuple[RunningVpp, Workspace]]:
    """Bring the switch up in a workspace of its own."""
    driver = Vpp()
    plan = driver.plan(case, placement)
    with (
        workspace("a test of VPP") as place,
        driver.start(case, plan, placement, place) as running,
    ):
        yield running, place
