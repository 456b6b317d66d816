"""Measures how the store copes with many results.

Writes many runs from real record models into a temporary directory, then times the index from
nothing, the index with nothing to do, queries, and reading and validating one run. The ratio is
that of bringing the index up to date after one run has changed to making it from nothing.
"""

from __future__ import annotations

import argparse
import base64
import functools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from common import Option, Ratio, carry_out, options, say, wanted

from vsperf.records.files.folders import RECORDS
from vsperf.records.files.index import INDEX, Filter, Index
from vsperf.records.files.validation import validate_file
from vsperf.records.files.view import open_run
from vsperf.records.files.writer import RunWriter
from vsperf.records.result import GoalResult, Limit, SearchResult
from vsperf.records.run import (
    CaseRecord,
    CaseStart,
    Endpoint,
    Line,
    Outcome,
    Plan,
    PlannedCase,
    RunEnd,
    RunHeader,
    Step,
    TrialLine,
)
from vsperf.records.trial import Direction, Purpose, Trial

EXAMPLE = "tools/bench/index_rebuild.py --runs 200 --rounds 1"
SIZES = (64, 128, 256, 512, 1024, 1280, 1518, 9000)
SECOND_NS = 1_000_000_000
HISTOGRAM = base64.b64encode(os.urandom(1200)).decode()
"""As long as a compressed latency histogram usually is; every tenth trial carries two."""


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
    found = wanted(parser)
    carry_out(lambda: measure(found))


def measure(found: argparse.Namespace) -> Ratio:
    """Time everything on made-up runs."""
    with tempfile.TemporaryDirectory() as name:
        results = Path(name)
        show("write", lambda: write_runs(results, found.runs, found.cases, found.trials))
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


def write_runs(results: Path, runs: int, cases: int, trials: int) -> None:
    """Write finished runs the way a run does."""
    for number in range(runs):
        planned = tuple(plan_case(case) for case in range(cases))
        make_header = functools.partial(header, number=number, planned=planned)
        with RunWriter.create(results, ("phy2phy_tput",), make_header) as writer:
            for case in planned:
                for line in case_lines(case.key, trials):
                    writer.append(line)
            writer.append(RunEnd(finished_at=moment(number), exit_code=0))


def moment(number: int) -> str:
    """Return a time that tells runs apart."""
    return f"2026-{number // 28 % 12 + 1:02d}-{number % 28 + 1:02d}T10:00:00.000+00:00"


def plan_case(number: int) -> PlannedCase:
    """Return a planned case with a specification of usual length."""
    size = SIZES[number % len(SIZES)]
    key = f"phy2phy_tput-{size}B-{number:08x}"
    spec = {
        "name": "phy2phy_tput",
        "tags": ["throughput"],
        "traffic": {"frame_size": f"{size}B", "flows": "4096", "direction": "both"},
        "settings": {f"setting_{index}": f"value {index}" for index in range(40)},
    }
    return PlannedCase(
        key=key,
        id=key,
        label=f"phy2phy_tput-{size}B",
        point={"frame_size": f"{size}B"},
        repeat=1,
        spec=spec,
        origins={f"settings.setting_{index}": "defaults.yaml:12" for index in range(40)},
    )


def header(run: str, number: int, planned: tuple[PlannedCase, ...]) -> RunHeader:
    """Return the header of a run."""
    return RunHeader(
        run=run,
        started_at=moment(number),
        simulated=True,
        testbed="sim",
        preset="quick",
        argv=("run", "phy2phy_tput"),
        vsperf_version="0",
        environment={f"fact_{index}": f"value {index}" for index in range(60)},
        cases=planned,
    )


def case_lines(key: str, trials: int) -> Iterator[Line]:
    """Yield the lines of one case."""
    steps = tuple(Step(component="vswitch", action=f"step {index}") for index in range(5))
    ends = (Endpoint(link="phy0", kind="sim", address="a"),)
    plan = Plan(steps=steps, endpoints=ends, directions=(("phy0", "phy1"), ("phy1", "phy0")))
    yield CaseStart(case=key, attempt=1, started_at=moment(0), plan=plan)
    for index in range(1, trials + 1):
        yield TrialLine(case=key, trial=trial(index))
    goals = tuple(
        GoalResult(
            goal=goal,
            loss_ratio=ratio,
            lower_fps=8_000_000,
            upper_fps=8_040_000,
            throughput_fps=8_000_000,
            limit=Limit.DUT,
            reason="the switch lost frames above it",
        )
        for goal, ratio in (("ndr", "0"), ("pdr", "1/200"))
    )
    yield CaseRecord(
        case=key,
        outcome=Outcome.FAIL if key.endswith("7") else Outcome.PASS,
        reason="",
        result=SearchResult(goals=goals),
        limit=Limit.DUT,
        flags=(),
        checks=(),
        compliance=(),
        warnings=(),
        trials=trials,
        measured_ns=trials * SECOND_NS,
        finished_at=moment(0),
    )


def trial(index: int) -> Trial:
    """Return a trial with counters of usual length."""
    frames = 8_000_000 + index
    histogram = HISTOGRAM if index % 10 == 0 else None
    directions = tuple(
        Direction(
            name=name,
            intended_frames=frames,
            sent_frames=frames,
            received_frames=frames - index % 3,
            duplicate_frames=0,
            corrupted_frames=0,
            latency_histogram=histogram,
        )
        for name in ("phy0 to phy1", "phy1 to phy0")
    )
    return Trial(
        directions=directions,
        sending_ns=SECOND_NS,
        elapsed_ns=SECOND_NS,
        settled=True,
        index=index,
        purpose=Purpose.SEARCH,
        load_fps=frames,
        duration_ns=SECOND_NS,
        started_at=moment(0),
    )


if __name__ == "__main__":
    main()
