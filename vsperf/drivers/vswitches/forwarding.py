"""Where frames go on from each port, as data, for switches that have no rules. Pure."""

from __future__ import annotations

from vsperf.config.topology import Topology
from vsperf.config.wiring import passes
from vsperf.errors import UsageError


def onward(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Return by port all ports that its frames go on to, in the order of the paths."""
    found: dict[str, dict[str, None]] = {}
    for way in passes(topology):
        found.setdefault(way.enters, {})[way.leaves] = None
    return {port: tuple(others) for port, others in found.items()}


def groups(topology: Topology) -> tuple[tuple[str, ...], ...]:
    """Return the ports that frames pass between, directly or by turns, each group apart."""
    found: list[tuple[str, ...]] = []
    for port, others in onward(topology).items():
        touching = [group for group in found if {port, *others} & set(group)]
        merged = dict.fromkeys(name for group in touching for name in group)
        merged |= dict.fromkeys((port, *others))
        found = [group for group in found if group not in touching] + [tuple(merged)]
    return tuple(found)


def partners(topology: Topology, who: str, fix: str) -> dict[str, str]:
    """Return by port the one that all its frames go to, which sends all of its own back.

    `who` joins ports in pairs, and cannot do what a topology asks where frames of a port go several
    ways; `fix` is what a user does then.
    """
    found = onward(topology)
    for port, others in found.items():
        if len(others) > 1:
            raise UsageError(
                f"{who} joins ports in pairs, and in topology {topology.name} frames from {port} "
                f"go to {' and to '.join(others)}",
                why="only what is in a frame tells such ways apart, and it looks at no frame",
                fix=fix,
            )
    return {port: others[0] for port, others in found.items()}
