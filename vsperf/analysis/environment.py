"""What was around a result: facts by name, and which of them differ between sides.

Facts on a run are its host, system, packages and labels; facts on a case are its settings, its
placement, and what switch, generator and VNFs said of themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vsperf.quantities.human import human_digests
from vsperf.records.asked import Asked
from vsperf.records.run import CaseRecord, CaseStart, PlannedCase, RunHeader

Facts = Mapping[str, str | None]
PROSE = frozenset({"name", "title", "description", "tags", "expect"})
"""Sections of a specification that decide no number."""
PASSING = frozenset(
    {
        *("checks", "id", "hugepages", "queues", "performance", "ports", "argv", "tsc", "clock"),
        "network",
    }
)
"""Facts that differ from run to run, whatever else does; settings of such names are none."""
HARDWARE = (
    *("architecture", "cpu_model", "cpus", "cores", "caches", "nodes", "hypervisor"),
    *("product_name", "board_name", "nics"),
)
"""What makes one host another; a twin has another name and the same of all this."""
OBSTACLES = {"traffic": "frames", "topology": "topologies", "testbed.links": "links"}
"""Settings without which numbers have nothing to do with each other."""
OFFERED = "search.full_rings"
"""What empties full rings is faster than it is under an overload; records that know no such rings
say nothing of them."""
OWN_FACTS = {"vswitch": ("switch",), "generator": ("generator",)}
"""Section of a driver → under which names it tells of itself."""
HOSTS = "hosts"
ORDER = (
    *("labels", "switch", "generator", "vnfs", "packages", "system.kernel", "system"),
    *("host.cpu_model", "host", "placement", "vsperf", "testbed", "preset"),
)
"""What a reader wants to know first; settings and all else come behind."""
LONGEST = 200
"""Characters of what is shown of a side."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A fact that is not the same on all sides."""

    name: str
    values: tuple[tuple[str | None, ...], ...]
    """Of each side all that there are; None where a side does not say."""
    cases: tuple[str, ...] = ()
    """Labels of the cases that it is a fact on; empty for one on whole runs."""

    def text(self, side: int) -> str:
        values = ("–" if value is None else human_digests(value) for value in self.values[side])
        text = " | ".join(values) or "–"
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def run_facts(header: RunHeader) -> dict[str, str | None]:
    """Return what is known of a run's host and software."""
    environment = {k: v for k, v in header.environment.items() if k not in PASSING}
    return {
        **{f"labels.{name}": value for name, value in header.labels.items()},
        "vsperf": header.vsperf_version,
        "testbed": header.testbed,
        "preset": header.preset,
        **flat(environment),
    }


def case_facts(start: CaseStart | None, record: CaseRecord | None) -> dict[str, str | None]:
    """Return what is known of a case beyond its settings."""
    found: dict[str, str | None] = {}
    if start is not None:
        for role, cpus in start.plan.placement.cpus.items():
            found[f"placement.{role}"] = ",".join(str(cpu) for cpu in cpus)
    around = record.conditions if record is not None else None
    if around is not None:
        parts = {"switch": around.switch, "generator": around.generator}
        for name, facts in {**parts, "vnfs": around.vnfs}.items():
            found |= _flat(name, facts)
    return found


def settings(planned: PlannedCase) -> dict[str, str | None]:
    """Return all settings of a case that decide numbers, by their dotted paths."""
    return dict(_flat("", {k: v for k, v in planned.spec.items() if k not in PROSE}, frozenset()))


def told_apart(
    sides: Sequence[Sequence[Facts]], kinds: Sequence[str], sections: Sequence[str]
) -> list[list[Facts]]:
    """Return the facts without what stands in these sections and only some kinds of driver know.

    `kinds` are those of the sides. Where two sides of one kind differ in such a fact, it is told.
    """

    def own(name: str) -> bool:
        return any(_within(name, section) for section in sections)

    every = [facts for side in sides for facts in side]
    kept = {name for name in every[0] if all(name in facts for facts in every)} if every else set()
    for kind in set(kinds):
        alike = [side for side, one in zip(sides, kinds, strict=True) if one == kind]
        kept.update(one.name for one in contrasts(alike) if len(alike) > 1)
    return [
        [{k: v for k, v in facts.items() if k in kept or not own(k)} for facts in side]
        for side in sides
    ]


def contrasts(sides: Sequence[Sequence[Facts]], case: str | None = None) -> Iterator[Contrast]:
    """Yield the facts that are not the same on all sides; a side may hold several runs or cases."""
    if len({id(facts) for side in sides for facts in side}) < 2:
        return
    for name in dict.fromkeys(name for side in sides for facts in side for name in facts):
        values = [tuple(dict.fromkeys(facts.get(name) for facts in side)) for side in sides]
        if len({frozenset(found) for found in values}) > 1 or any(len(v) > 1 for v in values):
            yield Contrast(name, tuple(values), () if case is None else (case,))


def together(found: Iterable[Contrast]) -> tuple[Contrast, ...]:
    """Put the same contrast in several cases together; what matters most comes first."""
    cases: dict[tuple[str, tuple[tuple[str | None, ...], ...]], list[str]] = {}
    for one in found:
        cases.setdefault((one.name, one.values), []).extend(one.cases)
    whole = [Contrast(name, values, tuple(labels)) for (name, values), labels in cases.items()]
    return tuple(sorted(whole, key=lambda one: _rank(one.name)))


def obstacle(one: Contrast, *, simulated: bool) -> str | None:
    """Return what makes sides incomparable that differ so: frames, hosts; None if they are not.

    A model is the same on every host.
    """
    for section, what in OBSTACLES.items():
        if _within(one.name, section):
            return what
    told = all(None not in found for found in one.values)
    if one.name == OFFERED and told:
        return "loads"
    hard = any(_within(one.name, f"host.{name}") for name in HARDWARE)
    driver = one.name.endswith(".driver")  # of a NIC: it says what the NIC is used for
    return HOSTS if hard and told and not driver and not simulated else None


def _rank(name: str) -> int:
    places = (place for place, section in enumerate(ORDER) if _within(name, section))
    return next(places, len(ORDER))


def _within(name: str, section: str) -> bool:
    return name == section or name.startswith(f"{section}.")


def ground_of_case(header: RunHeader, planned: PlannedCase) -> str:
    """Return what two results must have in common to be compared: frames, ways, rings and host."""
    asked = Asked(planned)
    told = [dict(asked.section(*p)) for p in (("traffic",), ("topology",), ("testbed", "links"))]
    told.append({OFFERED: asked.section("search").get("full_rings", False)})
    host = ground_of(header.environment, simulated=header.simulated)
    return json.dumps([told, host], sort_keys=True, default=str)


def ground_of(environment: Mapping[str, object], *, simulated: bool) -> dict[str, object]:
    """Return what makes a host the one that it is; nothing of a model, which has none."""
    host = environment.get("host")
    if simulated or not isinstance(host, Mapping):
        return {}
    known = {name: host.get(name) for name in HARDWARE if name != "nics"}
    nics = host.get("nics")
    listed = [c for c in nics if isinstance(c, Mapping)] if isinstance(nics, list) else []
    return {**known, "nics": [{k: v for k, v in c.items() if k != "driver"} for c in listed]}


def flat(values: Mapping[str, object]) -> dict[str, str | None]:
    """Return nested values by their dotted paths, as text."""
    return dict(_flat("", values))


def _flat(
    path: str, value: object, passing: frozenset[str] = PASSING
) -> Iterator[tuple[str, str | None]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in passing:
                yield from _flat(f"{path}.{name}" if path else str(name), inner, passing)
    elif isinstance(value, list | tuple) and any(isinstance(one, Mapping) for one in value):
        for place, inner in enumerate(value):
            yield from _flat(f"{path}.{place}", inner, passing)
    elif isinstance(value, list | tuple):
        yield path, ", ".join(map(_written, value))
    else:
        yield path, None if value is None else _written(value)


def _written(value: object) -> str:
    """Write a value as a testcase has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
