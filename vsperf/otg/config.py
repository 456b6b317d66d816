"""A configuration: ports by their locations, and flows between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vsperf.otg.captures import Capture, read_captures
from vsperf.otg.document import Document, Node, json_of
from vsperf.otg.flows import LARGEST_FRAME, Flow, Line, check_files, read_flow

MOST_FLOWS = 32
"""Streams of tgen."""
UPDATED = ("rate", "size")
UNCHANGED = ("tx_rx", "packet", "duration", "metrics")
"""Of a flow, where it is changed in place."""
USUAL_MTU = 1500
"""What the model, and so its clients, say where nobody does."""
SPEEDS = {
    "speed_10_fd_mbps": 10**7,
    "speed_100_fd_mbps": 10**8,
    **{f"speed_{n}_gbps": n * 10**9 for n in (1, 10, 25, 40, 50, 100, 200, 400, 800)},
}


@dataclass(frozen=True, slots=True)
class Place:
    """A port that there is."""

    number: int
    """tgen's."""
    bps: int | None
    """What its driver says of its speed; None where that means nothing."""
    longest: int = LARGEST_FRAME
    """Bytes of the longest frame that it takes, with FCS."""
    tag_room: int = 0
    """What it has room for beside that where a frame has a tag."""


@dataclass(frozen=True, slots=True)
class Config:
    """What was configured, and what of it is worth knowing."""

    content: Mapping[str, Any] = field(default_factory=dict)
    """As it came."""
    ports: Mapping[str, str] = field(default_factory=dict)
    """Locations, by the names of ports."""
    flows: tuple[Flow, ...] = ()
    warnings: tuple[str, ...] = ()
    captures: Mapping[str, Capture] = field(default_factory=dict)
    """What is wanted of ports that are captured, by their names."""
    text: bytes = b"{}"
    """The content in JSON: one for all who ask at the same time, as it may be long."""


def read_config(content: object, places: Mapping[str, Place]) -> Config:
    """Read a whole configuration; raises `RefusedError` with all that cannot be had.

    Nothing is changed by that, not even a file.
    """
    document = Document(content)
    root = document.root
    root.at_most("ports", len(places))
    root.at_most("flows", MOST_FLOWS)
    root.at_most("layer1", len(places))
    root.at_most("captures", len(places))
    warnings: list[str] = []
    ports = _ports(root, places)
    speeds = _speeds(root, ports, warnings)
    _options(root)
    lines = {name: _line(places[location], speeds.get(name)) for name, location in ports.items()}
    flows = tuple(read_flow(node, lines, warnings) for node in root.nodes("flows"))
    check_files(root, flows)
    captures = read_captures(root, ports)
    _unique(root, "flows", [flow.name for flow in flows])
    document.finish()
    held = dict(content) if isinstance(content, dict) else {}
    return Config(held, ports, flows, tuple(warnings), captures, json_of(held))


def merged(config: Config, document: Document) -> dict[str, Any]:
    """Return a configuration with other rates and sizes of some of its flows."""
    document.root.only("choice", "flows")
    changes = document.root.node("flows")
    names = changes.texts("property_names", len(UPDATED))
    changes.at_most("flows", len(config.flows))
    if not names:
        changes.refuse("is needed", "property_names")
    for name in names:
        if name not in UPDATED:
            changes.refuse(f"{name!r} is not supported, only rate, size", "property_names")
    found = dict(config.content)
    flows = [dict(flow) for flow in found.get("flows") or ()]
    by_name = {flow["name"]: flow for flow in flows}
    for change in changes.nodes("flows"):
        name = change.text("name")
        for key in UNCHANGED:
            change.get(key)  # may be said again, and is not what is updated
        if (flow := by_name.get(name)) is None:
            change.refuse(f"there is no flow {name!r}", "name")
            continue
        for key in UPDATED:
            said = change.get(key)
            if key not in names:
                continue
            if said is None:
                change.refuse("is needed, as property_names has it", key)
            flow[key] = said
    document.finish()
    return {**found, "flows": flows}


def _line(place: Place, speed: int | None) -> Line:
    return Line(place.number, speed or place.bps, place.longest, place.tag_room)


def _ports(root: Node, places: Mapping[str, Place]) -> dict[str, str]:
    found: dict[str, str] = {}
    named = []
    for port in root.nodes("ports"):
        name, location = port.text("name"), port.text("location")
        named.append(name)
        if location in places:
            found[name] = location
        elif location:
            known = ", ".join(sorted(places))
            port.refuse(f"{location!r} is no port of this server, which has {known}", "location")
    _unique(root, "ports", named)
    numbers = [places[location].number for location in found.values()]
    if len(set(numbers)) < len(numbers):
        root.refuse("two ports have the same location", "ports")
    return found


def _unique(root: Node, key: str, names: list[str]) -> None:
    for name in sorted({name for name in names if names.count(name) > 1}):
        root.refuse(f"there are several called {name!r}", key)


def _speeds(root: Node, ports: Mapping[str, str], warnings: list[str]) -> dict[str, int]:
    """Return the speeds that are said: what a percentage refers to, and nothing else."""
    found: dict[str, int] = {}
    for layer in root.nodes("layer1"):
        layer.text("name")
        names = layer.texts("port_names", len(ports))
        for name in names:
            if name not in ports:
                layer.refuse(f"there is no port {name!r}", "port_names")
        layer.only("promiscuous", True, why="ports take whatever comes")
        if layer.whole("mtu", USUAL_MTU, 64, LARGEST_FRAME) != USUAL_MTU:
            warnings.append(f"{layer.path}.mtu: no port changes its own, and takes what it can")
        if layer.has("speed"):
            speed = SPEEDS[layer.one_of("speed", tuple(SPEEDS))]
            found |= dict.fromkeys(names, speed)
            warnings.append(f"{layer.path}.speed: percentages refer to it; no port changes its own")
    return found


def _options(root: Node) -> None:
    if not root.has("options"):
        return
    options = root.node("options")
    if options.has("port_options"):
        ports = options.node("port_options")
        ports.flag("location_preemption", default=False)  # nobody else has these ports
        ports.only("data_integrity", False, why="frames that are damaged are never counted")
    if options.has("flow_options"):
        options.node("flow_options").only("packet_loss_duration", False)
