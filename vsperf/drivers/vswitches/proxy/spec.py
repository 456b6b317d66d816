"""Settings that every proxy has."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.counted import Counted
from vsperf.drivers.settings import require_as_many
from vsperf.drivers.vswitches.kernel_ports import OF_CONNECTIONS
from vsperf.quantities.units import CpuSet, Duration

FILES_EACH = 2
"""Sockets of a connection: one to its client, and one to its server."""
OWN_FILES = 128
"""That a worker may have open beside them, at most."""


def _at_least_a_second(value: Duration) -> Duration:
    if value.seconds < 1:
        raise ValueError("a connection may be silent for 1s at least")
    return value


class ProxySpec(DriverSpec):
    """Settings of a proxy between clients and servers."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""
    NOT_HELD: ClassVar[str] = OF_CONNECTIONS
    shares_out: ClassVar[bool] = True
    """Clients call one address of it, and it chooses a server for each call."""

    path: str | None = None
    """The program; the one in $PATH when not given."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Threads of HAProxy, or processes of nginx, when `cpus` does not say where they run."""
    cpus: CpuSet | None = None
    """CPUs of the workers, one each. The kernel's part of the work, which is TCP to both ends, is
    done on the same ones."""
    connections: Annotated[int, Field(ge=1, le=500_000), Counted] = 8_000
    """At a time, for which it has room; others wait until one of these has ended. Each takes two
    open files, of which the system may allow fewer."""
    idle: Annotated[Duration, AfterValidator(_at_least_a_second)] = Duration(600_000_000_000)
    """How long a connection may be silent before the proxy ends it."""
    time_wait_sockets: Annotated[int, Field(ge=0, le=1_048_576), Counted] | None = 0
    """Connections to servers that are over and keep their port for a minute more, at most (the
    kernel's TIME_WAIT); others are forgotten at once. As many as the kernel has room for when it
    is null: then 64,512 ports for each address of a server are what there is in a minute."""

    @model_validator(mode="after")
    def _cpus_agree(self) -> Self:
        require_as_many(self, "workers", "cpus")
        return self

    @property
    def worker_count(self) -> int:
        """Number of workers."""
        return self.workers if self.cpus is None else len(self.cpus)

    @property
    def room(self) -> int:
        """Connections at a time for which all workers together have room."""
        return self.connections

    @property
    def files(self) -> int:
        """Files that each worker may have open."""
        return FILES_EACH * self.connections + OWN_FILES
