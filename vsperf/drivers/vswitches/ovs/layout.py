"""Where everything of an instance lies, and which ports it has. Pure.

Paths begin with a placeholder, which the workspace fills in when the switch is started.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import Nic
from vsperf.host.undo import BRIDGE_DEVICES
from vsperf.records.run import Placeholder

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
