"""Settings of OVS-DPDK. What decides a number is always written, also at its default."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.drivers.settings import require_as_many
from vsperf.drivers.vswitches.ovs.spec import OvsSettings
from vsperf.quantities.units import CpuSet

Affinity = Annotated[str, Field(pattern=r"^\d{1,4}:\d{1,4}(,\d{1,4}:\d{1,4})*$")]


class OvsDpdkSpec(OvsSettings):
    """Settings of Open vSwitch with DPDK."""

    HELD_STILL: ClassVar[bool] = True
    PLACES: ClassVar[bool] = True
    """Places can be joined to ports of it, each a device that it opens as a packet socket."""
    GUESTS: ClassVar[bool] = True
    """Guests can be places, each on a vhost-user port."""
    OWN_PORTS: ClassVar[bool] = True
    """A program can have such a port to itself."""

    kind: Literal["ovs-dpdk"]
    pmds: Annotated[int, Field(ge=1, le=128)] = 1
    """Polling threads, when `pmd_cpus` does not say where they run."""
    pmd_cpus: CpuSet | None = None
    """CPUs of the polling threads, one each."""
    main_cpus: CpuSet | None = None
    """CPUs of all other threads: they set up flows, and mostly sleep."""
    memory: Annotated[int, Field(ge=64, le=1048576)] | None = None
    """Memory [MB] on each node that has a polling thread; what the packet buffers of its ports
    take when not given."""
    hugepages: bool = True
    """Take memory from hugepages; without, it is slower, and enough for trying things out."""
    ports: Literal["vhost-user-client", "vhost-user"] = "vhost-user-client"
    """Ports of links without a device in the testbed, unless networks are joined to them. As
    `vhost-user-client` the switch calls and the other end listens; as `vhost-user` the switch
    listens (OVS calls that one deprecated)."""
    vnf_ports: Literal["vhost-user", "tap"] = "vhost-user"
    """What the NICs of VNFs are plugged into: `vhost-user`, where `ports` says who calls, or
    taps of the kernel, which the switch opens as packet sockets (DPDK's net_af_packet)."""
    rxqs: Annotated[int, Field(ge=1, le=256)] = 1
    """Receive queues of each device; a vhost-user port has as many as the other end asks for."""
    rx_ring: Annotated[int, Field(ge=32, le=16384)] | None = None
    """Receive descriptors of each device; OVS chooses when not given."""
    tx_ring: Annotated[int, Field(ge=32, le=16384)] | None = None
    """Send descriptors of each device; OVS chooses when not given."""
    rxq_affinity: dict[str, Affinity] = Field(default_factory=dict)
    """By link, which CPU polls which queue: `phy0: "0:2,1:3"` is queue 0 on CPU 2, 1 on 3."""
    tx_retries: Annotated[int, Field(ge=0, le=32)] = 8
    """How often sending to a full vhost-user port is tried again before the frame is dropped."""
    auto_lb: bool = False
    """Let OVS move queues between polling threads on its own; that shows in a measurement."""

    @model_validator(mode="after")
    def _pins_agree(self) -> Self:
        require_as_many(self, "pmds", "pmd_cpus")
        if self.pmd_cpus is not None and self.main_cpus is not None:
            both = sorted(set(self.pmd_cpus) & set(self.main_cpus))
            if both and len(set(self.pmd_cpus) | set(self.main_cpus)) > 1:
                raise ValueError(f"pmd_cpus and main_cpus both name CPU {both[0]}")
        return self

    @property
    def pmd_count(self) -> int:
        """Number of polling threads."""
        return self.pmds if self.pmd_cpus is None else len(self.pmd_cpus)
