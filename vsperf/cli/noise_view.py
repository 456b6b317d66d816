"""What noise cost the cases of a run, for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from vsperf.config.noise import NOISE
from vsperf.records.files.view import RunView


def cost_data(run: RunView) -> list[dict[str, Any]]:
    """Return what each level of noise cost as plain data; nothing of a run without levels."""
    if not _has_levels(run):
        return []
    from vsperf.output.quiet import costs_of

    return [asdict(row) for found in costs_of([run.folder]) for row in found.rows]


def _has_levels(run: RunView) -> bool:
    return len({case.point.get(NOISE) for case in run.header.cases}) > 1


def print_cost(out: Console, run: RunView) -> None:
    """Say of a run with levels of noise what each cost, and whether that is more than chance."""
    if not _has_levels(run):
        return
    from vsperf.output.quiet import against_quiet

    if lines := against_quiet(run.folder):
        out.print("what the noise cost, against the quiet case", style="bold")
        for line in lines:
            out.print(line, soft_wrap=True, markup=False)
