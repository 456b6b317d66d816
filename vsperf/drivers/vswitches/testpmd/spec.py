"""Settings of testpmd as a switch."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.case import CaseSpec
from vsperf.config.rooted import RootedSpec
from vsperf.drivers.settings import require_as_many
from vsperf.drivers.vswitches.ports import VhostRole
from vsperf.drivers.vswitches.testpmd.headers import arriving
from vsperf.quantities.units import CpuSet

Descriptors = Annotated[int, Field(ge=32, le=32768)]
Forward = Literal["io", "mac", "macswap", "5tswap"]


class TestpmdSpec(RootedSpec):
    """Settings of DPDK's testpmd, which forwards between pairs of ports."""

    __test__ = False  # its name looks like that of tests
    CAPPED: ClassVar[bool] = False
    """The generator's cap is measured with a testpmd in the switch's place: it would be its own."""

    HELD_STILL: ClassVar[bool] = True

    kind: Literal["testpmd"]
    forward: Forward = "io"
    """What becomes of a frame: nothing, and nobody looks at it (`io`); the addresses of the next
    hop are written into it (`mac`); its MAC addresses are swapped (`macswap`), or these and its IP
    addresses and ports (`5tswap`)."""
    pmds: Annotated[int, Field(ge=1, le=64)] = 1
    """Forwarding threads, when `pmd_cpus` does not say where they run."""
    pmd_cpus: CpuSet | None = None
    """CPUs of the forwarding threads, one each."""
    main_cpu: Annotated[int, Field(ge=0)] | None = None
    """CPU of the main thread, which mostly sleeps."""
    memory: Annotated[int, Field(ge=64, le=1048576)] | None = None
    """Memory [MB]; what the packet buffers take when not given."""
    hugepages: bool = True
    """Take memory from hugepages; without, it is slower, and enough for trying things out."""
    ports: VhostRole = "vhost-user-client"
    """Ports of VNFs, and of links without a device in the testbed. As `vhost-user-client` the
    switch calls and the other end listens, so the switch may restart; as `vhost-user` the switch
    listens."""
    rxqs: Annotated[int, Field(ge=1, le=16)] = 1
    """Queue pairs of each port; the other end has to have as many."""
    rx_ring: Descriptors = 512
    """Receive descriptors of each queue of a device; those of a vhost-user port are its other
    end's."""
    tx_ring: Descriptors = 512
    """Send descriptors of each queue of a device."""
    burst: Annotated[int, Field(ge=1, le=512)] = 32
    """Most frames that it handles at once."""
    cycles: bool = False
    """Count how long its thread is busy: a little slower, and told by DPDK 23.03 or newer only."""

    @model_validator(mode="after")
    def _pins_agree(self) -> Self:
        require_as_many(self, "pmds", "pmd_cpus")
        return self

    @property
    def pmd_count(self) -> int:
        """Number of forwarding threads."""
        return self.pmds if self.pmd_cpus is None else len(self.pmd_cpus)

    @property
    def rewriting(self) -> str | None:
        """The setting by which frames are changed; None where they stay as they are."""
        return None if self.forward == "io" else f"vswitch.forward={self.forward}"

    def arriving(self, case: CaseSpec, enters: str, leaves: str) -> dict[str, Any]:
        """Return the headers that frames from one link have at another."""
        return arriving(self.forward, case, enters, leaves)
