"""Cases with DPVS between two virtual links, for tests that need no YAML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from connection_cases import opened_through

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.dpvs.layout import DpvsSpec

DPVS_VARIABLE = "VSPERF_DPVS"


def dpvs_install() -> str | None:
    """Return the folder of the DPVS to test, if one is named."""
    return os.environ.get(DPVS_VARIABLE) or None


def dpvs_case(
    settings: Mapping[str, Any] | None = None,
    links: Mapping[str, Mapping[str, str]] | None = None,
    **more: Any,
) -> CaseSpec:
    """Return a case with DPVS; `links` says which devices both ends of links have."""
    case = opened_through("external", **more)
    known = case.testbed.links
    ends = {name: known[name].model_copy(update={**one}) for name, one in (links or {}).items()}
    testbed = case.testbed.model_copy(update={"links": {**known, **ends}})
    switch = DpvsSpec.model_validate(
        {"kind": "dpvs", "install": dpvs_install(), **(settings or {})}
    )
    return case.model_copy(update={"vswitch": switch, "testbed": testbed})
