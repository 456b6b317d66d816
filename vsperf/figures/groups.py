"""Which cases make one line, and what that line is called: what differs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from vsperf.figures.facts import IDLE_POINTS, Facts
from vsperf.store.view import CaseView

Traits = tuple[tuple[str, str], ...]
"""Names of what can differ between cases, and what it is in one of them, most telling first."""


class Sample(Protocol):
    """What a plot keeps of a case; each kind of sample has traits."""

    @property
    def traits(self) -> Traits:
        """What can tell it from others."""
        ...


S = TypeVar("S", bound=Sample)


def traits_of(view: CaseView, *, measure: str = "") -> Traits:
    """Return all that can tell a case's line from those of others."""
    facts = Facts(view)
    kinds = {name: facts.section(name).get("kind") for name in ("vswitch", "generator", "vnf")}
    machines = any(
        str(hop).startswith("vm")
        for path in facts.section("topology").get("paths", ())
        for hop in path
    )
    point = view.planned.point
    found: dict[str, str | None] = {
        "switch": kinds["vswitch"],
        "measure": measure,
        "generator": kinds["generator"],
        "testbed": facts.section("testbed").get("name"),
        "topology": facts.section("topology").get("name"),
        "machines": kinds["vnf"] if machines else None,
        "size": facts.size_name,
        "flows": f"{view.flows:,} flows" if view.flows is not None else None,
        **{name: _named(name, value) for name, value in point.items() if name not in IDLE_POINTS},
        "workers": _workers(facts.workers),
        **{name: _named(name, value) for name, value in view.labels.items()},
        "testcase": view.testcase,
        "run": view.run,
    }
    return tuple((name, str(value)) for name, value in found.items() if value)


def _workers(count: int | None) -> str | None:
    return None if count is None else f"{count} thread" if count == 1 else f"{count} threads"


def _named(name: str, value: object) -> str:
    return f"{name}={value}"


@dataclass(frozen=True, slots=True)
class Group:
    """Samples that make one line."""

    name: str
    samples: tuple[Any, ...]


def groups_of(
    samples: Iterable[S], *, by: Sequence[str] = (), without: Sequence[str] = ()
) -> tuple[Group, ...]:
    """Sort samples into lines: by the traits that are named, or by all that differ.

    A line is called by as few of its traits as tell it from the others. Traits that have an axis
    of their own are no reason for another line.
    """
    chosen = [
        (sample, {k: v for k, v in sample.traits if (k in by if by else _short(k) not in without)})
        for sample in samples
    ]
    found: dict[tuple[tuple[str, str], ...], list[Any]] = {}
    for sample, traits in chosen:
        found.setdefault(tuple(traits.items()), []).append(sample)
    telling = _telling([dict(traits) for traits in found])
    return tuple(
        Group(_name(dict(traits), telling), tuple(members)) for traits, members in found.items()
    )


def _short(name: str) -> str:
    """Return the last word of a trait: `vswitch.pmds` of a point is the trait `workers`, too."""
    last = name.rpartition(".")[2]
    return "workers" if last == "pmds" else last


def _telling(all_traits: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the fewest traits, as they come, that tell all groups apart."""
    names = list(dict.fromkeys(name for traits in all_traits for name in traits))
    chosen: list[str] = []
    told = 1
    for name in names:
        parts = {tuple(traits.get(one, "") for one in (*chosen, name)) for traits in all_traits}
        if len(parts) > told:
            chosen.append(name)
            told = len(parts)
    return tuple(chosen) or tuple(names[:1])


def _name(traits: Mapping[str, str], telling: Sequence[str]) -> str:
    return ", ".join(traits[name] for name in telling if name in traits) or "measured"
