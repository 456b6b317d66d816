"""Cases with VPP between two virtual links, for tests that need no YAML."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from places import PLACEMENT
from switch_cases import started, switch_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.vpp.running import RunningVpp
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement

VPP_VARIABLE = "VSPERF_VPP"


def vpp_install() -> str | None:
    """Return the folder of the VPP to test: that of the variable, or of the one on the path."""
    if named := os.environ.get(VPP_VARIABLE):
        return named
    found = shutil.which("vpp")
    return None if found is None else str(Path(found).parent.parent)


def vpp_words() -> tuple[str, ...]:
    """Return the words of a command line by which a case gets the VPP to test."""
    return ("--vswitch=vpp", f"--set=vswitch.install={vpp_install()}")


def vpp_case(switch: Mapping[str, Any] | None = None, **sections: Any) -> CaseSpec:
    """Return a case with VPP; `links` says more about links of the testbed."""
    return switch_case("vpp", {"install": vpp_install(), **(switch or {})}, **sections)


def deployed(
    case: CaseSpec, placement: Placement = PLACEMENT
) -> AbstractContextManager[tuple[RunningVpp, Workspace]]:
    """Bring the switch up in a workspace of its own."""
    return started(case, placement)
