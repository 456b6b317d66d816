"""What noise cost the cases of a run, for people."""

from __future__ import annotations

from rich.console import Console

from vsperf.spec.noise import NOISE
from vsperf.store.reader import StoredRun


def print_cost(out: Console, stored: StoredRun) -> None:
    """Say of a run with levels of noise what each cost, and whether that is more than chance."""
    if len({case.planned.point.get(NOISE) for case in stored.cases}) < 2:
        return
    from vsperf.results.quiet import against_quiet

    if lines := against_quiet(stored.folder):
        out.print("what the noise cost, against the quiet case", style="bold")
        for line in lines:
            out.print(line, soft_wrap=True, markup=False)
