"""The ports of an OVS with DPDK: vhost-user, devices of DPDK, AF_XDP. Pure."""

from __future__ import annotations

from dataclasses import replace

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import Nic
from vsperf.drivers.vswitches.base import wire_of
from vsperf.drivers.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.layout import (
    AFXDP,
    LARGEST_USUAL_MTU,
    RING_FRAMES,
    SwitchPort,
    mtu_request,
)
from vsperf.drivers.vswitches.ports import (
    PCI_ADDRESS,
    VIRTUAL_DEVICE,
    Place,
    device_endpoint,
    place_endpoint,
    places_of,
    tap_name,
    tap_of,
)
from vsperf.errors import UsageError
from vsperf.records.run import Endpoint, Placeholder, Wire

PACKET_SOCKET = "net_af_packet"
"""DPDK's driver for devices that stay the kernel's."""


def ports_of(case: CaseSpec, spec: OvsDpdkSpec) -> tuple[SwitchPort, ...]:
    """Return the ports, in the order of their numbers."""
    places = places_of(case.topology)
    names = [place.name for place in places]
    unknown = [name for name in spec.rxq_affinity if name not in names]
    if unknown:
        raise UsageError(
            f"vswitch.rxq_affinity names {unknown[0]}, where topology {case.topology.name} has "
            + ", ".join(names),
            fix="name ports that the topology uses",
        )
    mtu = mtu_request(case, spec.mtu)
    found = []
    for number, place in enumerate(places, start=1):
        if place.nic is not None:
            found.append(_vnf_port(place.nic, number, spec, mtu, case.vnf_queues))
        elif case.has_places and case.guest_at(place.name) is None:
            found.append(_place_port(case, place, number, spec, mtu))
        else:
            device = case.testbed.links[place.name].switch
            found.append(_link_port(place.name, number, device, spec, mtu))
    return tuple(found)


def endpoints_of(case: CaseSpec, ports: tuple[SwitchPort, ...]) -> tuple[Endpoint, ...]:
    """Return what is at the other end of each link: the generator, or a place."""
    return tuple(_endpoint(case, port) for port in ports if port.link is not None)


def wires_of(ports: tuple[SwitchPort, ...]) -> tuple[Wire, ...]:
    """Return what each NIC of a VNF is plugged into."""
    return tuple(_wire(port, port.nic) for port in ports if port.nic is not None)


def needs_network(port: SwitchPort) -> bool:
    """Whether a port is a network device of the kernel, which only the host's own network has.

    A NIC may be one: some drivers share it between the kernel and DPDK.
    """
    device = port.options.get("dpdk-devargs", "")
    return "iface=" in device or port.type == "afxdp" or needs_pci(port)


def needs_pci(port: SwitchPort) -> bool:
    """Whether a port is a NIC."""
    device = port.options.get("dpdk-devargs", "")
    return bool(PCI_ADDRESS.match(device)) or device.startswith("class=")


def _link_port(
    link: str, number: int, device: str | None, spec: OvsDpdkSpec, mtu: int | None
) -> SwitchPort:
    affinity = spec.rxq_affinity.get(link)
    other_config = {} if affinity is None else {"pmd-rxq-affinity": affinity}
    type_, options = _vhost(link, spec) if device is None else _device(link, device, spec)
    name = link if type_ != "afxdp" else str(device).removeprefix(AFXDP)
    return SwitchPort(name, number, link, type_, options, other_config, mtu)


def _place_port(
    case: CaseSpec, place: Place, number: int, spec: OvsDpdkSpec, mtu: int | None
) -> SwitchPort:
    pair = tap_of(place, case.topology)
    fix = "take shorter frames, or another switch: --set vswitch.kind=ovs"
    device = _packet_socket(place.name, pair, "the pairs of devices of places", fix, spec, mtu)
    found = _link_port(place.name, number, device, spec, mtu)
    return replace(found, tap=pair)


def _vnf_port(nic: Nic, number: int, spec: OvsDpdkSpec, mtu: int | None, queues: int) -> SwitchPort:
    affinity = spec.rxq_affinity.get(nic.port)
    other_config = {} if affinity is None else {"pmd-rxq-affinity": affinity}
    if queues > 1:  # otherwise all frames of a polling thread take the queue of that thread
        other_config["tx-steering"] = "hash"
    if spec.vnf_ports == "tap":
        fix = "take shorter frames, or --set vswitch.vnf_ports=vhost-user"
        device = _packet_socket(nic.port, tap_name(nic), "the taps of VNFs", fix, spec, mtu)
        type_, options = _device(nic.port, device, spec)
    else:
        type_, options = _vhost(nic.port, spec)
    tap = tap_name(nic) if spec.vnf_ports == "tap" else None
    return SwitchPort(nic.port, number, None, type_, options, other_config, mtu, nic, tap=tap)


def _packet_socket(
    name: str, device: str, what: str, fix: str, spec: OvsDpdkSpec, mtu: int | None
) -> str:
    """Return how DPDK opens a device of the kernel: the tap of a NIC, or one that leads to a place.

    DPDK likes to go around the kernel's queues. Frames that a full tap refuses are then kept, and
    only leave in the next trial; by the queues they are dropped at once, and the tap counts them.
    """
    if mtu is not None and mtu > LARGEST_USUAL_MTU:
        raise UsageError(
            f"packets of {mtu} bytes do not pass {what}",
            why=f"DPDK's {PACKET_SOCKET}, by which OVS opens them, takes {LARGEST_USUAL_MTU} bytes",
            fix=fix,
        )
    words = [
        f"{PACKET_SOCKET}_{name}",
        f"iface={device}",
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
    if PCI_ADDRESS.match(device) or device.startswith((VIRTUAL_DEVICE, "class=")):
        return "dpdk", {"dpdk-devargs": device, **queues, **chosen}
    raise UsageError(
        f"testbed link {link} names {device!r} as the switch's device, which OVS-DPDK cannot take",
        why="a device is a PCI address (0000:03:00.0) or a virtual device of DPDK "
        "(net_af_packet0,iface=eth1), or afxdp:eth1",
        fix=f"mend testbed.links.{link}.switch, or leave it out for a vhost-user port",
    )


def _endpoint(case: CaseSpec, port: SwitchPort) -> Endpoint:
    link = str(port.link)
    if port.tap is not None:
        return place_endpoint(Place(link))
    if port.type == "dpdkvhostuserclient":
        return Endpoint(
            link=link, kind="vhost-user-client", address=port.options["vhost-server-path"]
        )
    if port.type == "dpdkvhostuser":
        return Endpoint(link=link, kind="vhost-user", address=f"{Placeholder.RUN}/{port.name}")
    return device_endpoint(case, link)
