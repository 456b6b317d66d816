"""Cases with OVS between two virtual links, for tests that need no YAML."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from places import PLACEMENT
from switch_cases import started, switch_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import RunningSwitch
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdkSpec, ports_of
from vsperf.drivers.vswitches.ovs.rules import rule_count, rules
from vsperf.drivers.vswitches.ovs.running import RunningOvs
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement


def ovs_case(switch: Mapping[str, Any] | None = None, **sections: Any) -> CaseSpec:
    """Return a case with OVS-DPDK; `links` says more about links of the testbed."""
    return switch_case("ovs-dpdk", switch, **sections)


def plain_case(switch: Mapping[str, Any] | None = None, **sections: Any) -> CaseSpec:
    """Return a case with OVS without DPDK."""
    return switch_case("ovs", switch, **sections)


def rules_of(case: CaseSpec) -> list[str]:
    """Return the rules of OVS-DPDK, of which a plan says how many there are."""
    spec = case.vswitch
    assert isinstance(spec, OvsDpdkSpec)
    found = list(rules(case, spec, ports_of(case, spec)))
    assert len(found) == rule_count(case, spec)
    return found


def deployed(
    case: CaseSpec, placement: Placement = PLACEMENT
) -> AbstractContextManager[tuple[RunningOvs, Workspace]]:
    """Bring the switch up in a workspace of its own."""
    return started(case, placement)


def rules_in(running: RunningSwitch) -> list[str]:
    """Return the rules of a switch, in no order and without what they counted."""
    _, by_hand, *_ = running.access()
    argv = [*shlex.split(by_hand), "--no-stats"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return sorted(line for line in done.stdout.splitlines() if "actions=" in line)
