"""Where everything of an instance lies, and which ports it has. Pure.

Paths begin with a placeholder, which the workspace fills in when the switch is started.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from vsperf.errors import UsageError
from vsperf.host.places import LONGEST_SHORT_NAME
from vsperf.host.tuntap import LONGEST_NAME
from vsperf.host.undo import BRIDGE_DEVICES
from vsperf.record.placeholder import Placeholder, fill_in
from vsperf.record.plan import Endpoint, Wire
from vsperf.spec.case import CaseSpec
from vsperf.spec.wiring import Nic, nics
from vsperf.vswitches.base import wire_of
from vsperf.vswitches.ovs.dpdk.spec import OvsDpdkSpec

BRIDGE = BRIDGE_DEVICES[0]
"""No link is called so, because its name has a dash."""
DATABASE = f"{Placeholder.RUN}/conf.db"
DATABASE_SOCKET = f"{Placeholder.RUN}/db.sock"
DATABASE_CONTROL = f"{Placeholder.RUN}/ovsdb-server.ctl"
SWITCH_CONTROL = f"{Placeholder.RUN}/ovs-vswitchd.ctl"
OPENFLOW_SOCKET = f"{Placeholder.RUN}/{BRIDGE}.mgmt"
RULES_FILE = f"{Placeholder.RUN}/rules.txt"
IDLE_RULES_FILE = f"{Placeholder.RUN}/idle-rules.txt"
ENVIRONMENT = dict.fromkeys(
    ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR", "RUNTIME_DIRECTORY"),
    str(Placeholder.RUN),
)
"""Where the programs look for their own; the last one is for DPDK."""
PCI_ADDRESS = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
AFXDP = "afxdp:"
"""Before the name of a device of the kernel; the port has to be called like it."""
PACKET_SOCKET = "net_af_packet"
"""DPDK's driver for devices that stay the kernel's."""
RING_FRAMES = 2048
"""In the rings of a packet socket; as many as OVS takes for other devices."""
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
    """The testbed link behind it; None for a port inside, such as one of a machine."""
    type: str
    """Type of the interface as OVS calls it."""
    options: dict[str, str] = field(default_factory=dict)
    other_config: dict[str, str] = field(default_factory=dict)
    mtu_request: int | None = None
    nic: Nic | None = None
    """The card of a machine that is plugged in here; None for a link."""

    @property
    def place(self) -> str:
        """What a topology calls the other side: a link, or a port of a machine."""
        return self.link or self.name

    @property
    def tap(self) -> str | None:
        """The tap behind it, not filled in, if there is one."""
        return None if self.nic is None or self.type != "dpdk" else tap_name(self.nic)

    @property
    def machine(self) -> str | None:
        """The machine behind it, if there is one."""
        return None if self.nic is None else self.nic.machine


def ports_of(case: CaseSpec, spec: OvsDpdkSpec) -> tuple[SwitchPort, ...]:
    """Return the ports, in the order of their numbers."""
    cards = [nic for nic in nics(case.topology) if nic.faces is not None]
    places = [*case.topology.links, *(nic.port for nic in cards)]
    unknown = [place for place in spec.rxq_affinity if place not in places]
    if unknown:
        raise UsageError(
            f"vswitch.rxq_affinity names {unknown[0]}, where topology {case.topology.name} has "
            + ", ".join(places),
            fix="name ports that the topology uses",
        )
    mtu = _mtu_request(case, spec)
    links = [
        _port(link, number, case.testbed.links[link].switch, spec, mtu)
        for number, link in enumerate(case.topology.links, start=1)
    ]
    machines = [
        _machine_port(nic, number, spec, mtu, case.machine_queues)
        for number, nic in enumerate(cards, start=len(links) + 1)
    ]
    return (*links, *machines)


def endpoints_of(case: CaseSpec, ports: tuple[SwitchPort, ...]) -> tuple[Endpoint, ...]:
    """Return where the generator finds each port."""
    return tuple(_endpoint(case, port) for port in ports if port.link is not None)


def wires_of(ports: tuple[SwitchPort, ...]) -> tuple[Wire, ...]:
    """Return what each card of a machine is plugged into."""
    return tuple(_wire(port, port.nic) for port in ports if port.nic is not None)


def filled(port: SwitchPort, fill: Callable[[str], str]) -> SwitchPort:
    """Return a port whose paths are filled in."""
    options = {name: fill(value) for name, value in port.options.items()}
    return replace(port, options=options)


def needs_network(ports: tuple[SwitchPort, ...]) -> bool:
    """Whether a port is a network device of the kernel, which only the host's own network has.

    A card may be one: some drivers share it between the kernel and DPDK.
    """
    devices = (port.options.get("dpdk-devargs", "") for port in ports)
    return (
        any("iface=" in device for device in devices)
        or any(port.type == "afxdp" for port in ports)
        or needs_pci(ports)
    )


def needs_pci(ports: tuple[SwitchPort, ...]) -> bool:
    """Whether a port is a network card."""
    devices = (port.options.get("dpdk-devargs", "") for port in ports)
    return any(PCI_ADDRESS.match(device) or device.startswith("class=") for device in devices)


def _port(
    link: str, number: int, device: str | None, spec: OvsDpdkSpec, mtu: int | None
) -> SwitchPort:
    affinity = spec.rxq_affinity.get(link)
    other_config = {} if affinity is None else {"pmd-rxq-affinity": affinity}
    type_, options = _vhost(link, spec) if device is None else _device(link, device, spec)
    name = link if type_ != "afxdp" else str(device).removeprefix(AFXDP)
    return SwitchPort(name, number, link, type_, options, other_config, mtu)


def _machine_port(
    nic: Nic, number: int, spec: OvsDpdkSpec, mtu: int | None, queues: int
) -> SwitchPort:
    affinity = spec.rxq_affinity.get(nic.port)
    other_config = {} if affinity is None else {"pmd-rxq-affinity": affinity}
    if queues > 1:  # otherwise all frames of a polling thread take the queue of that thread
        other_config["tx-steering"] = "hash"
    if spec.machine_ports == "tap":
        type_, options = _device(nic.port, _tap_device(nic, spec, mtu), spec)
    else:
        type_, options = _vhost(nic.port, spec)
    return SwitchPort(nic.port, number, None, type_, options, other_config, mtu, nic)


def tap_name(nic: Nic) -> str:
    """Return what the tap of a card is called, not filled in."""
    name = f"{Placeholder.TAP}-{nic.machine.removeprefix('vm')}-{nic.number}"
    if len(fill_in(name, {Placeholder.TAP: LONGEST_SHORT_NAME})) > LONGEST_NAME:
        raise UsageError(
            f"card {nic.number} of {nic.machine} cannot be plugged into a tap",
            why=f"the name of its device would be longer than {LONGEST_NAME} bytes",
            fix="use fewer machines, or vswitch.machine_ports=vhost-user",
        )
    return name


def _tap_device(nic: Nic, spec: OvsDpdkSpec, mtu: int | None) -> str:
    """Return how DPDK opens the tap of a card.

    DPDK likes to go around the kernel's queues. Frames that a full tap refuses are then kept, and
    only leave in the next trial; by the queues they are dropped at once, and the tap counts them.
    """
    if mtu is not None and mtu > LARGEST_USUAL_MTU:
        raise UsageError(
            f"packets of {mtu} bytes do not pass the taps of machines",
            why=f"DPDK's {PACKET_SOCKET}, by which OVS opens them, takes {LARGEST_USUAL_MTU} bytes",
            fix="take shorter frames, or vswitch.machine_ports=vhost-user",
        )
    words = [
        f"{PACKET_SOCKET}_{nic.port}",
        f"iface={tap_name(nic)}",
        "qdisc_bypass=0",
        f"framecnt={spec.rx_ring or RING_FRAMES}",
    ]
    if spec.rxqs > 1:
        words.append(f"qpairs={spec.rxqs}")
    return ",".join(words)


def _wire(port: SwitchPort, nic: Nic) -> Wire:
    if port.tap is not None:
        kind, address = "tap", port.tap
    elif port.type == "dpdkvhostuserclient":
        kind, address = "vhost-user-client", port.options["vhost-server-path"]
    else:
        kind, address = "vhost-user", f"{Placeholder.RUN}/{port.name}"
    return wire_of(nic, kind, address)


def _vhost(link: str, spec: OvsDpdkSpec) -> tuple[str, dict[str, str]]:
    retries = {"tx-retries-max": str(spec.tx_retries)}
    if spec.ports == "vhost-user":
        return "dpdkvhostuser", retries
    return "dpdkvhostuserclient", {"vhost-server-path": f"{Placeholder.RUN}/{link}.sock", **retries}


def _device(link: str, device: str, spec: OvsDpdkSpec) -> tuple[str, dict[str, str]]:
    queues = {"n_rxq": str(spec.rxqs)}
    if device.startswith(AFXDP):
        return "afxdp", queues
    rings = {"n_rxq_desc": spec.rx_ring, "n_txq_desc": spec.tx_ring}
    chosen = {name: str(size) for name, size in rings.items() if size is not None}
    if PCI_ADDRESS.match(device) or device.startswith(("net_", "class=")):
        return "dpdk", {"dpdk-devargs": device, **queues, **chosen}
    raise UsageError(
        f"testbed link {link} names {device!r} as the switch's device, which OVS-DPDK cannot take",
        why="a device is a PCI address (0000:03:00.0) or a virtual device of DPDK "
        "(net_af_packet0,iface=eth1), or afxdp:eth1",
        fix=f"mend testbed.links.{link}.switch, or leave it out for a vhost-user port",
    )


def _endpoint(case: CaseSpec, port: SwitchPort) -> Endpoint:
    link = str(port.link)
    if port.type == "dpdkvhostuserclient":
        return Endpoint(
            link=link, kind="vhost-user-client", address=port.options["vhost-server-path"]
        )
    if port.type == "dpdkvhostuser":
        return Endpoint(link=link, kind="vhost-user", address=f"{Placeholder.RUN}/{port.name}")
    device = case.testbed.links[link].generator
    if device is None:
        raise UsageError(
            f"testbed link {link} has a device at the switch's end and none at the generator's",
            fix=f"name the generator's end of the cable in testbed.links.{link}.generator",
        )
    kind = "pci" if PCI_ADDRESS.match(device) else "vdev"
    return Endpoint(link=link, kind=kind, address=device)


def _mtu_request(case: CaseSpec, spec: OvsDpdkSpec) -> int | None:
    if spec.mtu is not None:
        return spec.mtu
    needed = case.longest_bytes - ETHERNET_BYTES
    return needed if needed > LARGEST_USUAL_MTU else None
