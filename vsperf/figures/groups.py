"""Which cases make one line, and what that line is called: what differs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from vsperf.figures.facts import IDLE_POINTS, WORKERS, Facts
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
ALSO_CALLED = {"vswitch": "switch"}
"""Traits by the name that their section has."""
MOST = 8
"""Lines that can be told apart in one drawing."""


def traits_of(view: CaseView, *, measure: str = "") -> Traits:
    """Return all that can tell a case's line from those of others."""
    facts = Facts(view)
    asked = facts.asked
    point = view.planned.point
    found: dict[str, str | None] = {
        "switch": view.planned.driver("vswitch"),
        "measure": measure,
        "generator": asked.value("generator", "kind"),
        "testbed": asked.value("testbed", "name"),
        "topology": asked.value("topology", "name"),
        "machines": asked.value("vnf", "kind") if asked.passes_machines else None,
        "size": facts.size_name,
        "flows": _counted(asked.flows, "flow"),
        **{name: _named(name, value) for name, value in point.items() if name not in IDLE_POINTS},
        "workers": _counted(facts.workers, "thread"),
        **{name: _named(name, value) for name, value in view.labels.items()},
        "testcase": view.testcase,
        "run": view.run,
    }
    return tuple((name, str(value)) for name, value in found.items() if value)


def _counted(count: int | None, noun: str) -> str | None:
    return None if count is None else f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


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
    wanted = {ALSO_CALLED.get(name, name) for name in by}
    chosen = [
        (
            sample,
            {k: v for k, v in sample.traits if (k in wanted if by else _short(k) not in without)},
        )
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
    return "workers" if last in WORKERS else last


def _telling(all_traits: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the fewest traits that tell all groups apart, the most telling ones first."""
    names = list(dict.fromkeys(name for traits in all_traits for name in traits))
    chosen: list[str] = []
    for name in names:
        if _told(all_traits, (*chosen, name)) > _told(all_traits, chosen):
            chosen.append(name)
    for name in tuple(chosen):
        rest = [one for one in chosen if one != name]
        if _told(all_traits, rest) == _told(all_traits, chosen):
            chosen = rest  # what came later tells as much
    return tuple(chosen) or tuple(names[:1])


def _told(all_traits: Sequence[Mapping[str, str]], names: Sequence[str]) -> int:
    """Return how many groups these traits tell apart."""
    return len({tuple(traits.get(name, "") for name in names) for traits in all_traits})


def most_of(groups: Sequence[Group], most: int = MOST) -> tuple[tuple[Group, ...], str]:
    """Return as many groups as one drawing has room for, and what is said of the others.

    Those with most samples are kept, in their order.
    """
    if len(groups) <= most:
        return tuple(groups), ""
    kept = sorted(range(len(groups)), key=lambda at: -len(groups[at].samples))[:most]
    left = len(groups) - most
    said = f"{left} more lines, with fewer points, are not drawn: choose runs or cases."
    return tuple(groups[at] for at in sorted(kept)), said


def _name(traits: Mapping[str, str], telling: Sequence[str]) -> str:
    return ", ".join(traits[name] for name in telling if name in traits) or "measured"
