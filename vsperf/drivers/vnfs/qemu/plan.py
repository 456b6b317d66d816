"""Settings of VNFs that QEMU runs, what a case makes of each, and the steps to it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from vsperf.config.case import CaseSpec
from vsperf.config.counted import PowerOfTwo
from vsperf.config.rooted import RootedSpec
from vsperf.drivers.vnfs.settings import (
    VnfsSpec,
    by_vnf,
    deal_out,
    own_settings,
    require_ways_told_apart,
)
from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.tree import Tree
from vsperf.qemu.command import Vm, command_line
from vsperf.qemu.host import ON, QemuHost
from vsperf.quantities.human import counted
from vsperf.quantities.units import CpuSet, Duration
from vsperf.records.run import Placement, Step, Wire

PCI_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
PAGE_MB = 2
"""Size of the hugepages that guests get their memory from."""
FOR_TESTPMD = ("forward", "rx_descriptors", "tx_descriptors", "burst", "testpmd_arguments")
"""Settings that nothing but testpmd reads, and that only the agent can pass on to it."""
Word = Annotated[str, Field(min_length=1)]
Ring = Annotated[int, Field(ge=256, le=1024), PowerOfTwo]
Descriptors = Annotated[int, Field(ge=32, le=32768)]


class QemuSpec(VnfsSpec, RootedSpec):
    """Settings of virtual machines that QEMU runs."""

    shared: ClassVar[tuple[str, ...]] = (
        *VnfsSpec.shared,
        *("emulator_cpus", "root", "foreign_root"),
    )

    TELLS: ClassVar[str] = "guest"
    """The collector that it answers to."""
    HELD_STILL: ClassVar[bool] = True

    kind: Literal["qemu"]
    app: Literal["testpmd", "linux_bridge", "l2fwd", "none"] = "testpmd"
    """What forwards in the guest: DPDK's testpmd, the kernel's bridge, a forwarder that writes
    the addresses of the next hop, or nothing that vsperf starts."""
    forward: Literal["io", "mac", "macswap", "csum"] = "io"
    """How testpmd forwards: as it is, with the addresses of the next hop, with swapped addresses,
    or with new checksums."""
    queues: Annotated[int, Field(ge=1, le=16)] = 1
    """Queue pairs of each NIC."""
    vcpus: Annotated[int, Field(ge=1, le=64)] | None = None
    """Virtual CPUs of a VNF; one for each queue of a NIC when not given."""
    memory: Annotated[int, Field(ge=64, le=1048576)] = 256
    """Memory of a VNF [MB], a multiple of 2."""
    hugepages: bool = True
    """Take the memory from hugepages; without, it is slower, and enough for trying things out."""
    rx_descriptors: Descriptors = 512
    """Receive descriptors that the application in the guest asks for."""
    tx_descriptors: Descriptors = 512
    """Send descriptors that the application in the guest asks for."""
    burst: Annotated[int, Field(ge=1, le=512)] = 32
    """Most frames that testpmd handles at once."""
    rx_ring: Ring = 1024
    """Size of the virtio ring towards the guest, a power of two."""
    tx_ring: Ring = 1024
    """Size of the virtio ring from the guest, a power of two."""
    packed: bool = False
    """Use the packed layout of virtio rings."""
    mergeable: bool | None = None
    """Let a frame span several buffers; when not given, only if it is longer than 1518 bytes."""
    accelerator: Literal["auto", "kvm", "tcg"] = "auto"
    """KVM, or emulation (TCG). `auto` is KVM where a guest has been seen to boot on it."""
    machine: Word = "q35"
    """Machine type of QEMU."""
    cpu: Word = "auto"
    """CPU model of QEMU; `auto` is the host's under KVM, and all that TCG can do otherwise."""
    image: str | None = None
    """Disk image to boot, qcow2 or raw; it is never written to. vsperf's own guest, which needs
    none, when neither image nor kernel is given."""
    kernel: str | None = None
    """Kernel to boot in place of vsperf's own."""
    initrd: str | None = None
    """Initial RAM disk for that kernel."""
    append: str = ""
    """Words for the kernel's command line, after those that vsperf's own guest needs."""
    cloud_init: str | None = None
    """File with user data for cloud-init; the guest finds it on a drive called cidata."""
    agent: Literal["auto"] | bool = "auto"
    """Whether vsperf's agent runs in the guest; `auto` is yes for vsperf's own guest. Without it,
    nothing is started or counted inside, and a VNF is ready once it runs."""
    devices: tuple[str, ...] = ()
    """PCI devices of the host for the VNF, in place of its vhost-user NICs and in their
    order, such as virtual functions of a NIC: 0000:03:00.1. They can be planned only."""
    arguments: tuple[str, ...] = ()
    """More words for QEMU's command line."""
    testpmd_arguments: tuple[str, ...] = ()
    """More words for testpmd, such as --nb-cores=2."""
    boot_timeout: Duration = Duration(60_000_000_000)
    """How long a VNF may take until it forwards."""
    cpus: CpuSet | None = None
    """CPUs of all vCPUs of all VNFs, in this order."""
    emulator_cpus: CpuSet | None = None
    """CPUs of QEMU's other threads, which mostly sleep."""

    @field_validator("devices")
    @classmethod
    def _devices_are_addresses(cls, devices: tuple[str, ...]) -> tuple[str, ...]:
        found = []
        for device in devices:
            address = device.lower() if device.count(":") == 2 else f"0000:{device.lower()}"
            if not PCI_ADDRESS.fullmatch(address):
                raise ValueError(f"{device!r} is no PCI address, such as 0000:03:00.1")
            found.append(address)
        return tuple(found)

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        if self.memory % PAGE_MB:
            raise ValueError(f"memory is {self.memory} MB, which is no multiple of {PAGE_MB}")
        if self.initrd is not None and self.kernel is None:
            raise ValueError("initrd is given, and no kernel that would use it")
        if self.cloud_init is not None and self.image is None:
            raise ValueError("cloud_init is given, and no image that would read it")
        if self.append and self.kernel is None and self.image is not None:
            raise ValueError("append is given, but the image boots a kernel of its own")
        return self

    @model_validator(mode="after")
    def _settings_are_read(self, info: ValidationInfo) -> Self:
        """Refuse what would change nothing; one VNF may ignore what is set for all of them."""
        own = own_settings(info)
        ignored = [name for name in self._unread if own is None or name in own]
        if ignored:
            reason = (
                f"app is {self.app}; leave them out, or set them for single VNFs: each"
                if self.has_agent
                else "the guest has no agent; leave them out, or say `agent: true` if it has"
            )
            raise ValueError(f"nobody reads {', '.join(ignored)}, since {reason}")
        return self

    @property
    def _unread(self) -> tuple[str, ...]:
        """Name the settings that differ from their defaults and that nobody reads.

        Not whether they were written decides: a case that is read back has all of them written.
        """
        if self.has_agent and self.app == "testpmd":
            return ()
        told = FOR_TESTPMD if self.has_agent or self.app == "none" else ("app", *FOR_TESTPMD)
        fields = type(self).model_fields
        return tuple(name for name in told if getattr(self, name) != fields[name].default)

    @property
    def vcpu_count(self) -> int:
        return self.queues if self.vcpus is None else self.vcpus

    @property
    def writes_addresses(self) -> str | None:
        """The setting by which frames leave with other addresses; None if they do not."""
        if not self.has_agent:
            return None
        if self.app == "testpmd":
            return None if self.forward == "io" else f"vnf.forward={self.forward}"
        return "vnf.app=l2fwd" if self.app == "l2fwd" else None

    @property
    def own_guest(self) -> bool:
        """Whether it boots vsperf's own guest."""
        return self.image is None and self.kernel is None

    @property
    def tree(self) -> Tree:
        return Tree.of(self, "vnf")

    @property
    def has_agent(self) -> bool:
        """Whether vsperf's agent runs in the guest."""
        return self.own_guest if self.agent == "auto" else self.agent


MEGABYTE = 1 << 20

QemuVnf = Vm[QemuSpec]


def emulator_role(vnf: str) -> str:
    """Return the role of QEMU's other threads."""
    return f"{vnf} emulator"


def needs_of(case: CaseSpec, spec: QemuSpec) -> Needs:
    """Return CPUs for every vCPU and one for the rest of each QEMU, and the guests' memory."""
    settings = by_vnf(spec, case.topology)
    counts = {name: own.vcpu_count for name, own in settings.items()}
    pins = deal_out(spec.cpus, counts, spec.FORWARDING)
    found = []
    for name, own in settings.items():
        found.append(CpuNeed(name, own.vcpu_count, pinned=pins.get(name)))
        found.append(CpuNeed.of(emulator_role(name), spec.emulator_cpus, busy=False))
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
            f"vnf.devices names {counted(len(spec.devices), 'device')} for {name}, which has "
            f"{counted(len(wires), 'NIC')} in this topology",
            fix="name one device for each NIC, in their order",
        )
