"""Settings of testpmd as a generator."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.counted import PowerOfTwo
from vsperf.quantities.units import CpuSet

THREADS = {"flowgen": 1, "txonly": 2}
"""How many threads never sleep: with `txonly` one sends and another one, of a second testpmd,
receives."""


class TestpmdGeneratorSpec(DriverSpec):
    """Settings of DPDK's testpmd as a generator: unpaced, and it checks no frame."""

    __test__ = False  # its name looks like that of tests

    kind: Literal["testpmd"]
    mode: Literal["flowgen", "txonly"] = "flowgen"
    """`flowgen` sends and receives by one thread on all ports; `txonly` sends in one direction by
    a thread that does nothing else, and a second testpmd, `rxonly`, receives."""
    cpus: CpuSet | None = None
    """CPUs of the threads that send and receive: one for `flowgen`, two for `txonly`."""
    hugepages: bool = True
    """Take memory from hugepages; without, it is slower, and enough for trying things out."""
    ring: Annotated[int, Field(ge=64, le=32768), PowerOfTwo] = 1024
    """Descriptors of each queue."""
    burst: Annotated[int, Field(ge=1, le=512)] = 64
    """Most frames that it sends or fetches at once."""

    @model_validator(mode="after")
    def _pins_agree(self) -> Self:
        if self.cpus is not None and len(self.cpus) != self.threads:
            raise ValueError(
                f"cpus: mode {self.mode} has {self.threads} threads that never sleep, and "
                f"{self.cpus} are {len(self.cpus)} CPUs"
            )
        return self

    @property
    def threads(self) -> int:
        """How many threads never sleep."""
        return THREADS[self.mode]
