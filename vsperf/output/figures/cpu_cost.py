"""What a bit or a request of programs costs in CPU time, by who used it: a bar for each case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.output.figures.drawing import STACKED, Axis, Bars, Drawing, Panel, Point, Scale, Tick
from vsperf.output.figures.facts import Facts
from vsperf.output.figures.groups import Evidence, Traits, drawn, evidence_of, not_drawn, traits_of
from vsperf.output.figures.plot import Options, Plot
from vsperf.records.files.view import CaseView

MOST = 28
"""Cases that bars have room for."""
EACH = ("request", "bit")
ROLES = ("clients", "servers", "switch")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a case says of CPU time."""

    traits: Traits
    label: str
    each: str
    """What it is for: a request, or a bit."""
    shares: tuple[tuple[str, float], ...]
    """Nanoseconds by role; what is not known is left out."""
    evidence: Evidence


def gather(view: CaseView) -> tuple[Cost, ...]:
    """Return the costs of a case; nothing where programs did not take part, or nobody looked."""
    result = view.result
    if result is None or not Facts(view).believed:
        return ()
    values = {one.name: one.value for one in result.figures}
    for each in EACH:
        known = ((role, values.get(f"cpu_per_{each}_{role}")) for role in ROLES)
        shares = tuple((role, value) for role, value in known if value is not None)
        if shares:
            return (Cost(traits_of(view), view.label, each, shares, evidence_of(view)),)
    return ()


def draw(samples: Sequence[Cost], options: Options) -> Drawing | None:
    """Draw a bar for each case, one panel for requests and one for bits; a lone one says it all."""
    if len(samples) < 2:
        return None
    shown = samples[:MOST]
    more = len(samples) - MOST
    several = len({dict(one.traits)["run"] for one in shown}) > 1
    panels = [
        _panel([one for one in shown if one.each == each], each, several=several) for each in EACH
    ]
    return drawn(
        "CPU time by role",
        [one.evidence for one in shown],
        tuple(panel for panel in panels if panel is not None),
        "Who pays for the work of the network's stack is who ran when it was done, which "
        "differs by switch; the whole bar hardly does.",
        STACKED,
        _unknown(shown),
        not_drawn(more, "case"),
    )


def _unknown(shown: Sequence[Cost]) -> str:
    """Say how many parts of bars are missing, since nobody knows how long they are."""
    known = {(one.each, role) for one in shown for role, _ in one.shares}
    count = sum(
        each == one.each and role not in dict(one.shares) for one in shown for each, role in known
    )
    if not count:
        return ""
    parts = "1 part of a bar is" if count == 1 else f"{count} parts of bars are"
    return f"{parts} not known, and left out."


def _panel(shown: Sequence[Cost], each: str, *, several: bool) -> Panel | None:
    if not shown:
        return None
    ticks = tuple(Tick(place, _name(one, several=several)) for place, one in enumerate(shown))
    layers = tuple(
        Bars(
            role,
            tuple(
                Point(place, dict(one.shares)[role])
                for place, one in enumerate(shown)
                if role in dict(one.shares)
            ),
            color=number,
            stacked=True,
        )
        for number, role in enumerate(ROLES)
        if any(role in dict(one.shares) for one in shown)
    )
    return Panel(
        x=Axis("case", "", Scale.NAMES, ticks=ticks),
        y=Axis(f"CPU time for a {each}", "ns", Scale.LINEAR, from_zero=True),
        layers=layers,
    )


def _name(one: Cost, *, several: bool) -> str:
    return f"{one.label} {dict(one.traits)['run'][-4:]}" if several else one.label


CPU_COST = Plot(
    name="cpu-cost",
    title="CPU time that a request or a bit of programs costs clients, servers and switch",
    needs="programs that exchange data, in two cases or more: `vsperf run places_http`",
    gather=gather,
    draw=draw,
)
