"""A report in three lines: what was measured, which standards that meets, and its worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsperf.record.result import Level
from vsperf.report.page import Brief, Concern, Standing
from vsperf.report.verdict import trust_of
from vsperf.stats.summary import CaseRow

STANDS = {
    Level.UNCONDITIONAL: "complies with {}",
    Level.CONDITIONAL: "complies with {} in all that it must, not in all that it should",
    Level.NOT: "does not comply with {}",
}
COMPLIANCE = {True: ("compliance", "what it deviates in"), False: ("", "")}
"""Where a report that was held against standards says more."""
FEW = 3
"""So many frame sizes are named one by one."""


def brief_of(
    facts: Mapping[str, str],
    frames: Sequence[str],
    rows: Sequence[CaseRow],
    concerns: Sequence[Concern],
    standings: Sequence[tuple[Standing, str]],
    *,
    simulated: bool,
) -> tuple[Brief, ...]:
    """Return what is to be known before anything else."""
    return (
        Brief(
            "What was measured?",
            _measured(facts, frames, simulated=simulated),
            "cases",
            "case by case",
        ),
        Brief("By which standard?", _standards(standings), *COMPLIANCE[bool(standings)]),
        Brief(
            "Can it be trusted?", trust_of(rows, concerns, simulated=simulated), "concerns", "why"
        ),
    )


def _measured(facts: Mapping[str, str], frames: Sequence[str], *, simulated: bool) -> str:
    sizes = ", ".join(frames)
    if len(frames) > FEW:
        sizes = f"{len(frames)} frame sizes from {frames[0]} to {frames[-1]}"
    elif frames:
        sizes = f"frames of {sizes}"
    machines = f"with machines ({facts['machines']})" if "machines" in facts else ""
    where = f"on {facts['machine']}" if facts.get("machine") else ""
    links = f"over links that are {facts['links']}" if "links" in facts else ""
    switch = f"a model ({facts.get('switch', '?')})" if simulated else facts.get("switch", "")
    parts = (switch, machines, sizes, links, where)
    return f"{', '.join(part for part in parts if part)}."


def _standards(standings: Sequence[tuple[Standing, str]]) -> str:
    """Say how the gravest case stands to each standard."""
    levels = list(Level)
    found: dict[str, Level] = {}
    for standing, _ in standings:
        level = Level(standing.level)
        known = found.get(standing.standard, level)
        found[standing.standard] = max(level, known, key=levels.index)
    said = [
        words.format(", ".join(name for name, stands in found.items() if stands is level))
        for level, words in STANDS.items()
        if level in found.values()
    ]
    return f"It {'; '.join(said)}." if said else "It was held against none."
