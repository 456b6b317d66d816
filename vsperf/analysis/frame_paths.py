"""The ways of frames through a topology, port by port: what the gauges of a chain stand along."""

from __future__ import annotations

from vsperf.config.topology import Path, Topology
from vsperf.config.wiring import passes
from vsperf.records.chain import FramePath


def frame_paths(topology: Topology) -> tuple[FramePath, ...]:
    """Return the way of the frames of each path, there and back."""
    return tuple(
        way
        for path in topology.paths
        for way in (_way(topology, path, path), _way(topology, path, path[::-1]))
    )


def _way(topology: Topology, path: Path, turned: Path) -> FramePath:
    """Return one direction of a path: passes through the switch, and VNFs between them."""
    found = [one for one in passes(topology) if one.path == turned]
    if turned != path:
        found.reverse()
    towards = 1 if turned == path else -1
    crossings: list[tuple[str, str]] = []
    inside: list[str | None] = []
    if (first := turned[0]) in topology.vnfs:
        crossings.append((_moved(found[0].enters, -towards), found[0].enters))
        inside.append(first)
    for place, one in enumerate(found):
        crossings.append((one.enters, one.leaves))
        inside.append(None)
        if place + 1 < len(found):
            crossings.append((one.leaves, found[place + 1].enters))
            inside.append(turned[place + 1])
    if (last := turned[-1]) in topology.vnfs:
        crossings.append((found[-1].leaves, _moved(found[-1].leaves, towards)))
        inside.append(last)
    return FramePath(f"{turned[0]} to {turned[-1]}", tuple(crossings), tuple(inside))


def _moved(nic: str, by: int) -> str:
    """Return the NIC on the other side of a VNF at the end of a path."""
    vnf, _, number = nic.rpartition("_")
    return f"{vnf}_{int(number) + by}"
