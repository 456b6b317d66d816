"""Where the frames of each trial went, and what it cost the switch, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from vsperf.human import human_fps, human_ns
from vsperf.record.switch import PmdCounters, SwitchCounters
from vsperf.record.trial import Trial


def account_table(trials: Sequence[Trial]) -> Table | None:
    """Return one row per trial that the switch counted in; None when it counted in none."""
    counted = [(trial, trial.switch) for trial in trials if trial.switch is not None]
    if not counted:
        return None
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("trial")
    for name in ("load", "sent", "refused", "arrived", "dropped by the switch", "unexplained"):
        table.add_column(name, justify="right")
    for name in ("busy", "cycles/frame", "answered by", "CPU to CPU", "longest stall"):
        table.add_column(name, justify="right")
    for trial, switch in counted:
        table.add_row(*_cells(trial, switch))
    return table


def _cells(trial: Trial, switch: SwitchCounters) -> list[str]:
    refused = [way.refused_frames for way in trial.directions]
    good = sum(way.good_frames for way in trial.directions)
    trips, generator = trial.round_trips_ns, trial.generator
    return [
        f"#{trial.index}",
        human_fps(trial.load_fps),
        str(trial.sent_frames),
        str(sum(count for count in refused if count is not None)) if any(refused) else "0",
        str(good),
        drops_text(switch),
        str(trial.unexplained_frames),
        "–" if trial.switch_busy is None else f"{float(trial.switch_busy):.0%}",
        _cycles(switch.pmds),
        _caches(switch.pmds),
        " … ".join(human_ns(trip) for trip in dict.fromkeys(trips)) or "–",
        human_ns(generator.longest_gap_ns) if generator else "–",
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


def _cycles(pmds: Sequence[PmdCounters]) -> str:
    frames = sum(pmd.frames for pmd in pmds)
    return f"{sum(pmd.busy_cycles for pmd in pmds) / frames:.0f}" if frames > 0 else "–"


def _caches(pmds: Sequence[PmdCounters]) -> str:
    """Say which cache answered the lookups, in percent; shares below a thousandth are left out."""
    hits: dict[str, int] = {}
    for pmd in pmds:
        for name, count in pmd.hits.items():
            hits[name] = hits.get(name, 0) + count
    total = sum(hits.values())
    shown = [f"{name} {count / total:.1%}" for name, count in hits.items() if count * 1000 > total]
    return " ".join(shown) or "–"
