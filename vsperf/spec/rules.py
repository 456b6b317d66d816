"""Rules that hold between parts of a document and need the places of both to be explained."""

from __future__ import annotations

from vsperf.errors import Problem
from vsperf.spec.case import CaseSpec
from vsperf.spec.document import DRIVER_SECTIONS, Drivers
from vsperf.spec.search import FixedLoad, LoadRange
from vsperf.spec.suggest import described, did_you_mean, listed, quoted
from vsperf.spec.tree import Listing, Scalar, Section, find, plain


def driver_problems(document: Section, drivers: Drivers) -> dict[str, Problem]:
    """Return, by section, what is wrong with the choice of a driver."""
    problems = {}
    for section in DRIVER_SECTIONS:
        node = document.get(section)
        kind = node.get("kind") if isinstance(node, Section) else None
        known = drivers.get(section, {})
        if kind is None:
            continue
        value = plain(kind)
        if not isinstance(kind, Scalar) or not isinstance(value, str):
            what = f"`{section}.kind`: names a driver, and is {described(value)}"
        elif value in known:
            continue
        else:
            what = f"there is no {section} driver {quoted(value)}"
        nothing = "no driver of this kind is installed; `vsperf plugins` shows all of them"
        fix = f"known drivers: {listed(known)}" if known else nothing
        fix = did_you_mean(str(value), known, fix) or fix
        problems[section] = Problem(what, kind.mark.location, None, fix)
    return problems


def case_problems(spec: CaseSpec, document: Section) -> list[Problem]:
    """Return contradictions that the models cannot see or cannot place."""
    return [
        *_load_range(spec, document),
        *_latency_goal(spec, document),
        *_beyond_the_link(spec, document),
    ]


def _load_range(spec: CaseSpec, document: Section) -> list[Problem]:
    if not isinstance(spec.search, LoadRange) or not spec.topology.links:
        return []
    link = spec.slowest_link
    size = spec.traffic.frame_size
    low, high = (
        rate.frames_per_second(size, link) for rate in (spec.search.min_load, spec.search.max_load)
    )
    if low < high:
        return []
    node = find(document, "search.min_load")
    what = f"`search.min_load` {spec.search.min_load} is not below max_load {spec.search.max_load}"
    why = f"with frames of {size} on {link}: {float(low):.0f} and {float(high):.0f} fps"
    return [Problem(what, node.mark.location if node else None, why)]


def _latency_goal(spec: CaseSpec, document: Section) -> list[Problem]:
    if spec.latency is None or not spec.latency.loads:
        return []
    node = find(document, "latency.goal")
    place = node.mark.location if node else None
    if isinstance(spec.search, FixedLoad):
        what = "latency trials need the goal of a search, and a fixed load has none"
        kind = find(document, "search.kind")
        why = f"they are asked for in {node.mark.origin}" if node else None
        where = kind.mark.location if kind else place
        return [Problem(what, where, why, "write `latency: null`, or give `--set latency=null`")]
    if spec.latency.goal in spec.search.goals:
        return []
    fix = did_you_mean(spec.latency.goal, spec.search.goals, f"goals: {listed(spec.search.goals)}")
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
    problems = []
    for index, one in enumerate(spec.expect):
        applies = one.min is not None and one.frame_size in (None, size)
        if not applies or one.min is None or one.min.frames_per_second(size, link) <= line:
            continue
        node = find(expect.items[index], "min") if isinstance(expect, Listing) else None
        what = f"`expect`: no result can reach {one.min}"
        why = f"the line rate is {float(line):.0f} fps, with frames of {size} on {link}"
        fix = "add `frame_size:` if it is for smaller frames; for the line rate write `min: 100%`"
        problems.append(Problem(what, node.mark.location if node else None, why, fix))
    return problems


def expectations_for(spec: CaseSpec) -> list[int]:
    """Return which expectations apply to a case, by their number."""
    size = spec.traffic.frame_size
    return [i for i, one in enumerate(spec.expect) if one.frame_size in (None, size)]


def unused_expectations(
    specs: list[CaseSpec], document: Section, order: dict[int, int]
) -> list[Problem]:
    """Note expectations for a frame size that the testcase does not have.

    Sizes that were narrowed by a layer above the expectation are left alone: who runs one size
    of seven with `--set` makes no mistake. `order` ranks the sources of the document.
    """
    if not specs:
        return []
    sizes = {spec.traffic.frame_size for spec in specs}
    written = find(document, "traffic.frame_size")
    expect = document.get("expect")
    problems = []
    for index, expectation in enumerate(specs[0].expect):
        if expectation.frame_size in (None, *sizes) or not isinstance(expect, Listing):
            continue
        node = find(expect.items[index], "frame_size")
        assert node is not None and written is not None
        if order[id(written.mark.source)] > order[id(node.mark.source)]:
            continue
        what = f"an expectation is for frames of {expectation.frame_size}, which no case has"
        fix = f"sizes of this testcase: {listed(str(size) for size in sorted(sizes))}"
        problems.append(Problem(what, node.mark.location, None, fix))
    return problems
