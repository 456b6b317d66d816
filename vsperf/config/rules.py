"""Rules that hold between parts of a document and need the places of both to be explained."""

from __future__ import annotations

from collections.abc import Collection

from vsperf.config.alternatives import item_problems
from vsperf.config.case import MADE, CaseSpec
from vsperf.config.connections import connection_problems
from vsperf.config.document import (
    DRIVER_SECTIONS,
    EXTENDS,
    LISTED,
    PRESET_HEADER,
    TESTCASES,
    Drivers,
)
from vsperf.config.noise import NOISE, QUIET
from vsperf.config.places import place_problems
from vsperf.config.suggest import described, did_you_mean, listed, no_such_kind, quoted
from vsperf.config.tree import Listing, Node, Scalar, Section, find, plain
from vsperf.config.wiring import forks
from vsperf.errors import Problem
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Rate

MISPLACED = {
    EXTENDS: f"a testcase says it at the top of its file, a preset in `{PRESET_HEADER}:`",
    TESTCASES: "a file that holds several testcases is called NAME.suite.yaml",
    **MADE,
}
"""Sections that only some files have and which, and what nobody writes."""


def misplaced_sections(document: Section) -> dict[str, Problem]:
    """Return, by section, what is known, but not where it was written."""
    problems = {}
    for section, fix in MISPLACED.items():
        if section in document.entries:
            what = f"`{section}` cannot stand here"
            place = document.entries[section].key.location
            problems[section] = Problem(what, place, None, fix)
    return problems


def driver_problems(document: Section, drivers: Drivers) -> dict[str, list[Problem]]:
    """Return, by section, what is wrong with the choice of a driver, or of several."""
    problems: dict[str, list[Problem]] = {}
    for section in DRIVER_SECTIONS:
        node = document.get(section)
        known: Collection[str] = drivers.get(section, {})
        if isinstance(node, Listing) and section in LISTED:
            wrong = item_problems(section, node)
            wrong += [p for item in node.items if (p := _driver_problem(section, item, known))]
        else:
            problem = _driver_problem(section, node, known)
            wrong = [problem] if problem is not None else []
        if wrong:
            problems[section] = wrong
    return problems


def _driver_problem(section: str, node: Node | None, known: Collection[str]) -> Problem | None:
    kind = node.get("kind") if isinstance(node, Section) else None
    if kind is None:
        return None
    value = plain(kind)
    noun = "method" if section == "search" else "driver"
    if not isinstance(kind, Scalar) or not isinstance(value, str):
        what = f"`{section}.kind`: names a {noun}, and is {described(value)}"
    elif value in known or (section == NOISE and value == QUIET):
        return None
    else:
        what = f"there is no {section} {noun} {quoted(value)}"
    known = (QUIET, *known) if section == NOISE else known
    nothing = f"no {noun} of this kind is installed; `vsperf plugins` shows all of them"
    fix = f"known {noun}s: {listed(known)}" if known else nothing
    why, mend = no_such_kind(section, str(value), known, fix)
    return Problem(what, kind.mark.location, why, mend)


def case_problems(spec: CaseSpec, document: Section) -> list[Problem]:
    """Return contradictions that the models cannot see or cannot place."""
    return [
        *_within_the_method(spec, document),
        *_of_the_switch(spec, document),
        *_of_the_vnfs(spec, document),
        *_latency_goal(spec, document),
        *_beyond_the_link(spec, document),
        *place_problems(spec, document),
        *_programs_in_turns(spec, document),
        *connection_problems(spec, document),
    ]


def _within_the_method(spec: CaseSpec, document: Section) -> list[Problem]:
    found = list(spec.search.misfits(spec.topology))
    if spec.topology.links:
        found += spec.search.contradictions(spec.traffic.frame_size, spec.slowest_link)
    problems = []
    for one in found:
        node = find(document, f"search.{one.path}")
        what = f"`search.{one.path}` {one.what}"
        problems.append(Problem(what, node.mark.location if node else None, one.why, one.fix))
    return problems


def _of_the_switch(spec: CaseSpec, document: Section) -> list[Problem]:
    """Return what does not go with the switch, or with one of those that are compared."""
    specs = [side.spec for side in spec.sides] or [spec]
    found = [
        p for one in specs for p in (*_modifications(one, document), *_for_everybody(one, document))
    ]
    return list(dict.fromkeys(found))


def _of_the_vnfs(spec: CaseSpec, document: Section) -> list[Problem]:
    """Return what does not go with the VNFs of the topology, where their driver looks at it."""
    misfits = getattr(spec.vnf, "misfits", None)
    problems = []
    for one in misfits(spec.topology) if misfits is not None else ():
        node = find(document, f"vnf.{one.path}")
        what = f"`vnf.{one.path}` {one.what}"
        problems.append(Problem(what, node.mark.location if node else None, one.why, one.fix))
    return problems


def _modifications(spec: CaseSpec, document: Section) -> list[Problem]:
    problems = []
    for one in spec.modify.contradictions(spec.traffic):
        node = find(document, f"vswitch.modify.{one.path}")
        what = f"`vswitch.modify.{one.path}` {one.what}"
        problems.append(Problem(what, node.mark.location if node else None, one.why, one.fix))
    return problems


def _for_everybody(spec: CaseSpec, document: Section) -> list[Problem]:
    """Note frames for everybody that would not come to one end, and once."""
    if not spec.traffic.broadcasts.value:
        return []
    topology = spec.topology
    node = find(document, "traffic.broadcasts")
    place = node.mark.location if node else None
    if several := forks(topology):
        what = f"`traffic.broadcasts` have no way of their own in topology {topology.name}"
        why = (
            f"frames from {several[0].enters} go several ways there, told apart by whom they are "
            "for, and these are for everybody"
        )
        return [Problem(what, place, why, "--set topology=p2p, or --set traffic.broadcasts=0")]
    bridge = getattr(spec.vswitch, "flows", None) == "learn"
    if bridge and (topology.vnfs or len(topology.paths) > 1):
        what = f"`traffic.broadcasts` would be multiplied in topology {topology.name}"
        why = (
            "a bridge (vswitch.flows=learn) sends a frame for everybody out of all its other "
            "ports, so it would arrive several times, or go round"
        )
        return [Problem(what, place, why, "--set topology=p2p, or --set vswitch.flows=port")]
    return []


def _programs_in_turns(spec: CaseSpec, document: Section) -> list[Problem]:
    """Note programs that somebody wants in turns; those of a testbed are there for other cases."""
    program = document.get("program")
    if not spec.search.COMPARES or not isinstance(program, Section) or program.mark.source.role:
        return []
    what = f"the method {spec.search.kind} sends frames in turns, and no programs exchange data"
    why = (
        "a turn lasts for milliseconds: a stream of TCP comes to no rate in them, and goes on to "
        "send less for having been held still"
    )
    fix = (
        "take a method of programs, such as the testcase's own, and measure each switch in a case "
        "of its own, in turns: `vsperf run TESTCASE --vswitch A,B --repeat 4`, and then `vsperf "
        "compare latest --by vswitch`"
    )
    return [Problem(what, program.mark.location, why, fix)]


def _latency_goal(spec: CaseSpec, document: Section) -> list[Problem]:
    if spec.latency is None or not spec.latency.loads:
        return []
    node = find(document, "latency.goal")
    place = node.mark.location if node else None
    goals = spec.search.asked()
    if not goals:
        method = spec.search.kind
        what = f"latency trials need the goal of a search, and the method {method} has none"
        kind = find(document, "search.kind")
        why = f"they are asked for in {node.mark.origin}" if node else None
        where = kind.mark.location if kind else place
        return [Problem(what, where, why, "write `latency: null`, or give `--set latency=null`")]
    if spec.latency.goal in goals:
        return []
    fix = did_you_mean(spec.latency.goal, goals, f"goals: {listed(goals)}")
    what = f"`latency.goal` names {quoted(spec.latency.goal)}, which is no goal of the search"
    return [Problem(what, place, None, fix)]


def _beyond_the_link(spec: CaseSpec, document: Section) -> list[Problem]:
    """Note criteria on a rate that no result can reach, whatever the switch does."""
    if not spec.topology.links:
        return []
    link = spec.slowest_link
    size = spec.traffic.frame_size
    line = link.frames_per_second(size)
    expect = document.get("expect")
    metrics = spec.search.metrics()
    problems = []
    for index, one in enumerate(spec.expect):
        if one.min is None or metrics.get(one.metric) is not Unit.FPS:
            continue
        least = Rate.parse(one.min.text)
        if one.frame_size not in (None, size) or least.frames_per_second(size, link) <= line:
            continue
        node = find(expect.items[index], "min") if isinstance(expect, Listing) else None
        what = f"`expect`: no result can reach {one.min}"
        why = f"the line rate is {float(line):.0f} fps, with frames of {size} on {link}"
        fix = "add `frame_size:` if it is for smaller frames; for the line rate write `min: 100%`"
        problems.append(Problem(what, node.mark.location if node else None, why, fix))
    return problems
