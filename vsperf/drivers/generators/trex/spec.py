"""Settings of TRex as a generator."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.counted import Counted
from vsperf.quantities.units import CpuSet

START = "start"
"""In place of an address: a server of the deployment's own."""


class TrexSpec(DriverSpec):
    """Settings of TRex, which counts frames by streams, and opens connections in another mode."""

    kind: Literal["trex"]
    server: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=253)] = START
    """Address of a server that runs, or `start` for one that ends with the deployment."""
    rpc_port: Annotated[int, Field(ge=1, le=65535)] = 4501
    """TCP port that the server is asked at."""
    install: Annotated[str, Field(pattern=r"^/[A-Za-z0-9._+/-]*$", max_length=1023)] | None = None
    """Folder of an installed TRex, with the program `_t-rex-64` in it; for `server: start`."""
    cpus: CpuSet | None = None
    """The CPU that all threads of a started server share."""
    memory_mb: Annotated[int, Field(ge=256, le=65536)] = 512
    """Memory of a started server [MiB], none of it in hugepages."""
    latency_fps: Annotated[int, Field(ge=1, le=1_000_000), Counted] = 1000
    """Frames per second and direction of the stream that latencies are measured with; part of the
    load, and never more than a tenth of it. It says nothing to connections."""
    force: bool = False
    """Take ports of a server that runs also from whoever has them. Their traffic ends."""

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if self.server != START and self.install is not None:
            raise ValueError("install: is for `server: start`; a server that runs has its own")
        if self.server == START and self.force:
            raise ValueError("force: nobody else has ports of a server that is started")
        if self.cpus is not None and len(self.cpus) != 1:
            raise ValueError(f"cpus: all threads of the server share one CPU, and not {self.cpus}")
        return self

    @property
    def starts(self) -> bool:
        """Whether the deployment starts a server."""
        return self.server == START
