"""Settings of IPVS."""

from __future__ import annotations

from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.drivers.settings import WholeSeconds
from vsperf.drivers.vswitches.kernel_ports import OF_CONNECTIONS
from vsperf.quantities.units import CpuSet


class IpvsSpec(DriverSpec):
    """Settings of IPVS, the load balancer of the Linux kernel."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""
    NOT_HELD: ClassVar[str] = OF_CONNECTIONS
    shares_out: ClassVar[bool] = True
    """Clients call one address of it, and it chooses a server for each call."""

    kind: Literal["ipvs"]
    mode: Literal["nat", "dr"] = "nat"
    """What becomes of the addresses of what clients send: that of the server is written in, so
    servers answer by way of IPVS, which has their answers come from who was called (`nat`); or
    none is touched, so servers answer as who was called, and the kernel only routes what they say
    (`dr`)."""
    udp_timeout: WholeSeconds | None = None
    """How long a flow of UDP stays in the table after its last frame, in whole seconds; what the
    kernel has when not given, which is five minutes as a rule."""
    cpus: CpuSet | None = None
    """CPUs that forward what comes in; the kernel hands each frame to one of them. One that vsperf
    chooses when not given."""

    @property
    def direct(self) -> bool:
        """Whether servers answer as who was called."""
        return self.mode == "dr"
