"""The way of the frames, as data: paths through links and VNFs.

A topology is a set of paths. A path names, in order, the places that a frame visits; the switch
lies between each two of them. So `[phy0, vm1, phy1]` is PVP, and two such paths side by side are
PVPV. The files in `conf/topologies` describe whole families with three placeholders: `vm*` stands
for all VNFs in turn, `vm?` makes one path per VNF, and `phy?` one path per link from `phy1` on.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from vsperf.config.base import Spec

Path = tuple[str, ...]
Dispatch = Literal["mac", "ip", "udp"]


def is_vnf(hop: str) -> bool:
    """Whether a hop of a path is a VNF, and not a link."""
    return re.fullmatch(r"vm[1-9]\d*", hop) is not None


EACH = {"vm?": "vm", "phy?": "phy"}
"""Placeholders that make a path for each, and how what they stand for begins."""


class TopologyFamily(Spec):
    """A named pattern of paths with a number of VNFs, or of links, left open."""

    name: str
    title: str = ""
    vms: int = Field(default=0, ge=0, le=64)
    """VNFs when the testcase does not say how many."""
    links: int = Field(default=0, ge=0, le=64)
    """Links beside `phy0`, of a family with `phy?`, when the testcase does not say how many."""
    paths: tuple[Path, ...]

    @property
    def counts_links(self) -> bool:
        """Whether its number is one of links, and not of VNFs."""
        return any("phy?" in path for path in self.paths)

    @property
    def usual(self) -> int:
        """The number when the testcase does not say it."""
        return self.links if self.counts_links else self.vms

    @property
    def scales(self) -> bool:
        """Whether it takes any number."""
        return any(hop in ("vm*", *EACH) for path in self.paths for hop in path)

    def with_number(self, count: int) -> dict[str, Any]:
        """Return the concrete topology with so many, as it would be written by hand."""
        paths: list[list[str]] = []
        vnfs = [f"vm{number}" for number in range(1, count + 1)]
        for path in self.paths:
            open_hop = next((hop for hop in path if hop in EACH), None)
            for number in range(1, count + 1) if open_hop is not None else [0]:
                hops = [f"{EACH[hop]}{number}" if hop in EACH else hop for hop in path]
                paths.append([h for hop in hops for h in (vnfs if hop == "vm*" else [hop])])
        return {"name": self.name if count == self.usual else f"{self.name}{count}", "paths": paths}


class Topology(Spec):
    """A concrete graph: every path spelled out."""

    name: str = "custom"
    """What plans and tables call it."""
    paths: tuple[Path, ...] = Field(min_length=1)
    """Of each path the places that a frame visits, in order: links and VNFs."""
    nics: Literal[1, 2] = 2
    """NICs of a VNF for each path through it; with one, frames go back out of it."""
    dispatch: Dispatch = "mac"
    """What tells the frames of parallel paths apart: destination MAC, destination IP, UDP port."""

    @field_validator("paths")
    @classmethod
    def _hops_are_names(cls, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        for path in paths:
            if len(path) < 2:
                raise ValueError("a path visits at least two places, such as [phy0, phy1]")
            for hop in path:
                if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", hop):
                    raise ValueError(f"{hop!r} is not the name of a link or of a VNF")
                if path.count(hop) > 1:
                    raise ValueError(f"the path visits {hop} twice")
            if paths.count(path) + paths.count(path[::-1]) > 1:
                raise ValueError(f"the path from {path[0]} to {path[-1]} is there twice")
        return paths

    @model_validator(mode="after")
    def _vnfs_lie_on_one_path(self) -> Self:
        for vnf in self.vnfs:
            if sum(vnf in path for path in self.paths) > 1:
                raise ValueError(f"{vnf} lies on several paths; a VNF has one way through")
        for path in self.paths:
            if (path[0] in self.vnfs) != (path[-1] in self.vnfs):
                raise ValueError(
                    f"the path from {path[0]} to {path[-1]} has a link at one end and a VNF at "
                    "the other; the generator is plugged into both ends in the same way"
                )
        return self

    @model_validator(mode="after")
    def _vnfs_are_numbered(self) -> Self:
        numbers = sorted(int(vm[2:]) for vm in self.vnfs)
        if numbers != list(range(1, len(numbers) + 1)):
            names = ", ".join(self.vnfs)
            raise ValueError(f"VNFs are numbered from vm1 without a gap, not {names}")
        return self

    @property
    def vnfs(self) -> tuple[str, ...]:
        """The VNFs, in order of first visit."""
        hops = dict.fromkeys(hop for path in self.paths for hop in path)
        return tuple(hop for hop in hops if is_vnf(hop))

    @property
    def links(self) -> tuple[str, ...]:
        """The testbed links that the paths use, in order of first visit."""
        hops = dict.fromkeys(hop for path in self.paths for hop in path)
        return tuple(hop for hop in hops if hop not in self.vnfs)

    def lanes(self, one: str, other: str) -> int:
        """Return how many paths lie side by side between two ends."""
        return sum((path[0], path[-1]) in ((one, other), (other, one)) for path in self.paths)

    def lane(self, path: Path) -> int:
        """Return which of the parallel paths this one is, counted from 0."""
        ends = {path[0], path[-1]}
        return [one for one in self.paths if {one[0], one[-1]} == ends].index(path)

    @property
    def segments(self) -> tuple[tuple[str, str], ...]:
        """The passes through the switch, forward direction: each two neighbours of a path."""
        pairs = (pair for path in self.paths for pair in itertools.pairwise(path))
        return tuple(dict.fromkeys(pairs))
