"""Measures how the store copes with many results.

Makes many runs of a simulated one (`made_runs`) in a temporary directory, then times the index from
nothing, the index with nothing to do, queries, and reading and validating one run. The ratio is
that of bringing the index up to date after one run has changed to making it from nothing.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import Option, Ratio, carry_out, options, say
from made_runs import many, simulated

from vsperf.records.files.folders import RECORDS
from vsperf.records.files.index import INDEX, Filter, Index
from vsperf.records.files.validation import validate_file
from vsperf.records.files.view import open_run
from vsperf.records.run import Outcome

EXAMPLE = "tools/bench/index_rebuild.py --runs 200 --rounds 1"


def main() -> None:
    """Make the data and print the times."""
    parser = options(
        __doc__,
        EXAMPLE,
        runs=Option(50, 10, "how many are made up"),
        cases=Option(20, 5, "per run"),
        trials=Option(100, 50, "per case"),
        rounds=Option(3, 3, "times that the index is made and brought up to date"),
    )
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Time everything on made-up runs."""
    with tempfile.TemporaryDirectory() as name:
        results = Path(name)
        small = simulated(results)
        write_runs(results, small, found.runs, found.cases, found.trials)
        shutil.rmtree(small)
        files = sorted(results.glob(f"20*/{RECORDS}"))
        megabytes = sum(path.stat().st_size for path in files) / 1e6
        trials = found.runs * found.cases * found.trials
        say(f"{found.runs} runs, {trials} trials, {megabytes:.0f} MB of records")
        ratios = [refreshed(results, files[-1]) for _ in range(found.rounds)]
        with Index.open(results) as index:
            show("all runs", index.runs)
            show("50 newest cases", lambda: index.cases(Filter(limit=50)))
            show("all cases", index.cases)
            show("cases by glob and outcome", lambda: index.cases(failed()))
        show(
            "read one run",
            lambda: [tuple(case.trials) for case in open_run(files[0].parent).cases()],
        )
        show("validate one run", lambda: validate_file(files[0]))
    return Ratio.of("index with one run changed to index from nothing", ratios)


def refreshed(results: Path, changed: Path) -> float:
    """Make the index from nothing and bring it up to date; return the ratio of the times."""
    file = results / INDEX
    file.unlink(missing_ok=True)
    with Index.open(results) as index:
        whole_s = show("index from nothing", index.refresh)
    show("index with nothing to do", lambda: up_to_date(results))
    changed.touch()
    part_s = show("index with one run changed", lambda: up_to_date(results))
    say(f"index file: {file.stat().st_size / 1e6:.0f} MB")
    return part_s / whole_s


def up_to_date(results: Path) -> None:
    """Read the index and bring it up to date, as each `vsperf results` does."""
    with Index.open(results) as index:
        index.refresh()


def failed() -> Filter:
    """Return a filter that most cases do not pass."""
    return Filter(testcase="phy2phy_*-64B", outcome=Outcome.FAIL)


def show(what: str, action: Callable[[], object]) -> float:
    """Do something, say how long it took, and return it in seconds."""
    begin = time.perf_counter()
    action()
    took_s = time.perf_counter() - begin
    say(f"{what}: {took_s:.3f} s")
    return took_s


def write_runs(results: Path, small: Path, runs: int, cases: int, trials: int) -> None:
    """Write finished runs of other days."""
    for number in range(runs):
        name = f"2025-{number // 28 % 12 + 1:02d}-{number % 28 + 1:02d}-100000-{number:04d}"
        many(small, results / name, cases, trials)


if __name__ == "__main__":
    main()
