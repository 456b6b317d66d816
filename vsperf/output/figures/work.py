"""What frames cost the switch: cycles and busy share, and which of its caches knew them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vsperf.analysis.summary import hit_shares
from vsperf.output.figures.drawing import (
    STACKED,
    Axis,
    Bars,
    Drawing,
    Line,
    Panel,
    Point,
    Scale,
    Tick,
)
from vsperf.output.figures.facts import Facts
from vsperf.output.figures.groups import (
    REPEATED,
    Evidence,
    Traits,
    drawn,
    evidence_of_trials,
    groups_of,
    medians,
    most_of,
    not_drawn,
    size_axis,
    traits_of,
)
from vsperf.output.figures.plot import Options, Plot
from vsperf.records.files.view import CaseView
from vsperf.records.switch import SwitchCounters
from vsperf.records.trial import Purpose, Trial

MOST = 28
"""Cases that bars have room for."""
CACHES = ("emc", "smc", "megaflow", "upcall", "lost")


@dataclass(frozen=True, slots=True)
class Work:
    """What a case's trials say of the polling threads of its switch."""

    traits: Traits
    label: str
    size: float
    size_name: str
    cycles: float | None
    """Busy cycles for a frame that a thread took."""
    busy: float | None
    """Share of the sending time."""
    shares: tuple[tuple[str, float], ...]
    """Of the lookups, by the cache that answered."""
    evidence: Evidence


def gather(view: CaseView) -> tuple[Work, ...]:
    """Return the work of a case, at the highest load that passed; nothing if nobody counted."""
    facts = Facts(view)
    counted = [one for one in view.standing_trials if one.valid and one.switch is not None]
    counted = [one for one in counted if one.switch is not None and one.switch.pmds]
    if facts.size is None or not facts.believed or not counted:
        return ()
    at = _at_answer(view, counted)
    shares = {cache: share for cache, share in hit_shares(counted).items() if share > 0}
    return (
        Work(
            traits_of(view),
            view.label,
            float(facts.size.mean),
            facts.size_name,
            _cycles(at),
            _busy(at),
            tuple((name, shares[name]) for name in _known(shares)),
            evidence_of_trials(view, at or counted),
        ),
    )


def _known(shares: dict[str, float]) -> Iterator[str]:
    yield from (name for name in CACHES if name in shares)
    yield from (name for name in shares if name not in CACHES)


def _at_answer(view: CaseView, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials at the lower bound of the first goal, or all where there is none."""
    goals = view.result.goals if view.result is not None else ()
    bound = goals[0].lower_fps if goals else None
    made = [one for one in trials if one.purpose in (Purpose.SEARCH, Purpose.LATENCY)]
    return [one for one in made if one.load_fps == bound] or ([] if goals else made)


def _cycles(trials: Sequence[Trial]) -> float | None:
    pmds = [pmd for one in trials if one.switch is not None for pmd in one.switch.pmds]
    return SwitchCounters(pmds=tuple(pmds)).cycles_per_frame


def _busy(trials: Sequence[Trial]) -> float | None:
    shares = [one.switch_busy for one in trials if one.switch_busy is not None]
    return float(sum(shares) / len(shares)) if shares else None


def draw_cycles(samples: Sequence[Work], options: Options) -> Drawing | None:
    """Draw cycles for a frame, and below the share of time in which the threads had work."""
    shown = [one for one in samples if one.cycles is not None]
    if not shown:
        return None
    groups, more = most_of(groups_of(shown, by=options.by, without=("size",)))
    shown = [one for group in groups for one in group.samples]
    if len(shown) == 1:
        return None  # two numbers say it
    axis = size_axis((one.size, one.size_name) for one in shown)
    panels = []
    for field, y in (
        ("cycles", Axis("busy cycles for a frame", "cycles", Scale.LINEAR, from_zero=True)),
        ("busy", Axis("busy share of threads", "%", Scale.LINEAR, from_zero=True)),
    ):
        layers = tuple(
            Line(
                group.name,
                tuple(medians((one.size, getattr(one, field)) for one in group.samples)),
                simulated=any(one.evidence.simulated for one in group.samples),
                color=number,
            )
            for number, group in enumerate(groups)
        )
        layers = tuple(layer for layer in layers if layer.points)
        if layers:
            panels.append(Panel(x=axis, y=y, layers=layers))
    return drawn(
        "Work of the switch's polling threads",
        [one.evidence for one in shown],
        tuple(panels),
        "At the highest load that passed, or at the fixed one. A frame that passes the switch "
        "several times counts each time.",
        _repeated(panels),
        more,
    )


def _repeated(panels: Sequence[Panel]) -> str:
    layers = (layer for panel in panels for layer in panel.layers if isinstance(layer, Line))
    if all(point.low is None for layer in layers for point in layer.points):
        return ""
    return REPEATED


def draw_caches(samples: Sequence[Work], options: Options) -> Drawing | None:
    """Draw for each case which share of the lookups each cache answered."""
    known = [one for one in samples if one.shares]
    if not any(len(one.shares) > 1 for one in known):
        return None  # always the same cache: a word says it
    shown = known[:MOST]
    names = list(dict.fromkeys(name for one in shown for name, _ in one.shares))
    several = len({dict(one.traits)["run"] for one in shown}) > 1
    ticks = tuple(Tick(place, _name(one, several)) for place, one in enumerate(shown))
    more = len(known) - MOST
    layers = tuple(
        Bars(
            name,
            tuple(
                Point(place, dict(one.shares).get(name, 0.0))
                for place, one in enumerate(shown)
                if one.evidence.simulated is simulated
            ),
            simulated=simulated,
            color=number,
            stacked=True,
        )
        for number, name in enumerate(names)
        for simulated in sorted({one.evidence.simulated for one in shown})
    )
    return drawn(
        "Which cache of the switch knew the frames",
        [one.evidence for one in shown],
        (
            Panel(
                Axis("case", "", Scale.NAMES, ticks=ticks),
                Axis("share of lookups", "%", Scale.LINEAR, from_zero=True),
                layers,
            ),
        ),
        "Shares of the lookups in all search trials; an upcall is one that no cache knew.",
        STACKED,
        not_drawn(more, "case"),
    )


def _name(one: Work, several: bool) -> str:
    switch = dict(one.traits).get("switch", "")
    run = dict(one.traits)["run"][-4:]
    return f"{one.label}, {switch} {run}" if several else one.label


CYCLES = Plot(
    name="cycles",
    title="cycles for a frame and busy share of the switch's threads against frame size",
    needs="a switch that counts its cycles, such as OVS-DPDK or VPP, at two frame sizes or more",
    gather=gather,
    draw=draw_cycles,
)
CACHE_SPLIT = Plot(
    name="caches",
    title="which flow cache of the switch answered which share of the lookups",
    needs="OVS with DPDK, at two numbers of flows or frame sizes",
    gather=gather,
    draw=draw_caches,
)
