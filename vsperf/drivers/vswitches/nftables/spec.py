"""Settings of the kernel's router."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from vsperf.config.base import DriverSpec
from vsperf.drivers.vswitches.turns import KERNEL_DEVICES
from vsperf.quantities.units import NANOSECONDS, CpuSet, Duration


def _whole_seconds(value: Duration) -> Duration:
    if value.ns < NANOSECONDS or value.ns % NANOSECONDS:
        raise ValueError("the kernel counts it in whole seconds, from 1s on")
    return value


class NftablesSpec(DriverSpec):
    """Settings of a router of the kernel that tracks connections."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""
    NOT_HELD: ClassVar[str] = KERNEL_DEVICES

    kind: Literal["nftables"]
    nat: Literal["none", "source", "destination"] = "source"
    """What becomes of addresses: clients get the one that the router has towards the servers
    (`source`, as at home), who is called is one address for all servers, which get connections in
    turns (`destination`, a load balancer), or all stay as they are (`none`, a firewall). What did
    not begin at the clients' side is dropped in any case."""
    time_wait: Annotated[Duration, AfterValidator(_whole_seconds)] | None = None
    """How long the table remembers a connection that was closed, in whole seconds; the kernel's two
    minutes when not given. At them a table of 262,144 is full of what is over at 2,184 connections
    a second."""
    cpus: CpuSet | None = None
    """CPUs that forward what comes in; the kernel hands each frame to one of them. One that vsperf
    chooses when not given."""

    @property
    def shares_out(self) -> bool:
        """Whether clients call one address for all servers."""
        return self.nat == "destination"
