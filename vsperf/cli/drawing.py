"""Topologies as drawings made of text."""

from __future__ import annotations

from vsperf.spec.topology import Topology


def draw(topology: Topology, switch: str) -> str:
    """Draw each path of a topology, the switch between each two places.

    p2p    phy0 ──┤ ovs ├── phy1
    """
    between = f" ──┤ {switch} ├── "
    indent = " " * (len(topology.name) + 4)
    lines = [between.join(_place(hop) for hop in path) for path in topology.paths]
    return "\n".join(
        (f"{topology.name}    " if number == 0 else indent) + line
        for number, line in enumerate(lines)
    )


def _place(hop: str) -> str:
    return f"[{hop}]" if hop.startswith("vm") else hop
