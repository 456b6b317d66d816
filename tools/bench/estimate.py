"""Holds what a run is expected to take against what it took.

Usage: python tools/bench/estimate.py RUN_FOLDER...

The estimate is the one that vsperf would make today, given what the run knew beforehand: a cap of
the generator that was measured earlier counts, one that the run measured itself does not. Prints
seconds and ratios, and judges nothing.
"""

# ruff: noqa: T201
from __future__ import annotations

import statistics
import sys
from datetime import datetime
from pathlib import Path

from vsperf.engine.expectation import expected
from vsperf.plugins import Plugins
from vsperf.search.estimate import RESTLESS, STEADY, Estimate, Rehearsals, together
from vsperf.spec.case import CaseSpec
from vsperf.spec.document import document_model
from vsperf.store.reader import StoredCase, read_run


def main() -> None:
    """Print a line per case and one per run."""
    model, rehearsals, ratios = document_model(Plugins.load().specs()), Rehearsals(), []
    print(f"{'case or run':<28}{'trials':>8}{'needed':>8}{'stated s':>18}{'needed':>8}{'ratio':>7}")
    for folder in sys.argv[1:]:
        all_stated, all_trials, all_needed_s = [], 0, 0.0
        for number, case in enumerate(read_run(Path(folder)).cases):
            if case.record is None or case.record.result is None:
                continue
            spec = model.model_validate(case.planned.spec)
            stated = stated_for(case, spec, rehearsals, first=number == 0)
            ratios.append(show(case.planned.label, stated, len(case.trials), needed_s(case)))
            all_stated.append(stated)
            all_trials += len(case.trials)
            all_needed_s += needed_s(case)
        if len(all_stated) > 1:
            show(Path(folder).name, together(all_stated), all_trials, all_needed_s)
    if ratios:
        near = sum(abs(ratio - 1) <= 0.2 for ratio in ratios)
        print(f"{len(ratios)} cases: mean ratio {statistics.mean(ratios):.2f}, {near} within 20 %")


def stated_for(
    case: StoredCase, spec: CaseSpec, rehearsals: Rehearsals, *, first: bool
) -> Estimate:
    """Return what would be stated for a case today."""
    assert case.record is not None  # only cases with a result are looked at
    found = case.record.surroundings
    calibration = found.calibration if found is not None else None
    known = calibration if calibration is not None and calibration.cached else None
    presumed = STEADY if spec.testbed.simulated else RESTLESS
    return expected(spec, presumed, known.cap_fps if known else None, rehearsals, first=first)


def needed_s(case: StoredCase) -> float:
    """Return the time from the start of the last attempt to its record."""
    start = case.attempts[-1].start
    assert start is not None
    assert case.record is not None
    began, ended = (datetime.fromisoformat(t) for t in (start.started_at, case.record.finished_at))
    return (ended - began).total_seconds()


def show(name: str, stated: Estimate, trials: int, needed: float) -> float:
    """Print a line, and return the ratio of needed to stated seconds."""
    ratio = needed / stated.seconds
    seconds = f"{stated.seconds:.0f} +- {stated.spread_s:.0f}"
    print(f"{name[-27:]:<28}{stated.trials:>8}{trials:>8}{seconds:>18}{needed:>8.0f}{ratio:>7.2f}")
    return ratio


if __name__ == "__main__":
    main()
