"""Topologies as drawings made of text."""

from __future__ import annotations

from vsperf.analysis.frame_paths import frame_paths
from vsperf.config.topology import Topology
from vsperf.records.chain import FramePath

GENERATOR = "generator"


def draw(topology: Topology, switch: str) -> str:
    """Draw each path of a topology, the switch between each two places.

    A VNF stands between the numbers of its NICs; with one NIC, frames leave where they came
    in. At the end of a path is a link, or the generator where it is plugged into a VNF.

    p2p    phy0 ──┤ ovs ├── phy1
    pvp    phy0 ──┤ ovs ├── 0[vm1]1 ──┤ ovs ├── phy1
    v2v    generator ── 0[vm1]1 ──┤ ovs ├── 0[vm2]1 ── generator
    """
    indent = " " * (len(topology.name) + 4)
    lines = [_line(way, switch) for way in frame_paths(topology)[::2]]
    return "\n".join(
        (f"{topology.name}    " if number == 0 else indent) + line
        for number, line in enumerate(lines)
    )


def _line(way: FramePath, switch: str) -> str:
    begin = f"{GENERATOR} ── " if way.inside[0] else way.begin
    end = f" ── {GENERATOR}" if way.inside[-1] else way.end
    middle = [
        f" ──┤ {switch} ├── " if vnf is None else _vnf(vnf, *crossing)
        for vnf, crossing in zip(way.inside, way.crossings, strict=True)
    ]
    return "".join((begin, *middle, end))


def _vnf(name: str, enter: str, leave: str) -> str:
    first, last = enter.rpartition("_")[2], leave.rpartition("_")[2]
    return f"{first}[{name}]{last}" if first != last else f"{first}[{name}]"
