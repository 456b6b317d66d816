"""Settings of VNFs that QEMU runs. What decides a number is always written, also at its default."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from vsperf.config.counted import PowerOfTwo
from vsperf.config.rooted import RootedSpec
from vsperf.drivers.vnfs.settings import VnfsSpec, own_settings
from vsperf.host.tree import Tree
from vsperf.quantities.units import CpuSet, Duration

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
        """Number of virtual CPUs."""
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
        """Where QEMU is run."""
        return Tree.of(self, "vnf")

    @property
    def has_agent(self) -> bool:
        """Whether vsperf's agent runs in the guest."""
        return self.own_guest if self.agent == "auto" else self.agent
