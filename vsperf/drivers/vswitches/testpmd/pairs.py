"""The order of testpmd's ports: it joins the first with the second, the third with the fourth."""

from __future__ import annotations

from vsperf.config.topology import Topology
from vsperf.drivers.vswitches.forwarding import partners
from vsperf.drivers.vswitches.ports import Place, places_of

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
