"""Settings of dperf."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from vsperf.config.base import DriverSpec
from vsperf.quantities.units import CpuSet

ENDS = 2
"""Processes, each of which polls: that of the clients, and that of the servers."""


class DperfSpec(DriverSpec):
    """Settings of dperf, which opens TCP connections by one process and answers by another."""

    kind: Literal["dperf"]
    path: str | None = None
    """The program; the one in $PATH when not given."""
    cpus: CpuSet | None = None
    """CPUs of the client and of the server, in this order; of a single one both take turns, and
    each answer waits until the other one is let run."""

    @model_validator(mode="after")
    def _a_cpu_for_each(self) -> Self:
        if self.cpus is not None and len(self.cpus) > ENDS:
            raise ValueError(
                f"cpus: client and server poll on a CPU each, and {self.cpus} are {len(self.cpus)}"
            )
        return self
