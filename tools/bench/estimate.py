"""Holds what a run is expected to take against what it took.

The estimate is the one that vsperf would make today, given what the run knew beforehand: a cap of
the generator that was measured earlier counts, one that the run measured itself does not. Without a
folder of a run, it makes runs of its own. The ratio is that of seconds needed to seconds stated.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from common import Option, Ratio, carry_out, options, say, vsperf_run

from vsperf.config.case import CaseSpec
from vsperf.config.document import document_model
from vsperf.engine.expectation import expected
from vsperf.methods.estimate import RESTLESS, STEADY, Estimate, Rehearsals, together
from vsperf.plugins import Plugins
from vsperf.records.files.folders import run_folders
from vsperf.records.files.view import CaseView, open_run

EXAMPLE = "tools/bench/estimate.py results/2026-*"


def main() -> None:
    """Print a line per case and one per run."""
    parser = options(
        __doc__,
        EXAMPLE,
        testcase=Option("phy2phy_tput", "phy2phy_smoke", "what is run without a folder"),
        rounds=Option(1, 1, "how often"),
    )
    parser.add_argument("folders", nargs="*", metavar="FOLDER", type=Path, help="of a finished run")
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Compare the given runs, or new ones."""
    if found.folders:
        return compare(found.folders)
    with tempfile.TemporaryDirectory() as name:
        for _ in range(found.rounds):
            with vsperf_run(Path(name), found.testcase) as (_, events):
                for _event in events:
                    pass  # until it has ended
        return compare(run_folders(Path(name)))


def compare(folders: Sequence[Path]) -> Ratio:
    """Hold each case of these runs against its estimate."""
    model, rehearsals, ratios = document_model(Plugins.load().specs()), Rehearsals(), []
    say(f"{'case or run':<28}{'trials':>8}{'needed':>8}{'stated s':>18}{'needed':>8}{'ratio':>7}")
    for folder in folders:
        all_stated, all_trials, all_needed_s = [], 0, 0.0
        for number, case in enumerate(open_run(folder).cases()):
            if case.record is None or case.record.result is None:
                continue
            spec = model.model_validate(case.planned.spec)
            stated = stated_for(case, spec, rehearsals, first=number == 0)
            ratios.append(show(case.planned.label, stated, len(case.trials), needed_s(case)))
            all_stated.append(stated)
            all_trials += len(case.trials)
            all_needed_s += needed_s(case)
        if len(all_stated) > 1:
            show(folder.name, together(all_stated), all_trials, all_needed_s)
    say(f"{sum(abs(ratio - 1) <= 0.2 for ratio in ratios)} of {len(ratios)} cases within 20 %")
    return Ratio.of("seconds needed to seconds stated", ratios)


def stated_for(case: CaseView, spec: CaseSpec, rehearsals: Rehearsals, *, first: bool) -> Estimate:
    """Return what would be stated for a case today."""
    assert case.record is not None  # only cases with a result are looked at
    found = case.record.conditions
    calibration = found.calibration if found is not None else None
    known = calibration if calibration is not None and calibration.cached else None
    presumed = STEADY if spec.testbed.simulated else RESTLESS
    return expected(spec, presumed, known.cap_fps if known else None, rehearsals, first=first)


def needed_s(case: CaseView) -> float:
    """Return the time from the start of the last attempt to its record."""
    start = case.start
    assert start is not None
    assert case.record is not None
    began, ended = (datetime.fromisoformat(t) for t in (start.started_at, case.record.finished_at))
    return (ended - began).total_seconds()


def show(name: str, stated: Estimate, trials: int, needed: float) -> float:
    """Print a line, and return the ratio of needed to stated seconds."""
    ratio = needed / stated.seconds
    seconds = f"{stated.seconds:.0f} +- {stated.spread_s:.0f}"
    say(f"{name[-27:]:<28}{stated.trials:>8}{trials:>8}{seconds:>18}{needed:>8.0f}{ratio:>7.2f}")
    return ratio


if __name__ == "__main__":
    main()
