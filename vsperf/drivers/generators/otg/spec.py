"""Settings of a generator behind the Open Traffic Generator model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from vsperf.config.base import DriverSpec
from vsperf.quantities.units import CpuSet, Duration

START = "start"
LOCAL = "http://127.0.0.1:8443"


def _address(value: str) -> str:
    if value != START and not value.startswith(("http://", "https://")):
        raise ValueError("must be `start`, or begin with http:// or https://")
    return value.rstrip("/")


class OtgSpec(DriverSpec):
    """Settings of a generator that implements the Open Traffic Generator model."""

    kind: Literal["otg"]
    server: Annotated[str, AfterValidator(_address)] = LOCAL
    """Where it listens, such as https://ixia-c:8443, whose certificate is not verified; or `start`
    for a private `vsperf otg serve` on the ports of the switch."""
    ports: Mapping[str, str] = Field(default_factory=dict)
    """What the server calls the ports, by links. Unless named here it is the device that the
    testbed has for the generator's end."""
    patience: Duration = Duration(10_000_000_000)
    """How long an answer may take, and a link to come up, and flows to stop when told to."""
    refresh: Duration = Duration(0)
    """How old the counters may be that the server tells; 0 where it counts when it is asked. Trials
    take as much longer, so that what has not been counted yet is not taken for lost."""
    cpus: CpuSet | None = None
    """The CPU that a private server sends from."""
