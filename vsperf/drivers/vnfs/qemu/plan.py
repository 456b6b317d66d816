"""What a case makes of each VNF, and the steps that start them. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.drivers.vnfs.qemu.spec import QemuSpec
from vsperf.drivers.vnfs.settings import by_vnf, deal_out, require_ways_told_apart
from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.qemu.command import Vm, command_line
from vsperf.qemu.host import ON, QemuHost
from vsperf.records.run import Placement, Step, Wire

MEGABYTE = 1 << 20

QemuVnf = Vm[QemuSpec]


def emulator_role(vnf: str) -> str:
    """Return the role of QEMU's other threads."""
    return f"{vnf} emulator"


def needs_of(case: CaseSpec, spec: QemuSpec) -> Needs:
    """Return CPUs for every vCPU and one for the rest of each QEMU, and the guests' memory."""
    settings = by_vnf(spec, case.topology)
    counts = {name: own.vcpu_count for name, own in settings.items()}
    pins = deal_out(spec.cpus, counts, "vCPUs")
    emulator = None if spec.emulator_cpus is None else spec.emulator_cpus.cpus
    found = []
    for name, own in settings.items():
        found.append(CpuNeed(name, own.vcpu_count, pinned=pins.get(name)))
        count = len(emulator) if emulator else 1
        found.append(CpuNeed(emulator_role(name), count, busy=False, pinned=emulator))
    memory = sum(own.memory for own in settings.values() if own.hugepages)
    return Needs(cpus=tuple(found), hugepage_bytes=memory * MEGABYTE)


def vnfs_of(
    case: CaseSpec,
    spec: QemuSpec,
    wires: Sequence[Wire],
    placement: Placement,
    host: QemuHost,
) -> tuple[QemuVnf, ...]:
    """Return every VNF with everything decided; what is not known yet becomes emulation."""
    settings = by_vnf(spec, case.topology)
    writers = {name: own.writes_addresses for name, own in settings.items()}
    require_ways_told_apart(case.topology, {name: why for name, why in writers.items() if why})
    found = []
    for name, own in settings.items():
        nics = tuple(
            sorted((wire for wire in wires if wire.vnf == name), key=lambda wire: wire.nic)
        )
        _check_devices(name, own, nics)
        nodes = placement.nodes.get(name, (0,)) if host.nodes > 1 else ()
        found.append(
            Vm(
                name=name,
                index=int(name.removeprefix("vm")),
                spec=own,
                wires=nics,
                accelerator=host.accelerator_of(own) or "tcg",
                image=host.image,
                frame_bytes=case.traffic.longest.bytes,
                cpus=placement.of(name),
                emulator_cpus=placement.of(emulator_role(name)),
                nodes=nodes,
                root=host.root,
                run_with=host.run_with,
                vhost=host.vhost,
            )
        )
    return tuple(found)


def steps_of(vnfs: Sequence[QemuVnf], host: QemuHost, program: str) -> tuple[Step, ...]:
    """Return all that starting the VNFs does, in order."""
    plugged = (_plug(vnf) for vnf in vnfs if vnf.taps)
    started = (_start(vnf, host, program) for vnf in vnfs)
    told = (_tell(vnf) for vnf in vnfs)
    return (*plugged, *started, *told)


def notes_of(case: CaseSpec, spec: QemuSpec, host: QemuHost) -> tuple[str, ...]:
    """Return what the guests run on, as far as it is known."""
    settings = by_vnf(spec, case.topology)
    kinds = {host.accelerator_of(own) for own in settings.values()}
    notes = []
    if "tcg" in kinds:
        notes.append("guests are emulated (TCG): the result is functional only")
    if "kvm" in kinds:
        notes.append("guests run on KVM")
    if None in kinds:
        notes.append(
            "guests run on KVM if one boots on it, which has not been tried; else they are "
            "emulated (TCG), and the result is functional only"
        )
    if any(own.devices for own in settings.values()):
        notes.append("vnf.devices can be planned only: a run refuses them")
    return tuple(notes)


def start_message(vnf: QemuVnf, macs: Sequence[str] | None = None) -> dict[str, Any]:
    """Return what the agent is told; `macs` replaces the addresses that the NICs were given."""
    spec = vnf.spec
    return {
        "app": spec.app,
        "nics": list(macs) if macs is not None else [wire.mac for wire in vnf.wires],
        "forward": spec.forward,
        "queues": spec.queues,
        "rx_descriptors": spec.rx_descriptors,
        "tx_descriptors": spec.tx_descriptors,
        "burst": spec.burst,
        "mtu": vnf.mtu,
        "peers": [wire.peer_mac for wire in vnf.wires],
        "arguments": list(spec.testpmd_arguments),
    }


def _plug(vnf: QemuVnf) -> Step:
    copier = "vhost-net copies" if vnf.vhost else "QEMU copies, as there is no vhost-net,"
    queues = ", for several queues" if vnf.spec.queues > 1 else ""
    return Step(
        component="vnf",
        action=f"make the taps of {vnf.name}, between which and the guest {copier} the frames",
        lines=tuple(
            f"tap {wire.address} up, mtu {vnf.mtu}, without IPv6 and ARP{queues}"
            for wire in vnf.taps
        ),
    )


def _start(vnf: QemuVnf, host: QemuHost, program: str) -> Step:
    known = host.accelerator_of(vnf.spec)
    on = ON[known]
    pins = ", ".join(f"vCPU {number} on CPU {cpu}" for number, cpu in enumerate(vnf.cpus))
    others = ", ".join(str(cpu) for cpu in vnf.emulator_cpus)
    where = f"; {pins}; its other threads on CPU {others}" if pins and others else ""
    guest = "vsperf's own guest" if vnf.spec.own_guest else "the user's guest"
    return Step(
        component="vnf",
        action=f"start {vnf.name}, {guest}, {on}{where}",
        argv=command_line(program, vnf),
    )


def _tell(vnf: QemuVnf) -> Step:
    if not vnf.spec.has_agent:
        return Step(component="vnf", action=f"wait until {vnf.name} runs; it has no agent")
    return Step(
        component="vnf",
        action=f"tell {vnf.name} to forward with {vnf.spec.app}, and wait until it does",
        lines=(json.dumps({"verb": "start", **start_message(vnf)}),),
    )


def _check_devices(name: str, spec: QemuSpec, wires: Sequence[Wire]) -> None:
    if spec.devices and len(spec.devices) != len(wires):
        raise UsageError(
            f"vnf.devices names {len(spec.devices)} devices for {name}, which has {len(wires)} "
            "NICs in this topology",
            fix="name one device for each NIC, in their order",
        )
