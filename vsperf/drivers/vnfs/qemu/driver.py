"""The driver: a guest of QEMU for each VNF of a case, and nothing left of them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vnfs.qemu.checks import check, require_no_devices
from vsperf.drivers.vnfs.qemu.doctor import CHECKS
from vsperf.drivers.vnfs.qemu.plan import (
    needs_of,
    notes_of,
    steps_of,
    vnfs_of,
)
from vsperf.drivers.vnfs.qemu.running import QemuVnfs, all_started
from vsperf.drivers.vnfs.qemu.spec import QemuSpec
from vsperf.drivers.vnfs.settings import by_vnf
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Check
from vsperf.host.doctor.wants import Want
from vsperf.host.workspace import Workspace
from vsperf.qemu.host import probe, program_of, qemu_host
from vsperf.records.run import Placement, Step, Wire


class Qemu:
    """Boots real guests, and lets them forward."""

    kind: ClassVar[str] = "qemu"
    summary: ClassVar[str] = "virtual machines of QEMU on vhost-user or taps, with KVM or emulated"
    Spec: ClassVar[type[DriverSpec]] = QemuSpec
    wants: ClassVar[frozenset[Want]] = frozenset({Want.QUIET_CPUS})
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(case, _spec_of(case))

    def plan(
        self, case: CaseSpec, wires: tuple[Wire, ...], placement: Placement
    ) -> tuple[Step, ...]:
        spec = _spec_of(case)
        here = qemu_host(spec.tree)
        vnfs = vnfs_of(case, spec, wires, placement, here)
        return steps_of(vnfs, here, program_of(spec.tree))

    def require(self, case: CaseSpec) -> None:
        spec = _spec_of(case)
        settings = by_vnf(spec, case.topology)
        require_no_devices(settings)
        check(settings, probe(spec.tree))

    def notes(self, case: CaseSpec) -> tuple[str, ...]:
        return notes_of(case, _spec_of(case), qemu_host(_spec_of(case).tree))

    def start(
        self,
        case: CaseSpec,
        wires: tuple[Wire, ...],
        placement: Placement,
        workspace: Workspace,
    ) -> AbstractContextManager[QemuVnfs]:
        spec = _spec_of(case)
        self.require(case)
        vnfs = vnfs_of(case, spec, wires, placement, qemu_host(spec.tree))
        return all_started(vnfs, program_of(spec.tree), workspace)


def _spec_of(case: CaseSpec) -> QemuSpec:
    return own_settings(case.vnf, QemuSpec, "QEMU", "vnf.kind=qemu")
