"""The order of testpmd's ports, and what stands in the headers of frames that it rewrote. Pure.

It joins the first port with the second, the third with the fourth. It rewrites at each pass, and a
VNF may do so in between: so it is known for frames that pass it once, from a link to a link.
"""

from __future__ import annotations

from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.config.flows import counts, flows_between, link_mac
from vsperf.config.topology import Topology
from vsperf.config.traffic import TrafficProfile
from vsperf.drivers.vswitches.forwarding import partners
from vsperf.drivers.vswitches.ports import Place, places_of

VHOST_MAC = "56:48:4f:53:54:{:02x}"
"""Address that DPDK gives to its vhost-user port of a number: VHOST in ASCII, and the number."""
VARIED = {
    "mac": ("destination_mac", "source_mac"),
    "ip": ("destination_ip", "source_ip"),
    "port": ("destination_port", "source_port"),
}
"""Where swapping puts the first and the second field that flows differ by."""
OTHERS = (
    "choose a topology in which each port has one other end, such as p2p, pvp with two NICs, or "
    "pvvp; or a switch that looks into frames: --set vswitch.kind=ovs-dpdk"
)


def in_pairs(topology: Topology) -> tuple[Place, ...]:
    """Return what each port leads to, in the order of their numbers."""
    places = {place.name: place for place in places_of(topology)}
    others = partners(topology, "testpmd", OTHERS)
    found: dict[str, Place] = {}
    for name, place in places.items():
        if name not in found:
            found[name] = place
            found[others[name]] = places[others[name]]
    return tuple(found.values())


def arriving(forward: str, case: CaseSpec, enters: str, leaves: str) -> dict[str, Any]:
    """Return the headers of frames from one link at another."""
    ends = (enters, leaves)
    if forward == "io" or not all(end in case.topology.links for end in ends):
        return {}
    source, target = (case.topology.links.index(end) for end in ends)
    if forward == "mac":
        return {"destination_mac": link_mac(target), **_own_address(case, leaves)}
    return _swapped(case.traffic, source, target, deep=forward == "5tswap")


def _own_address(case: CaseSpec, link: str) -> dict[str, Any]:
    """Return the address of the port that frames leave by; nobody knows those of devices."""
    if any(case.testbed.links[name].switch for name in case.topology.links):
        return {}
    names = [place.name for place in in_pairs(case.topology)]
    return {"source_mac": VHOST_MAC.format(names.index(link))}


def _swapped(traffic: TrafficProfile, source: int, target: int, *, deep: bool) -> dict[str, Any]:
    """Return what was sent, the other way round, but for what differs from flow to flow.

    In a tunnel, and behind MPLS labels, what is swapped above Ethernet is not of the flow.
    """
    flow = next(flows_between(traffic, source, target), None)
    several = counts(traffic)
    if flow is None or several is None:
        return {}
    found: dict[str, Any] = {
        "source_mac": link_mac(target),
        "destination_mac": link_mac(source),
    }
    if deep and not traffic.mpls and traffic.encapsulation is None:
        found |= {
            "source_ip": flow.destination_ip,
            "destination_ip": flow.source_ip,
            "source_port": flow.destination_port,
            "destination_port": flow.source_port,
        }
    for name, count in zip(VARIED[traffic.vary], several, strict=True):
        if count > 1:
            found.pop(name, None)
    return found
