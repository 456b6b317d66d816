"""The driver: a guest of QEMU for each VNF of a case, and nothing left of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import reading
from vsperf.drivers.vnfs.base import Vnf
from vsperf.drivers.vnfs.group import Group
from vsperf.drivers.vnfs.qemu.checks import CHECKS, check, require_no_devices
from vsperf.drivers.vnfs.qemu.plan import (
    QemuSpec,
    QemuVnf,
    needs_of,
    notes_of,
    start_message,
    steps_of,
    vnfs_of,
)
from vsperf.drivers.vnfs.settings import by_vnf
from vsperf.host.binding import bound
from vsperf.host.cpus import Needs
from vsperf.host.doctor.wants import Want
from vsperf.host.workspace import Workspace
from vsperf.qemu.host import probe, program_of, qemu_host
from vsperf.qemu.launch import started
from vsperf.qemu.vm import RunningVm
from vsperf.records.run import Placement, Step, Wire

_spec_of = reading("vnf.kind=qemu", QemuSpec, "QEMU")
Deadlines = tuple[tuple[RunningVm, float], ...]
"""When each VNF is to forward, on the monotonic clock."""


@dataclass
class QemuVnfs(Group[RunningVm]):
    """All VNFs of a deployment, in the order of the topology."""

    planned: Mapping[str, QemuVnf]
    """What each of them was made of, by its name."""

    def await_forwarding(self) -> None:
        """Wait until every VNF forwards; they boot side by side."""
        deadlines = self._deadlines()
        for running, deadline in deadlines:
            running.plug_in(deadline)
        self._await_guests(deadlines)

    def reboot(self) -> None:
        """Reset all VNFs, whose QEMUs go on, and wait until every guest forwards again."""
        deadlines = self._deadlines()
        for running in self.vnfs:
            running.reset()
        self._await_guests(deadlines)
        for running in self.vnfs:
            running.has_reset()

    def insides(self) -> dict[str, dict[str, int]]:
        """Return what the kernels of the guests count, for who collects that."""
        return {of: values for one in self.vnfs for of, values in one.inside().items()}

    def _deadlines(self) -> Deadlines:
        now = time.monotonic()
        return tuple((one, now + one.vm.spec.boot_timeout.seconds) for one in self.vnfs)

    def _await_guests(self, deadlines: Deadlines) -> None:
        for running, deadline in deadlines:
            running.boot(deadline)
            told = start_message(self.planned[running.name], running.device_macs())
            running.tell(deadline, told)
        for running, deadline in deadlines:
            running.await_application(deadline)
            running.pin()

    def processes(self) -> tuple[int, ...]:
        """Return the QEMUs: a guest stands still when all threads of its QEMU do."""
        return tuple(running.program.pid for running in self.vnfs)

    def access(self) -> tuple[str, ...]:
        found = []
        for running in self.vnfs:
            vm, fill = running.vm, running.workspace.fill
            if vm.spec.has_agent:
                found.append(f"vsperf shell {running.name}")
                found.append(f"socat -,raw,echo=0 UNIX-CONNECT:{fill(vm.shell)}")
            found.append(f"tail -f {fill(vm.console)}")
        return tuple(found)


@contextmanager
def all_started(vnfs: Sequence[QemuVnf], program: str, workspace: Workspace) -> Iterator[QemuVnfs]:
    """Start every VNF; leaving the context ends all of them at once."""
    devices = [address for vnf in vnfs for address in vnf.spec.devices]
    with ExitStack() as stack:
        if devices:
            stack.enter_context(bound(devices, workspace))
        running = [stack.enter_context(started(vnf, program, workspace)) for vnf in vnfs]
        try:
            yield QemuVnfs(running, {vnf.name: vnf for vnf in vnfs})
        finally:
            if not workspace.kept:
                for one in running:
                    one.power_off()  # all of them now; each is waited for when it is its turn


class Qemu(Vnf):
    """Boots real guests, and lets them forward."""

    kind = "qemu"
    summary = "virtual machines of QEMU on vhost-user or taps, with KVM or emulated"
    Spec = QemuSpec
    wants = frozenset({Want.QUIET_CPUS})
    checks = CHECKS

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
