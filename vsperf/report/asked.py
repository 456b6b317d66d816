"""What a case was asked, in a few words each, from its specification of whatever version."""

from __future__ import annotations

from typing import Any

from vsperf.report.page import Fact
from vsperf.store.planned import part_of


def asked_of(spec: dict[str, Any]) -> tuple[Fact, ...]:
    """Return what a case was asked, in a few words each."""
    traffic, trial = part_of(spec, "traffic"), part_of(spec, "trial")
    flows = str(traffic.get("flows", "")) or None
    frames = traffic.get("imix") or traffic.get("frame_size")
    found = {
        "frames": None if frames is None else str(frames),
        "flows": f"{flows} per direction" if flows else None,
        "direction": traffic.get("direction"),
        "method": part_of(spec, "search").get("kind"),
        "warm-up": trial.get("warm_up"),
        "switch": part_of(spec, "vswitch").get("kind"),
        "generator": part_of(spec, "generator").get("kind"),
        "machines": part_of(spec, "vnf").get("kind") if _machines(spec) else None,
        "noise": _noise(spec),
        "links": _links(spec),
    }
    return tuple(Fact(name, str(value)) for name, value in found.items() if value)


def _links(spec: dict[str, Any]) -> str | None:
    """Say whether there were cables; who reads of ports thinks of network cards."""
    testbed = part_of(spec, "testbed")
    virtual = [one.get("virtual") for one in part_of(testbed, "links").values()]
    if testbed.get("simulated") or not virtual or not all(virtual):
        return None
    return "virtual, without a network card"


def _noise(spec: dict[str, Any]) -> str | None:
    """Say what ran beside the case, and next to what; the plan has the rest."""
    noise = part_of(spec, "noise")
    if not noise:
        return None
    where = f", {noise['near']} of {noise['to']}" if noise.get("near") else ""
    return f"{noise.get('instances', 1)} × {noise.get('kind')}{where}"


def _machines(spec: dict[str, Any]) -> bool:
    paths = part_of(spec, "topology").get("paths")
    links = part_of(part_of(spec, "testbed"), "links")
    return isinstance(paths, list) and any(
        hop not in links for path in paths if isinstance(path, list) for hop in path
    )
