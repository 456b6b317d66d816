"""Settings of Open vSwitch without DPDK."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from vsperf.drivers.vswitches.ovs.spec import OvsSettings
from vsperf.quantities.units import CpuSet

HELD = ("tap", "internal")
"""Ports whose device the switch makes itself, and whose other end it holds."""


class OvsSpec(OvsSettings):
    """Settings of Open vSwitch without DPDK: its ports are devices of the kernel."""

    CAPPED: ClassVar[bool] = False
    """The generator's cap is one of vhost-user ports, and these are devices of the kernel."""

    NOT_HELD: ClassVar[str] = (
        "its taps are in the network of the host, where each OVS wants a device called ovs-netdev: "
        "with vswitch.ports=packet it has a network of its own"
    )
    PLACES: ClassVar[bool] = True
    """Places can be joined to its ports: devices that it opens, or whose other end it holds."""
    GUESTS: ClassVar[bool] = True
    """Guests can be places, each on a tap that the switch opens."""

    kind: Literal["ovs"]
    datapath: Literal["userspace", "kernel"] = "userspace"
    """Who forwards: the daemon, which needs nothing of the kernel but its devices; or the kernel's
    module openvswitch, which has to be there."""
    ports: Literal["tap", "packet", "afxdp", "internal"] | None = None
    """Ports of links without a device in the testbed. As `tap` the switch holds a tap, and the
    generator sends on its device; as `packet` the generator holds it, as a VNF would, and the
    switch opens its device, in a network of their own. In the kernel, `packet` is all there is.
    A place has one end of a pair of devices, and the switch opens the other one, unless told: as
    `afxdp`, for places alone, by XDP sockets, with threads that poll. Or there is no pair: as
    `internal`, for places alone, the place has the device of an internal port of the bridge, and as
    `tap` that of a tap; a daemon makes the same of both, and these alone take offloads."""
    cpus: CpuSet | None = None
    """CPU on which the daemon forwards, with all its threads; with AF_XDP, CPUs of the polling
    threads, one each. In the kernel, frames are forwarded where they come in."""
    main_cpus: CpuSet | None = None
    """CPUs of the threads that do not forward: with AF_XDP, and where the kernel forwards."""

    @model_validator(mode="after")
    def _the_kernel_holds_no_tap(self) -> Self:
        if self.datapath == "kernel" and self.ports not in (None, "packet"):
            raise ValueError(
                "in the kernel, ports are `packet`: taps and XDP sockets are a daemon's, and its "
                "internal ports are not there for places so far"
            )
        return self

    @property
    def OFFLOADS(self) -> bool:
        """Whether frames may come without checksums, and longer than its ports carry."""
        return self.ports in HELD

    @property
    def apart(self) -> bool:
        """Whether ports of links are devices in a network of their own."""
        return self.datapath == "kernel" or self.ports in ("packet", "afxdp")

    @property
    def HELD_STILL(self) -> bool:
        """Whether it can take turns with others: several of them stand at the same time then."""
        return self.apart
