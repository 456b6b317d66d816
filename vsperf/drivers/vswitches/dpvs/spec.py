"""Settings of DPVS."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.counted import Counted
from vsperf.drivers.settings import WholeSeconds, require_as_many
from vsperf.drivers.vswitches.kernel_ports import OF_CONNECTIONS
from vsperf.quantities.units import CpuSet

LEAST_CONNECTIONS = 131_072
"""DPVS has room for a power of two less one, takes 65,536 as the least, and what is below for a
mistake that it mends by two million."""
MOST_WORKERS = 16
"""As many queues as it has of a port."""


def _power(value: int) -> int:
    if value & (value - 1):
        raise ValueError(f"{value:,} is no power of 2, as DPVS has it")
    return value


class DpvsSpec(DriverSpec):
    """Settings of DPVS, a load balancer on DPDK."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of ports at which a switch is the host's side, and here it is not:
    it has taps, or is the guest's side."""
    NOT_HELD: ClassVar[str] = OF_CONNECTIONS
    shares_out: ClassVar[bool] = True
    """Clients call one address of it, and it chooses a server for each call."""

    kind: Literal["dpvs"]
    install: str | None = None
    """Folder with the programs dpvs, dpip and ipvsadm, or with a folder `bin` of these, as its
    `install` target leaves it; the folder of the dpvs in $PATH when not given."""
    mode: Literal["fnat", "nat", "dr"] = "fnat"
    """What becomes of the addresses of what clients send: both are rewritten, so servers see an
    address of DPVS (`fnat`, which others call FullNAT); that of the server alone, so servers see
    their clients, and answer by way of DPVS (`nat`); or none, so servers answer as who was called,
    and DPVS only routes what they say (`dr`)."""
    workers: Annotated[int, Field(ge=1, le=MOST_WORKERS)] = 1
    """Polling threads, when `worker_cpus` does not say where they run."""
    worker_cpus: CpuSet | None = None
    """CPUs of the polling threads, one each."""
    main_cpu: Annotated[int, Field(ge=0)] | None = None
    """CPU of its master thread, which answers questions, and never sleeps either. It shares that of
    the first worker when not given, and takes half of it: name one where there are enough."""
    connections: Annotated[int, Field(ge=LEAST_CONNECTIONS, le=1 << 27), Counted] = 262_144
    """Connections for which it has room, a power of 2, on each memory node; less one, as DPVS has
    it."""
    local_addresses: Annotated[int, Field(ge=1, le=128)] = 1
    """Of `fnat`: addresses that servers see. Each has 64,511 ports for each server."""
    time_wait: WholeSeconds | None = None
    """How long a connection stays in the table after its end, in whole seconds; seven when not
    given, as DPVS has it."""
    udp_timeout: WholeSeconds | None = None
    """How long a flow of UDP stays in the table after its last frame, in whole seconds; five
    minutes when not given, as DPVS has it."""
    ports: Literal["packet", "virtio-user"] = "packet"
    """Ports of links without a device in the testbed: taps of the kernel, which DPVS opens as
    packet sockets (`packet`); or shared memory of which it is the guest's side and listens
    (`virtio-user`), which takes a DPVS that was changed to do without RSS."""
    ring: Annotated[int, Field(ge=64, le=8192), Counted] = 1024
    """Descriptors in each ring of a port, a power of 2."""
    memory: Annotated[int, Field(ge=256, le=1_048_576)] | None = None
    """Memory [MB] on each memory node; what tables and buffers take when not given."""
    hugepages: bool = True
    """Take memory from hugepages; without, it is slower, and enough for trying things out."""

    _connections_are_a_power = field_validator("connections", "ring")(_power)

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        require_as_many(self, "workers", "worker_cpus")
        if self.worker_cpus is not None and len(self.worker_cpus) > MOST_WORKERS:
            raise ValueError(
                f"DPVS has {MOST_WORKERS} queues of a port at most, one for each worker, and "
                f"worker_cpus names {len(self.worker_cpus)} CPUs"
            )
        if self.mode != "fnat" and self.local_addresses > 1:
            raise ValueError(
                f"with mode={self.mode} servers see no address of DPVS; leave local_addresses out"
            )
        return self

    @property
    def worker_count(self) -> int:
        """Number of polling threads, the master apart."""
        return self.workers if self.worker_cpus is None else len(self.worker_cpus)

    @property
    def direct(self) -> bool:
        """Whether servers answer as who was called."""
        return self.mode == "dr"
