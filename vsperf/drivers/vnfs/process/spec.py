"""Settings of VNFs that are processes; called as those of virtual machines where they can be.

So a testcase that sets no more than these runs with both kinds.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from vsperf.config.counted import PowerOfTwo
from vsperf.drivers.vnfs.settings import VnfsSpec
from vsperf.quantities.units import CpuSet, Duration

Descriptors = Annotated[int, Field(ge=32, le=32768)]


class ProcessSpec(VnfsSpec):
    """Settings of VNFs that are processes of this host."""

    HELD_STILL: ClassVar[bool] = True

    kind: Literal["process"]
    app: str = "testpmd"
    """What forwards: DPDK's testpmd is all that there is without a guest."""
    forward: Literal["io", "mac", "macswap", "csum"] = "io"
    """How testpmd forwards: as it is, with the addresses of the next hop, with swapped addresses,
    or with new checksums and the addresses of the next hop."""
    queues: Annotated[int, Field(ge=1, le=16)] = 1
    """Queue pairs of each NIC."""
    vcpus: Annotated[int, Field(ge=1, le=64)] | None = None
    """CPUs of a VNF, with one forwarding thread on each; one for each queue of a NIC when not
    given."""
    memory: Annotated[int, Field(ge=64, le=1048576)] | None = None
    """Memory of a VNF [MB]; what its packet buffers take when not given."""
    hugepages: bool = True
    """Take the memory from hugepages; without, it is slower, and enough for trying things out."""
    rx_descriptors: Descriptors = 512
    """Receive descriptors that testpmd asks for; the ring has to have as many."""
    tx_descriptors: Descriptors = 512
    """Send descriptors that testpmd asks for; the ring has to have as many."""
    burst: Annotated[int, Field(ge=1, le=512)] = 32
    """Most frames that testpmd handles at once."""
    rx_ring: Annotated[int, Field(ge=64, le=32768), PowerOfTwo] = 1024
    """Size of both virtio rings of a queue pair, a power of two."""
    packed: bool = False
    """Use the packed layout of virtio rings."""
    testpmd_arguments: tuple[str, ...] = ()
    """More words for testpmd, such as --record-core-cycles."""
    arguments: tuple[str, ...] = ()
    """More words for DPDK's environment layer, such as --log-level=8."""
    boot_timeout: Duration = Duration(30_000_000_000)
    """How long a VNF may take until it forwards."""
    cpus: CpuSet | None = None
    """CPUs of all forwarding threads of all VNFs, in this order."""

    @field_validator("app")
    @classmethod
    def _app_needs_no_guest(cls, app: str) -> str:
        if app != "testpmd":
            raise ValueError(
                f"a process forwards with testpmd only; {app!r} needs a guest, which kind qemu has"
            )
        return app

    @property
    def vcpu_count(self) -> int:
        """Number of forwarding threads."""
        return self.queues if self.vcpus is None else self.vcpus
