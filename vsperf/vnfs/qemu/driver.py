"""The driver: QEMU's machines for a case, and nothing left of them."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import AbstractContextManager
from functools import cache
from typing import ClassVar

from vsperf.errors import UsageError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Check
from vsperf.host.files import Roots, numbered
from vsperf.host.workspace import Workspace
from vsperf.record.plan import Placement, Step, Wire
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec
from vsperf.vnfs.qemu.checks import check, require_no_devices
from vsperf.vnfs.qemu.doctor import CHECKS
from vsperf.vnfs.qemu.image import planned_image
from vsperf.vnfs.qemu.kvm import Probe, cache_file
from vsperf.vnfs.qemu.plan import (
    PROGRAM,
    Surroundings,
    machines_of,
    needs_of,
    notes_of,
    steps_of,
)
from vsperf.vnfs.qemu.running import QemuMachines, all_started
from vsperf.vnfs.qemu.spec import QemuSpec
from vsperf.vnfs.settings import by_machine

ANSWER_S = 10.0
RUN_WITH = re.compile(r"^-run-with\b(?:.*\n[ \t])*.*\buser=", re.MULTILINE)


class Qemu:
    """Boots real guests, and lets them forward."""

    kind: ClassVar[str] = "qemu"
    summary: ClassVar[str] = "virtual machines of QEMU on vhost-user or taps, with KVM or emulated"
    Spec: ClassVar[type[DriverSpec]] = QemuSpec
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(case, _spec_of(case))

    def plan(
        self, case: CaseSpec, wires: tuple[Wire, ...], placement: Placement
    ) -> tuple[Step, ...]:
        here = surroundings()
        machines = machines_of(case, _spec_of(case), wires, placement, here)
        return steps_of(machines, here, PROGRAM)

    def require(self, case: CaseSpec) -> None:
        settings = by_machine(_spec_of(case), case.topology)
        require_no_devices(settings)
        check(settings, probe())

    def notes(self, case: CaseSpec) -> tuple[str, ...]:
        return notes_of(case, _spec_of(case), surroundings())

    def start(
        self,
        case: CaseSpec,
        wires: tuple[Wire, ...],
        placement: Placement,
        workspace: Workspace,
    ) -> AbstractContextManager[QemuMachines]:
        spec = _spec_of(case)
        self.require(case)
        machines = machines_of(case, spec, wires, placement, surroundings())
        return all_started(machines, PROGRAM, workspace)


def probe() -> Probe:
    """Return what can tell whether guests boot on KVM."""
    return Probe(planned_image(), PROGRAM, cache_file())


def surroundings() -> Surroundings:
    """Return what this host decides, as far as it is known without trying anything."""
    known = probe().known()
    nodes = max(1, len(numbered(Roots().nodes, "node")))
    vhost = (Roots().dev / "vhost-net").exists()
    root = os.geteuid() == 0
    return Surroundings(
        planned_image(),
        known.accelerator if known else None,
        nodes,
        vhost,
        root=root,
        run_with=root and has_run_with(PROGRAM),
    )


@cache
def has_run_with(program: str) -> bool:
    """Whether this QEMU's help has `-run-with user=`; a QEMU that is not there has nothing."""
    try:
        done = subprocess.run(  # noqa: S603 - an argument vector of our own
            (program, "-help"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return RUN_WITH.search(done.stdout) is not None


def _spec_of(case: CaseSpec) -> QemuSpec:
    if not isinstance(case.vnf, QemuSpec):
        kind = None if case.vnf is None else case.vnf.kind
        raise UsageError(
            f"QEMU was given settings of kind {kind!r}",
            fix="--set vnf.kind=qemu",
        )
    return case.vnf
