"""What has to be decided about a guest before QEMU can run it, whoever decides it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vsperf.host.tree import HERE, Tree
from vsperf.quantities.units import Duration

QUICK_BOOT = Duration(60_000_000_000)


class GuestSettings(Protocol):
    """Settings of one guest, as users wrote them or as a driver has chosen them."""

    @property
    def app(self) -> str:
        """What the agent starts."""

    @property
    def queues(self) -> int:
        """Queue pairs of each NIC."""

    @property
    def vcpu_count(self) -> int:
        """Number of virtual CPUs."""

    @property
    def memory(self) -> int:
        """Memory [MB]."""

    @property
    def hugepages(self) -> bool:
        """Whether its memory is taken from hugepages."""

    @property
    def rx_ring(self) -> int:
        """Size of the virtio ring towards the guest."""

    @property
    def tx_ring(self) -> int:
        """Size of the virtio ring from the guest."""

    @property
    def packed(self) -> bool:
        """Whether rings have the packed layout."""

    @property
    def mergeable(self) -> bool | None:
        """Whether a frame may span several buffers; None: only if it is long."""

    @property
    def accelerator(self) -> str:
        """`kvm`, `tcg`, or `auto`."""

    @property
    def machine(self) -> str:
        """Machine type of QEMU."""

    @property
    def cpu(self) -> str:
        """CPU model of QEMU, or `auto`."""

    @property
    def image(self) -> str | None:
        """Disk image to boot."""

    @property
    def kernel(self) -> str | None:
        """Kernel to boot."""

    @property
    def initrd(self) -> str | None:
        """Initial RAM disk for that kernel."""

    @property
    def append(self) -> str:
        """Further words for the kernel."""

    @property
    def cloud_init(self) -> str | None:
        """File with user data for cloud-init."""

    @property
    def devices(self) -> tuple[str, ...]:
        """PCI devices of the host, in place of its NICs."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Further words for QEMU."""

    @property
    def boot_timeout(self) -> Duration:
        """How long it may take until it works."""

    @property
    def tree(self) -> Tree:
        """Where QEMU is run."""

    @property
    def own_guest(self) -> bool:
        """Whether it boots vsperf's own guest."""

    @property
    def has_agent(self) -> bool:
        """Whether vsperf's agent runs in it."""


@dataclass(frozen=True, slots=True)
class OwnGuest:
    """vsperf's own guest, as a driver chooses it where there is nothing for a user to choose."""

    app: str = "none"
    queues: int = 1
    vcpu_count: int = 1
    memory: int = 128
    hugepages: bool = False
    rx_ring: int = 1024
    tx_ring: int = 1024
    packed: bool = False
    mergeable: bool | None = None
    accelerator: str = "auto"
    machine: str = "q35"
    cpu: str = "auto"
    append: str = ""
    arguments: tuple[str, ...] = ()
    boot_timeout: Duration = QUICK_BOOT
    image: None = None
    kernel: None = None
    initrd: None = None
    cloud_init: None = None
    devices: tuple[str, ...] = ()
    tree: Tree = HERE
    own_guest: bool = True
    has_agent: bool = True
