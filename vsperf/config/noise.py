"""What every load beside a case is told: how many of it there are, and where they run."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.base import DriverSpec
from vsperf.quantities.units import CpuSet, Duration, Ratio

NOISE = "noise"
"""The word of a testcase, and the role of the CPUs."""
QUIET = "none"
"""The kind that stands for no load at all."""

Near = Literal["same-cpu", "sibling", "same-cache", "other-socket"]
"""Where the load runs, seen from the part that it is to disturb: on its very CPU, on another thread
of its core, on another core of the same last-level cache, or on another socket."""


class NoiseSpec(DriverSpec):
    """Settings that loads of all kinds have."""

    instances: Annotated[int, Field(ge=1, le=64)] = 1
    """How many of them run; each has a CPU of its own as far as there are any."""
    near: Near = "same-cache"
    """Where they run, seen from the part that they are to disturb."""
    to: Annotated[str, Field(pattern=r"^(switch|generator|vm[1-9][0-9]*)$")] = "switch"
    """The part that they are to disturb: `switch`, `generator`, or a VNF such as vm1."""
    cpus: CpuSet | None = None
    """CPUs that they run on, in place of what `near` says."""
    share: bool = False
    """Whether they may share a CPU with a part that never sleeps, where `near` finds no other one;
    refused otherwise. The result is functional only."""
    tolerance: Ratio = Ratio.parse("20%")
    """By how much it may fall behind the rate at which it settled; a trial in which it falls
    behind further is invalid. Not judged where it shares a CPU with a part that never sleeps."""
    settle_timeout: Duration = Duration(20_000_000_000)
    """How long it may take until its rate is steady."""

    @model_validator(mode="after")
    def _one_choice_of_cpus(self) -> Self:
        if self.cpus is not None and len(self.cpus) > self.instances:
            raise ValueError(f"cpus names {len(self.cpus)} CPUs, and instances is {self.instances}")
        return self
