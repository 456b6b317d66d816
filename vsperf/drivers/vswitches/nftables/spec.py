"""Settings of a router of the kernel that tracks connections."""

from __future__ import annotations

from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.drivers.settings import WholeSeconds
from vsperf.drivers.vswitches.kernel_ports import OF_CONNECTIONS
from vsperf.quantities.units import CpuSet


class NftablesSpec(DriverSpec):
    """Settings of a router of the Linux kernel with nftables."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are taps."""

    NOT_HELD: ClassVar[str] = OF_CONNECTIONS

    kind: Literal["nftables"]
    nat: Literal["none", "source", "destination"] = "source"
    """Which addresses are rewritten: none, so it is a firewall that lets pass what clients have
    begun; the clients' (`source`), who are all seen as the device's own address by the servers; or
    the one that is called (`destination`), so it shares connections out to the servers, in turns.
    In all three each connection is tracked."""
    time_wait: WholeSeconds | None = None
    """How long a connection stays in the table after it has ended, in whole seconds; what the
    kernel has when not given, which is two minutes as a rule."""
    udp_timeout: WholeSeconds | None = None
    """How long a flow of UDP stays in the table after its last frame, in whole seconds; what the
    kernel has when not given, which is 30 s as a rule, and two minutes where it has gone on for a
    while."""
    cpus: CpuSet | None = None
    """CPUs that forward what comes in; the kernel hands each frame to one of them. One that vsperf
    chooses when not given."""

    @property
    def shares_out(self) -> bool:
        """Whether clients call one address of the device, which chooses a server for each call."""
        return self.nat == "destination"
