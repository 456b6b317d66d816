"""Cases with VNFs that QEMU runs, and what they are plugged into, for tests that need no YAML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ovs_cases import ovs_case
from wires import wires_of

from vsperf.config.case import CaseSpec
from vsperf.drivers.vnfs.qemu.plan import QemuSpec, QemuVnf, vnfs_of
from vsperf.qemu.host import QemuHost
from vsperf.qemu.image import GuestImage
from vsperf.records.run import Placement

PVP = (("phy0", "vm1", "phy1"),)
PVVP = (("phy0", "vm1", "vm2", "phy1"),)
V2V = (("vm1", "vm2"),)
IMAGE = GuestImage(Path("guest"), {"image": "abc", "append": "console=ttyS0 quiet"})
EMULATED = QemuHost(IMAGE, "tcg")
ACCELERATED = QemuHost(IMAGE, "kvm")
UNTRIED = QemuHost(IMAGE, None)


def qemu_spec(**settings: Any) -> QemuSpec:
    return QemuSpec.model_validate({"kind": "qemu", **settings})


def qemu_case(
    paths: Sequence[Sequence[str]] = PVP, frame_size: str = "64B", **settings: Any
) -> CaseSpec:
    """Return a case with OVS-DPDK and VNFs; `settings` are those of the VNFs."""
    return ovs_case(
        topology={"name": "vnfs", "paths": paths},
        traffic={"frame_size": frame_size},
        vnf=qemu_spec(**settings),
    )


def placement_of(case: CaseSpec, cpu: int = 0) -> Placement:
    """Return a placement for two CPUs: the switch polls on one, all else shares the other."""
    guests = {role: (cpu,) for name in case.topology.vnfs for role in (name, f"{name} emulator")}
    return Placement(cpus={"pmd": (1,), "switch main": (0,), "generator": (0,), **guests})


def vnfs(
    case: CaseSpec, host: QemuHost = EMULATED, kind: str = "vhost-user-client"
) -> tuple[QemuVnf, ...]:
    assert isinstance(case.vnf, QemuSpec)
    return vnfs_of(case, case.vnf, wires_of(case, kind), placement_of(case), host)
