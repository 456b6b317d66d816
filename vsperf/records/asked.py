"""What a case was asked, read from the specification that is stored with it.

Readers bear records of whatever version, also damaged ones: what is missing, or is something else
than it should be, is None, or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from vsperf.config.topology import Topology
from vsperf.config.traffic import size_of
from vsperf.errors import VsperfError
from vsperf.quantities.quantity import UnitError
from vsperf.quantities.units import Count, FrameSize, LinkSpeed
from vsperf.records.run import PlannedCase

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StoredLink:
    """A link of the testbed."""

    speed: LinkSpeed | None
    virtual: bool
    """Whether it is no cable, and so has no line rate."""


@dataclass(frozen=True)
class Asked:
    """What a planned case says of itself."""

    case: PlannedCase

    def section(self, *path: str) -> Mapping[str, Any]:
        """Return a part of the specification; empty where there is none."""
        found: Any = self.case.spec
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else NOTHING

    def value(self, *path: str) -> Any:
        """Return what stands at a place; None where nothing does."""
        *parts, name = path
        return self.section(*parts).get(name)

    def text(self, *path: str) -> str | None:
        found = self.value(*path)
        return found if isinstance(found, str) else None

    def kind(self, part: str) -> str | None:
        """Return which driver or method a part was: `vswitch`, `generator`, `vnf`, `search`."""
        return self.text(part, "kind")

    @property
    def name(self) -> str:
        return str(self.case.spec.get("name", self.case.label))

    @property
    def sender(self) -> tuple[str, str | None]:
        """What sends at the ends of the links, a generator or a program, and of which kind."""
        section = "program" if self.section("program") else "generator"
        return section, self.kind(section)

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(tag for tag in _list(self.value("tags")) if isinstance(tag, str))

    @cached_property
    def size(self) -> FrameSize | None:
        """The frame size, or the mean of a mix."""
        try:
            return size_of(self.section("traffic"))
        except (KeyError, ValueError, TypeError, VsperfError):
            return None

    @cached_property
    def frame_bytes(self) -> int | None:
        """The frame size [bytes, FCS included]; None also for a mix of sizes."""
        try:
            return FrameSize.parse(self.value("traffic", "frame_size")).bytes
        except UnitError:
            return None

    @cached_property
    def flows(self) -> int | None:
        """How many flows are sent; None of programs, which send as many as they have instances."""
        if self.sender[0] == "program":
            return None
        try:
            return Count.parse(self.value("traffic", "flows")).value
        except UnitError:
            return None

    @cached_property
    def topology(self) -> Topology | None:
        """The way of the frames."""
        try:
            return Topology.model_validate(dict(self.section("topology")))
        except (ValueError, TypeError, VsperfError):
            return None

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The paths of the topology, each by its hops: links and VNFs."""
        paths = map(_list, _list(self.value("topology", "paths")))
        return tuple(tuple(hop for hop in path if isinstance(hop, str)) for path in paths)

    @cached_property
    def links(self) -> Mapping[str, StoredLink]:
        """The links of the testbed that the case uses; all of them where its paths name none."""
        known = self.section("testbed", "links")
        hops = {hop for path in self.paths for hop in path}
        used = [name for name in known if name in hops] or list(known)
        return {name: _link(self.section("testbed", "links", name)) for name in used}

    @property
    def virtual(self) -> bool:
        """Whether one of its links is no cable."""
        return any(link.virtual for link in self.links.values())

    @property
    def slowest(self) -> LinkSpeed | None:
        """What its slowest link carries; None where that is not said of all."""
        speeds = [link.speed for link in self.links.values()]
        known = [speed for speed in speeds if speed is not None]
        return min(known) if known and len(known) == len(speeds) else None

    @property
    def passes_vnfs(self) -> bool:
        """Whether its paths go through more than links."""
        known = self.section("testbed", "links")
        return any(hop not in known for path in self.paths for hop in path)

    @property
    def baselines(self) -> tuple[str, ...]:
        criteria = (one for one in _list(self.value("expect")) if isinstance(one, Mapping))
        return tuple(str(one["baseline"]) for one in criteria if one.get("baseline"))

    @property
    def loads(self) -> tuple[str, ...]:
        """The loads that it was given, as they were written."""
        return tuple(map(str, _list(self.value("search", "loads"))))


def _link(found: Mapping[str, Any]) -> StoredLink:
    try:
        speed = LinkSpeed.parse(found.get("speed"))
    except UnitError:
        speed = None
    return StoredLink(speed, bool(found.get("virtual")))


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def part_of(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of what is stored, or an empty one where that is something else, or nothing."""
    part = found.get(name)
    return part if isinstance(part, Mapping) else NOTHING
