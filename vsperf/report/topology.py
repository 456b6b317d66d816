"""A topology as people draw it: the parts in the order of the frames, with CPUs and rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vsperf.asked import Asked
from vsperf.human import human_fps
from vsperf.record.chain import Way
from vsperf.record.plan import Placement, Plan
from vsperf.record.result import SearchResult
from vsperf.record.trial import Direction, Trial
from vsperf.report.page import Drawn, Fact, Lane, Place
from vsperf.report.telling import telling
from vsperf.report.told import told
from vsperf.spec.topology import Topology
from vsperf.stats.ways import ways_of
from vsperf.units import NANOSECONDS

OWN = "vsperf"
GENERATOR = "generator"


def drawn(
    asked: Asked, plan: Plan | None, result: SearchResult, trials: Sequence[Trial]
) -> Drawn | None:
    """Return the topology of a case; None where its specification says nothing of one."""
    return told(lambda: _drawn(asked, plan, result, trials), None)


def _drawn(
    asked: Asked, plan: Plan | None, result: SearchResult, trials: Sequence[Trial]
) -> Drawn | None:
    topology = Topology.model_validate(dict(asked.section("topology")))
    placement = plan.placement if plan is not None else Placement()
    named: tuple[str, ...] = ("vswitch", GENERATOR)
    kinds = {part: kind for part in named if (kind := asked.text(part, "kind"))}
    vnf = asked.text("vnf", "kind") or "machine"
    parts = _Parts(placement, set(topology.machines), kinds, vnf)
    links = asked.section("testbed", "links")
    ways = ways_of(topology)
    lanes = tuple(Lane(tuple(parts.along(way, links))) for way in ways[::2])
    found = telling(result, trials)
    rates = tuple(_rate(way, found.trial) for way in found.trial.directions) if found else ()
    name = found.name if found else ""
    return Drawn(topology.name, lanes, rates, name, tuple(parts.others()), tuple(placement.notes))


class _Parts:
    """The parts of a deployment and their CPUs."""

    def __init__(
        self, placement: Placement, machines: set[str], kinds: dict[str, str], vnf: str
    ) -> None:
        self._placement = placement
        self._machines = machines
        self._kinds = kinds
        self._vnf = vnf

    def along(self, way: Way, links: Mapping[str, Any]) -> Iterator[Place]:
        """Yield what frames pass from one end to the other."""
        yield self._generator("sends")
        if not way.inside[0]:
            yield _link(way.begin, links)
        for machine in way.inside:
            if machine is None:
                kind = self._kinds.get("vswitch", "switch")
                yield Place("switch", kind, self._cpus(None))
            else:
                yield Place("machine", machine, (self._vnf, *self._cpus(machine)))
        if not way.inside[-1]:
            yield _link(way.end, links)
        yield self._generator("receives")

    def others(self) -> Iterator[Fact]:
        """Yield the CPUs of what frames do not pass."""
        for role, cpus in self._placement.cpus.items():
            if _first(role) == OWN:
                yield Fact(role, _cpu_text(cpus))

    def _generator(self, does: str) -> Place:
        kind = self._kinds.get(GENERATOR, GENERATOR)
        return Place(GENERATOR, kind, (does, *self._cpus(GENERATOR)))

    def _cpus(self, part: str | None) -> tuple[str, ...]:
        """Return the CPUs of a part by role; None is the switch."""
        found = []
        for role, cpus in self._placement.cpus.items():
            first = _first(role)
            mine = first == part
            if part is None:
                mine = first not in {*self._machines, GENERATOR, OWN}
            if mine:
                inner = role.removeprefix(part or "").strip()
                found.append(f"{_cpu_text(cpus)} {inner}".strip())
        return tuple(found)


def _first(role: str) -> str:
    return role.partition(" ")[0]


def _cpu_text(cpus: Sequence[int]) -> str:
    return f"CPU {','.join(str(cpu) for cpu in cpus)}" if cpus else "no CPU of its own"


def _link(name: str, links: Mapping[str, Any]) -> Place:
    link = links.get(name, {})
    if link.get("virtual"):
        return Place("link", name, ("virtual",))
    return Place("link", name, (str(link["speed"]),) if "speed" in link else ())


def _rate(way: Direction, trial: Trial) -> str:
    sent = way.sent_frames * NANOSECONDS / trial.duration_ns
    arrived = way.good_frames * NANOSECONDS / trial.duration_ns
    return f"{way.name}: {human_fps(sent)} sent, {human_fps(arrived)} arrived"
