"""Where everything of an instance lies, and which ports it has. Pure.

Paths begin with a placeholder, which the workspace fills in when the switch is started.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool

from vsperf.config.case import CaseSpec
from vsperf.config.modify import Modify
from vsperf.config.rooted import RootedSpec
from vsperf.config.wiring import Nic
from vsperf.drivers.vswitches.base import Filters, Rules
from vsperf.host.undo import BRIDGE_DEVICES
from vsperf.records.run import Placeholder

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


BRIDGE = BRIDGE_DEVICES[0]
"""No link is called so, because its name has a dash."""
DATABASE = f"{Placeholder.RUN}/conf.db"
DATABASE_SOCKET = f"{Placeholder.RUN}/db.sock"
DATABASE_CONTROL = f"{Placeholder.RUN}/ovsdb-server.ctl"
SWITCH_CONTROL = f"{Placeholder.RUN}/ovs-vswitchd.ctl"
SOCKETS = (DATABASE_SOCKET, DATABASE_CONTROL, SWITCH_CONTROL)
OPENFLOW_SOCKET = f"{Placeholder.RUN}/{BRIDGE}.mgmt"
RULES_FILE = f"{Placeholder.RUN}/rules.txt"
IDLE_RULES_FILE = f"{Placeholder.RUN}/idle-rules.txt"
ENVIRONMENT = dict.fromkeys(
    ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR", "RUNTIME_DIRECTORY"),
    str(Placeholder.RUN),
)
"""Where the programs look for their own; the last one is for DPDK."""
AFXDP = "afxdp:"
"""Before the name of a device of the kernel; the port has to be called like it."""
RING_FRAMES = 2048
"""In the rings of a packet socket; as many as OVS takes for other devices."""
RINGED = re.compile(r"net_af_packet[^,]*,(?:.*,)?iface=([^,]+)")
"""DPDK's name of a device that stays the kernel's, and the kernel's name of it."""
LARGEST_USUAL_MTU = 1500
ETHERNET_BYTES = 18
"""Header and FCS: a frame of 1518 bytes carries a packet of 1500."""


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """One port of the bridge."""

    name: str
    number: int
    """OpenFlow port number."""
    link: str | None
    """The testbed link behind it; None for a port inside, such as one of a VNF."""
    type: str
    """Type of the interface as OVS calls it."""
    options: dict[str, str] = field(default_factory=dict)
    other_config: dict[str, str] = field(default_factory=dict)
    mtu_request: int | None = None
    nic: Nic | None = None
    """The NIC of a VNF that is plugged in here; None for a link."""
    device: str | None = None
    """The kernel's device that the interface has to be called like, if it is one."""
    tap: str | None = None
    """The tap behind it, if there is one: of a VNF, or held by the switch itself. Or the switch's
    end of the pair of devices that leads to a place."""
    handed: bool = False
    """Whether the switch makes the device itself, holds its other end, and a place is given it."""

    @property
    def interface(self) -> str:
        return self.device or self.name

    @property
    def place(self) -> str:
        """What a topology calls the other side: a link, or a port of a VNF."""
        return self.link or self.name

    @property
    def vnf(self) -> str | None:
        return None if self.nic is None else self.nic.vnf


def opened(ports: Iterable[SwitchPort]) -> dict[str, str]:
    """Return the kernel's devices that OVS opens itself, by packet sockets, with their ports."""
    return {str(port.device): port.name for port in ports if port.type == "system"}


def opened_with_rings(ports: Iterable[SwitchPort]) -> dict[str, str]:
    """Return those that DPDK opens, by packet sockets with rings, with their ports."""
    found = ((RINGED.match(port.options.get("dpdk-devargs", "")), port.name) for port in ports)
    return {device[1]: name for device, name in found if device is not None}


def filled(port: SwitchPort, fill: Callable[[str], str]) -> SwitchPort:
    """Return a port whose paths and devices are filled in."""
    options = {name: fill(value) for name, value in port.options.items()}
    device = None if port.device is None else fill(port.device)
    tap = None if port.tap is None else fill(port.tap)
    return replace(port, options=options, device=device, tap=tap)


def mtu_request(case: CaseSpec, mtu: int | None) -> int | None:
    """Return the MTU that the ports have to be given; None for the usual one."""
    if mtu is not None:
        return mtu
    needed = case.longest_bytes - ETHERNET_BYTES
    return needed if needed > LARGEST_USUAL_MTU else None
