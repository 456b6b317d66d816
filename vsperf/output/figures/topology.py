"""The way of a case's frames: generator, switch and VNFs, with their CPUs and rates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vsperf.analysis.frame_paths import frame_paths
from vsperf.output.figures.drawing import Arrow, Diagram, Drawing, Node
from vsperf.output.figures.facts import Facts, trusted
from vsperf.output.figures.groups import Evidence, caption, evidence_of
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.quantities.human import End, human_fps
from vsperf.quantities.units import CpuSet
from vsperf.records.chain import FramePath
from vsperf.records.files.view import CaseView
from vsperf.records.run import Placement

MOST_ROWS = 6
GENERATOR, SWITCH = "generator", "switch"
SWITCH_ROLES = ("pmd", "switch", "main")


@dataclass(frozen=True, slots=True)
class Setup:
    """What is drawn of a case."""

    label: str
    title: str
    ways: tuple[FramePath, ...]
    kinds: tuple[tuple[str, str], ...]
    """By part, what it is."""
    cpus: tuple[tuple[str, tuple[int, ...]], ...]
    """By role."""
    links: tuple[tuple[str, str], ...]
    """By name, how fast it is."""
    rate: str
    both: bool
    evidence: Evidence


def gather(view: CaseView) -> tuple[Setup, ...]:
    """Return how the parts of a case were joined; nothing where its record does not say."""
    facts = Facts(view)
    topology = facts.asked.topology
    if topology is None:
        return ()
    placement = view.start.plan.placement if view.start is not None else Placement()
    kinds = {part: facts.asked.kind(name) or "" for part, name in PARTS.items()}
    return (
        Setup(
            label=view.label,
            title=topology.name,
            ways=frame_paths(topology)[::2],
            kinds=tuple(kinds.items()),
            cpus=tuple(placement.cpus.items()),
            links=tuple(_links(facts)),
            rate=_rate(view),
            both=facts.asked.value("traffic", "direction") in ("both", None),
            evidence=evidence_of(view),
        ),
    )


PARTS = {GENERATOR: "generator", SWITCH: "vswitch", "vnf": "vnf"}


def _links(facts: Facts) -> Iterator[tuple[str, str]]:
    for name in facts.asked.section("testbed", "links"):
        link = facts.asked.section("testbed", "links", name)
        yield name, "virtual" if link.get("virtual") else str(link.get("speed", ""))


def _rate(view: CaseView) -> str:
    result = view.result
    for goal in result.goals if result is not None else ():
        if goal.lower_fps is not None and trusted(goal.flags):
            return f"{goal.goal} {human_fps(goal.lower_fps, End.LOWER)}"
    for load in result.loads[:1] if result is not None else ():
        return f"load {human_fps(load.load_fps)}"
    return ""


def draw(samples: Sequence[Setup], options: Options) -> Drawing | None:
    """Draw a row for each path, from the generator and back to it."""
    (case,) = samples
    shown = case.ways[:MOST_ROWS]
    more = len(case.ways) - len(shown)
    others = [f"{role} on {_cpus(cpus)}" for role, cpus in case.cpus if _part(role) == ""]
    return Drawing(
        title=f"Topology {case.title}, {case.label}",
        caption=caption(
            [case.evidence],
            "Rates are per direction.",
            f"Also: {'; '.join(others)}." if others else "",
            f"{more} more paths of the same kind are not drawn." if more > 0 else "",
        ),
        diagram=Diagram(tuple(_nodes(case, shown)), tuple(_arrows(case, shown))),
        simulated=case.evidence.simulated,
    )


def _nodes(case: Setup, ways: Sequence[FramePath]) -> Iterator[Node]:
    rows, last = len(ways), max(len(way.crossings) for way in ways) + 1
    kinds = dict(case.kinds)
    for key, column in (("begin", 0), ("end", last)):
        notes = (kinds[GENERATOR], *_notes(case, GENERATOR))
        yield Node(key, "generator", GENERATOR, column, 0, rows, notes)
    switches = {
        column for way in ways for column, vnf in enumerate(way.inside, start=1) if vnf is None
    }
    for column in sorted(switches):
        notes = _notes(case, SWITCH) if column == min(switches) else ("the same switch",)
        yield Node(f"switch {column}", kinds[SWITCH] or SWITCH, SWITCH, column, 0, rows, notes)
    for row, way in enumerate(ways):
        for column, vnf in enumerate(way.inside, start=1):
            if vnf is not None:
                notes = (kinds["vnf"], *_notes(case, vnf))
                yield Node(f"{row} {vnf}", vnf, "vnf", column, row, 1, notes)


def _notes(case: Setup, part: str) -> tuple[str, ...]:
    own = [(role, _cpus(cpus)) for role, cpus in case.cpus if _part(role) == part]
    return tuple(cpus if role == part else f"{role}: {cpus}" for role, cpus in own)


def _part(role: str) -> str:
    """Return which part a role of CPUs belongs to; empty for what is no part of the way."""
    first = role.partition(" ")[0]
    if first in SWITCH_ROLES:
        return SWITCH
    return first if first == GENERATOR or first.startswith("vm") else ""


def _cpus(cpus: Sequence[int]) -> str:
    return f"CPU {CpuSet.of(cpus)}" if cpus else "no CPU of its own"


def _arrows(case: Setup, ways: Sequence[FramePath]) -> Iterator[Arrow]:
    links = dict(case.links)
    for row, way in enumerate(ways):
        keys = ["begin", *(_key(row, column, m) for column, m in enumerate(way.inside, 1)), "end"]
        for place, (begin, end) in enumerate(itertools.pairwise(keys)):
            outer = place == 0 or place == len(keys) - 2
            name = way.begin if place == 0 else way.crossings[place - 1][1]
            speed = links.get(name, "")
            yield Arrow(
                begin,
                end,
                row,
                case.both,
                f"{name}, {speed}" if speed else name,
                case.rate if outer else "",
            )


def _key(row: int, column: int, vnf: str | None) -> str:
    return f"switch {column}" if vnf is None else f"{row} {vnf}"


PLOT = Plot(
    name="topology",
    title="the way of a case's frames, with CPUs and rates",
    needs="a case whose specification is whole",
    scope=Scope.CASE,
    gather=gather,
    draw=draw,
    in_report=False,
)
