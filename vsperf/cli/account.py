"""Where the frames of each trial went, and what it cost the switch, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from vsperf.quantities.human import human_fps, human_ns
from vsperf.records.switch import PmdCounters, SwitchCounters
from vsperf.records.trial import Trial

NOTHING = "–"
ALWAYS = (
    "load",
    "due",
    "sent",
    "refused",
    "not sent",
    "arrived",
    "dropped by the switch",
    "unexplained",
)
"""Due are those sent, refused and not sent; those sent arrived, were dropped or are unexplained."""
WHERE_COUNTED = ("busy", "cycles/frame", "answered by", "CPU to CPU", "longest stall")
"""Columns that are left out where nobody counts them: not every switch has caches, or cycles."""


def account_table(trials: Sequence[Trial]) -> Table | None:
    """Return one row per trial that the switch counted in; None when it counted in none."""
    counted = [(trial, trial.switch) for trial in trials if trial.switch is not None]
    if not counted:
        return None
    names = ("trial", *ALWAYS, *WHERE_COUNTED)
    rows = [_cells(trial, switch) for trial, switch in counted]
    shown = [
        place
        for place, name in enumerate(names)
        if name not in WHERE_COUNTED or any(row[place] != NOTHING for row in rows)
    ]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for place in shown:
        table.add_column(names[place], justify="right" if place else "left")
    for row in rows:
        table.add_row(*(row[place] for place in shown))
    return table


def _cells(trial: Trial, switch: SwitchCounters) -> list[str]:
    refused = [way.refused_frames for way in trial.directions if way.refused_frames is not None]
    good = sum(way.good_frames for way in trial.directions)
    trips = trial.round_trips_ns
    gap_ns = trial.generator.longest_gap_ns if trial.generator else None
    unexplained = trial.unexplained_frames
    return [
        f"#{trial.index}",
        human_fps(trial.load_fps),
        str(sum(way.intended_frames for way in trial.directions)),
        str(trial.sent_frames),
        str(sum(refused)) if refused else NOTHING,
        str(sum(way.short_frames for way in trial.directions)),
        str(good),
        drops_text(switch),
        NOTHING if unexplained is None else str(unexplained),
        NOTHING if trial.switch_busy is None else f"{float(trial.switch_busy):.0%}",
        _cycles(switch),
        _caches(switch.pmds),
        " … ".join(human_ns(trip) for trip in dict.fromkeys(trips)) or NOTHING,
        human_ns(gap_ns) if gap_ns is not None else NOTHING,
    ]


def drops_text(switch: SwitchCounters) -> str:
    """Name the drops that the switch counted, with where they happened."""
    found = [
        f"{count} {port.link or port.name} {reason}"
        for port in switch.ports
        for reason, count in port.drops.items()
        if count
    ]
    found += [f"{count} {reason}" for reason, count in switch.drops.items() if count]
    return ", ".join(found) or "0"


def _cycles(switch: SwitchCounters) -> str:
    found = switch.cycles_per_frame
    return NOTHING if found is None else f"{found:.0f}"


def _caches(pmds: Sequence[PmdCounters]) -> str:
    """Say which cache answered the lookups, in percent; shares below a thousandth are left out."""
    hits: dict[str, int] = {}
    for pmd in pmds:
        for name, count in pmd.hits.items():
            hits[name] = hits.get(name, 0) + count
    total = sum(hits.values())
    shown = [f"{name} {count / total:.1%}" for name, count in hits.items() if count * 1000 > total]
    return " ".join(shown) or NOTHING
