"""What the stages of a switch took in each trial, such as the nodes of VPP's graph, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from vsperf.records.switch import SwitchCounters
from vsperf.records.trial import Trial

MOST = 6
"""Stages that are shown: those that took most cycles over all trials."""
NOTHING = "–"
MEANING = (
    "cycles for a frame that passed the stage, and how many frames a call brought; a stage that "
    "polls is called in vain, too, which both of its figures include"
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one stage did in a trial, on all threads."""

    calls: int
    frames: int
    cycles: int

    @property
    def text(self) -> str:
        """What it took, as people read it; a figure of nothing is none."""
        if self.frames <= 0 or self.calls <= 0:
            return NOTHING
        return f"{self.cycles / self.frames:.1f} ({self.frames / self.calls:.1f} a call)"


def stages_table(trials: Sequence[Trial]) -> Table | None:
    """Return one row per trial whose stages were counted; None where they were in none."""
    counted = [(trial, spent_by(trial.switch)) for trial in trials if trial.switch is not None]
    known = [(trial, found) for trial, found in counted if found]
    if not known:
        return None
    cycles: Counter[str] = Counter()
    for _, found in known:
        cycles.update({name: spent.cycles for name, spent in found.items()})
    shown = [name for name, _ in cycles.most_common(MOST)]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("trial")
    for name in shown:
        table.add_column(name, justify="right")
    for trial, found in known:
        cells = (found[name].text if name in found else NOTHING for name in shown)
        table.add_row(f"#{trial.index}", *cells)
    return table


def spent_by(switch: SwitchCounters) -> dict[str, Spent]:
    """Return what each stage did that any frame passed, by its name."""
    sums: dict[str, Spent] = {}
    for stage in (stage for pmd in switch.pmds for stage in pmd.stages):
        so_far = sums.get(stage.name, Spent(0, 0, 0))
        sums[stage.name] = Spent(
            so_far.calls + stage.calls, so_far.frames + stage.frames, so_far.cycles + stage.cycles
        )
    return {name: spent for name, spent in sums.items() if spent.frames > 0}
