"""Settings that every Open vSwitch has, whatever its ports are."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool

from vsperf.config.modify import Modify
from vsperf.config.rooted import RootedSpec
from vsperf.drivers.vswitches.base import Filters, Rules

SettingName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]


class OvsSettings(RootedSpec):
    """What both drivers let a user set."""

    TELLS: ClassVar[str] = "ovs"
    """The collector that it answers to."""

    install: str | None = None
    """Folder that OVS is installed under, such as /usr/local; what the distribution has when
    not given. Several may live side by side. With `root`, a folder of that tree."""
    emc: StrictBool | Annotated[int, Field(ge=1, le=4294967295)] = True
    """Exact-match cache: on, off, or n to enter one new flow in n into it; on means 100."""
    smc: bool = False
    """Signature-match cache."""
    mtu: Annotated[int, Field(ge=68, le=9702)] | None = None
    """Largest packet [B] without its Ethernet header; what the frame size needs when not given."""
    flows: Rules = "port"
    """Rules: one per port; one per port and IP network, which has OVS look into every frame and use
    its flow caches; one per stream of the traffic, told apart by MAC addresses, by IP addresses,
    or by those and the UDP ports; or `learn`: a bridge that learns addresses (action NORMAL)."""
    nat: Literal["none", "source", "destination"] | None = None
    """Whether connections are tracked, so that only what began at the clients' side passes, and
    what becomes of addresses: clients get one towards the servers (`source`), one address is called
    for all servers (`destination`), or all stay as they are (`none`). Only for methods that open
    connections."""
    modify: Modify | None = None
    """What the switch changes in each frame when it sends it on to the end of its way."""
    filters: Filters = 0
    """Rules above those that forward, each of which drops frames between two addresses that no test
    frame has (RFC 2544, section 11.4)."""
    other_config: dict[SettingName, str] = Field(default_factory=dict)
    """More entries of other_config in the table Open_vSwitch; they win over all above."""

    @property
    def shares_out(self) -> bool:
        """Whether clients call one address for all servers."""
        return self.nat == "destination"

    @property
    def emc_probability(self) -> int:
        """One new flow in so many enters the exact-match cache; 0 switches it off."""
        if self.emc is True:
            return 100
        return int(self.emc)
