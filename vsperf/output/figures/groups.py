"""Which cases make one line, and what that line is called: what differs, and nothing else."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from vsperf.errors import UsageError
from vsperf.output.figures.drawing import Axis, Drawing, Panel, Point, Scale, Tick
from vsperf.output.figures.facts import IDLE_POINTS, WORKERS, Facts
from vsperf.quantities.human import counted, human_ns, human_seconds
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag
from vsperf.records.trial import Trial

Traits = tuple[tuple[str, str], ...]
"""Names of what can differ between cases, and what it is in one of them, most telling first."""


class Sample(Protocol):
    """What a plot keeps of a case; each kind of sample has traits."""

    @property
    def traits(self) -> Traits:
        """What can tell it from others."""


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
        **dict([asked.sender]),
        "testbed": asked.text("testbed", "name"),
        "topology": asked.text("topology", "name"),
        "vnfs": asked.kind("vnf") if asked.passes_vnfs else None,
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
    every, wanted = list(samples), {ALSO_CALLED.get(name, name) for name in by}
    known = dict.fromkeys(name for sample in every for name, _ in sample.traits)
    if every and (strange := sorted(wanted - known.keys())):
        raise UsageError(
            f"lines cannot be told apart by {strange[0]}",
            why="no case that is drawn was swept over it, or has a label of that name",
            fix=f"there are: {', '.join(known)}; what differs between runs can have a name: "
            "`vsperf run … --label NAME=VALUE`",
        )
    chosen = [
        (
            sample,
            {k: v for k, v in sample.traits if (k in wanted if by else _short(k) not in without)},
        )
        for sample in every
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
    left = not_drawn(len(groups) - most, "line", ", with fewer points,")
    said = f"{left.removesuffix('.')}: choose runs or cases."
    return tuple(groups[at] for at in sorted(kept)), said


def not_drawn(more: int, noun: str, which: str = "") -> str:
    """Say how many more there are than one drawing has room for; nothing where there are none."""
    if more <= 0:
        return ""
    number = f"1 more {noun}{which} is" if more == 1 else f"{more:,} more {noun}s{which} are"
    return f"{number} not drawn."


def _name(traits: Mapping[str, str], telling: Sequence[str]) -> str:
    return ", ".join(traits[name] for name in telling if name in traits) or "measured"


# What a drawing rests on, in words: cases, runs, trials and how long they were.


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one case adds to a caption."""

    run: str
    trials: int = 0
    measured_ns: int = 0
    """What all trials took together; 0 where single ones were looked at."""
    shortest_ns: int | None = None
    longest_ns: int | None = None
    """Of the trials that were looked at; None where none was."""
    simulated: bool = False
    left_out: str = ""
    """Why the case has no number here; empty if it has."""
    functional: bool = False
    """Whether it only shows that things work, since parts that never sleep shared a CPU."""


def evidence_of(view: CaseView, left_out: str = "") -> Evidence:
    """Return what a case adds to a caption, without a look at its trials."""
    record = view.record
    return Evidence(
        run=view.run,
        trials=record.trials if record is not None else 0,
        measured_ns=record.measured_ns if record is not None else 0,
        simulated=view.simulated,
        left_out=left_out,
        functional=record is not None and Flag.SHARED_CPU in record.flags,
    )


def evidence_of_trials(view: CaseView, trials: Iterable[Trial]) -> Evidence:
    """Return what these trials of a case add to a caption."""
    durations = [one.duration_ns for one in trials]
    return Evidence(
        run=view.run,
        trials=len(durations),
        shortest_ns=min(durations, default=None),
        longest_ns=max(durations, default=None),
        simulated=view.simulated,
    )


def drawn(
    title: str,
    evidence: Iterable[Evidence],
    panels: Iterable[Panel],
    *more: str,
    simulated: bool = False,
) -> Drawing:
    """Return a drawing with what it rests on below; of cases from a model, or if that is said."""
    every = tuple(evidence)
    simulated = simulated or any(one.simulated for one in every if not one.left_out)
    return Drawing(title, caption(every, *more), tuple(panels), simulated=simulated)


def caption(all_evidence: Iterable[Evidence], *more: str) -> str:
    """Say how many cases, runs and trials there were and how long these took, and what is left out.

    `more` are sentences on what error bars and marks mean.
    """
    every = list(all_evidence)
    shown = [one for one in every if not one.left_out]
    words = [counted(len(shown), "case"), counted(len({one.run for one in shown}), "run")]
    trials = sum(one.trials for one in shown)
    if trials:
        words.append(f"{_counted(trials, 'trial')}{_lengths(shown)}")
    sentences = [f"n = {', '.join(words)}."]
    if any(one.simulated for one in shown):
        every_one = all(one.simulated for one in shown)
        which = "these numbers come" if every_one else "what is hatched and called so comes"
        sentences.append(f"SIMULATED: {which} from a model.")
    if functional := sum(one.functional for one in shown):
        sentences.append(f"Functional only, on a shared CPU: {_counted(functional, 'case')}.")
    reasons = [one.left_out for one in every if one.left_out]
    for reason in dict.fromkeys(reasons):
        sentences.append(f"Left out: {_counted(reasons.count(reason), 'case')} ({reason}).")
    return " ".join((*sentences, *(sentence for sentence in more if sentence)))


def _lengths(shown: Sequence[Evidence]) -> str:
    ends = [end for one in shown for end in (one.shortest_ns, one.longest_ns) if end is not None]
    if ends:
        low, high = human_duration(min(ends)), human_duration(max(ends))
        return f" of {low}" if low == high else f" of {low} to {high}"
    measured_ns = sum(one.measured_ns for one in shown)
    return f", {human_seconds(measured_ns / 1e9)} in all" if measured_ns else ""


def human_duration(ns: int) -> str:
    """Write a duration that somebody chose: 1 s, 500 ms, 1.5 s."""
    for factor, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "µs")):
        if ns >= factor:
            return f"{ns / factor:g} {unit}"
    return human_ns(ns)


REPEATED = "Points of repeats are their medians; bars reach from least to greatest."


def medians(values: Iterable[tuple[float, float | None]]) -> Iterator[Point]:
    """Yield a point for each place that has values: their median, and how far several reach."""
    found: dict[float, list[float]] = {}
    for place, value in values:
        if value is not None:
            found.setdefault(place, []).append(value)
    for place, some in sorted(found.items()):
        ends = (min(some), max(some)) if len(some) > 1 else (None, None)
        yield Point(place, statistics.median(some), *ends)


# The axis of frame sizes: one place for each, so that small and large ones are read alike.


def size_axis(sizes: Iterable[tuple[float, str]]) -> Axis:
    """Return the axis for frames of these sizes [B] and names."""
    found = sorted(dict(sizes).items())
    ticks = tuple(Tick(size, re.sub(r"^(\d+)B$", r"\1", name)) for size, name in found)
    return Axis("frame size with FCS", "B", Scale.NAMES, ticks=ticks)
