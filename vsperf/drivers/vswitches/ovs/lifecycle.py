"""One instance from its programs to its end, as both drivers have it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.ovs.bringup import instance
from vsperf.drivers.vswitches.ovs.checks import check, require_network
from vsperf.drivers.vswitches.ovs.plan import Design, switch_plan
from vsperf.drivers.vswitches.ovs.programs import Programs, find_programs, planned_programs
from vsperf.drivers.vswitches.ovs.running import RunningOvs
from vsperf.host.tree import Tree
from vsperf.host.workspace import Workspace


def planned(design: Design) -> SwitchPlan:
    """Say what `deployed` will do."""
    spec = design.spec
    return switch_plan(design, planned_programs(spec.install, Tree.of(spec), dpdk=design.dpdk))


def required(design: Design) -> Programs:
    """Return the programs; raise `NotReadyError` for what the machine lacks."""
    spec = design.spec
    programs = find_programs(spec.install, Tree.of(spec), dpdk=design.dpdk)
    require_network(design)
    return programs


@contextmanager
def deployed(design: Design, workspace: Workspace) -> Iterator[RunningOvs]:
    """Bring the instance up; leaving the context takes it down."""
    spec = design.spec
    programs = find_programs(spec.install, Tree.of(spec), dpdk=design.dpdk)
    check(design, workspace)
    with instance(design, programs, workspace) as running:
        try:
            yield running
        finally:
            running.stopped = True
