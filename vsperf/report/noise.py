"""What ran beside a case, and what that cost, as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from vsperf.record.run import CaseRecord
from vsperf.record.trial import Trial
from vsperf.report.page import CostPart, Costs, Table
from vsperf.stats.noise import reached, silent_trials

NAMES = ("noise", "settled at", "in trials", "had a CPU", "heard of in", "died or slackened in")
COSTS = ("case", "number", "beside", "quiet", "beside noise", "change", "judged", "repeats")


def noise_table(record: CaseRecord | None, trials: Sequence[Trial]) -> Table | None:
    """Return a row for each instance of a load; None where nothing ran beside the case."""
    made = sum(bool(trial.noise) for trial in trials)
    lost = ", ".join(f"#{index}" for index in silent_trials(trials)) or "none"
    rows = tuple(
        (
            one.instance,
            one.settled or "–",
            one.rates or "–",
            one.shares or "–",
            f"{one.trials} of {made} trials",
            lost,
        )
        for one in reached(record, trials)
    )
    return Table(NAMES, rows) if rows else None


def cost_part(found: Costs, common: str, *, single: bool) -> CostPart:
    """Return what noise cost in a run as a table; `common` is left out of the names of cases."""
    rows = tuple(
        (
            one.case.removeprefix(common),
            one.number,
            one.level,
            one.quiet,
            one.noisy,
            one.change,
            one.judged,
            one.repeats,
        )
        for one in found.rows
    )
    run = "" if single else found.run
    return CostPart(run, Table(COSTS, rows) if rows else None, found.notes)


def cost_lines(found: Sequence[Costs], run: str, label: str) -> tuple[str, ...]:
    """Return what noise cost one case, a sentence for each of its numbers."""
    return tuple(
        f"{one.number}, {one.noisy} beside {one.level} and {one.quiet} without noise: "
        f"{one.change}, {one.judged} ({one.repeats} repeats)"
        for costs in found
        if costs.run == run
        for one in costs.rows
        if one.label == label
    )
