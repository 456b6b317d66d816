"""What a case was asked, in a few words each."""

from __future__ import annotations

from vsperf.asked import Asked
from vsperf.report.page import Fact


def asked_of(asked: Asked) -> tuple[Fact, ...]:
    """Return what a case was asked, in a few words each."""
    traffic = asked.section("traffic")
    flows = str(traffic.get("flows", "")) or None
    frames = traffic.get("imix") or traffic.get("frame_size")
    found = {
        "frames": None if frames is None else str(frames),
        "flows": f"{flows} per direction" if flows else None,
        "direction": traffic.get("direction"),
        "method": asked.value("search", "kind"),
        "warm-up": asked.value("trial", "warm_up"),
        "switch": asked.value("vswitch", "kind"),
        "generator": asked.value("generator", "kind"),
        "machines": asked.value("vnf", "kind") if asked.passes_machines else None,
        "noise": _noise(asked),
        "links": _links(asked),
    }
    return tuple(Fact(name, str(value)) for name, value in found.items() if value)


def _links(asked: Asked) -> str | None:
    """Say whether there were cables; who reads of ports thinks of network cards."""
    virtual = [link.virtual for link in asked.links.values()]
    if asked.value("testbed", "simulated") or not virtual or not all(virtual):
        return None
    return "virtual, without a network card"


def _noise(asked: Asked) -> str | None:
    """Say what ran beside the case, and next to what; the plan has the rest."""
    noise = asked.section("noise")
    if not noise:
        return None
    where = f", {noise['near']} of {noise['to']}" if noise.get("near") else ""
    return f"{noise.get('instances', 1)} × {noise.get('kind')}{where}"
