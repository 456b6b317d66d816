"""What a case was asked, in a few words each, from its specification of whatever version."""

from __future__ import annotations

from typing import Any

from vsperf.report.page import Fact


def asked_of(spec: dict[str, Any]) -> tuple[Fact, ...]:
    """Return what a case was asked, in a few words each."""
    traffic, trial = _part(spec, "traffic"), _part(spec, "trial")
    flows = str(traffic.get("flows", "")) or None
    frames = traffic.get("imix") or traffic.get("frame_size")
    found = {
        "frames": None if frames is None else str(frames),
        "flows": f"{flows} per direction" if flows else None,
        "direction": traffic.get("direction"),
        "method": _part(spec, "search").get("kind"),
        "warm-up": trial.get("warm_up"),
        "switch": _part(spec, "vswitch").get("kind"),
        "generator": _part(spec, "generator").get("kind"),
        "machines": _part(spec, "vnf").get("kind") if _machines(spec) else None,
        "links": _links(spec),
    }
    return tuple(Fact(name, str(value)) for name, value in found.items() if value)


def _links(spec: dict[str, Any]) -> str | None:
    """Say whether there were cables; who reads of ports thinks of network cards."""
    testbed = _part(spec, "testbed")
    virtual = [one.get("virtual") for one in _part(testbed, "links").values()]
    if testbed.get("simulated") or not virtual or not all(virtual):
        return None
    return "virtual, without a network card"


def _part(spec: dict[str, Any], name: str) -> dict[str, Any]:
    part = spec.get(name)
    return part if isinstance(part, dict) else {}


def _machines(spec: dict[str, Any]) -> bool:
    paths = _part(spec, "topology").get("paths")
    links = _part(_part(spec, "testbed"), "links")
    return isinstance(paths, list) and any(
        hop not in links for path in paths if isinstance(path, list) for hop in path
    )
