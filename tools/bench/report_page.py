"""Measures how long reports take, how large they are, and how much memory they need.

The runs are a simulated one, told again (`made_runs`). The ratio is that of the memory for
all of them to that for half of them: it stays at 1 where no more than one case is held.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from common import Option, Ratio, carry_out, options, say
from made_runs import many, simulated

from vsperf.errors import ComponentError
from vsperf.records.files.folders import RECORDS
from vsperf.trust import own_python

EXAMPLE = "tools/bench/report_page.py --cases 200 --trials 20"
FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
"""A function, as its text is read once, by the browser. The text of an expression would be read
anew at each look, by the page, and the policy of a report does not let it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a report took."""

    seconds: float
    cpu_seconds: float
    megabytes: float
    memory_mb: float


def main() -> None:
    """Make the runs and print what their reports cost."""
    parser = options(
        __doc__,
        EXAMPLE,
        cases=Option(1000, 120, "of the large run"),
        trials=Option(100, 20, "of each of its cases"),
    )
    carry_out(parser, measure)


def measure(found: argparse.Namespace) -> Ratio:
    """Write reports of a small and of large runs."""
    with tempfile.TemporaryDirectory() as name:
        results = Path(name)
        small = simulated(results)
        show("7 frame sizes", small, results / "small.html")
        costs = []
        for cases in (found.cases // 2, found.cases):
            folder = results / f"2026-11-20-phy2phy_tput-{cases:04d}"
            many(small, folder, cases, found.trials)
            page = results / f"{cases}.html"
            costs.append(show(f"{cases} cases, {cases * found.trials} trials", folder, page))
            shutil.rmtree(folder)
    half, whole = costs
    ratio = whole.memory_mb / half.memory_mb
    return Ratio.of("memory for all cases to memory for half of them", [ratio])


def show(what: str, folder: Path, page: Path) -> Cost:
    """Write a report and say what it cost."""
    cost = report(folder, page)
    paint = first_paint(page)
    shown = "" if paint is None else f", first paint after {paint:.2f} s"
    say(
        f"{what}: {cost.seconds:.2f} s ({cost.cpu_seconds:.2f} s of CPU), {cost.megabytes:.2f} MB, "
        f"{cost.memory_mb:.0f} MB of memory{shown}"
    )
    return cost


def report(folder: Path, page: Path) -> Cost:
    """Run `vsperf report` as a user does, and ask the kernel what it needed."""
    argv = own_python.module("vsperf", "report", str(folder / RECORDS), "-o", str(page))
    began = time.perf_counter()
    child = os.posix_spawn(argv[0], argv, os.environ)
    _, status, usage = os.wait4(child, 0)
    took_s = time.perf_counter() - began
    if status:
        code = os.waitstatus_to_exitcode(status)
        raise ComponentError(f"vsperf report ended with exit code {code}")
    worked_s = usage.ru_utime + usage.ru_stime
    return Cost(took_s, worked_s, page.stat().st_size / 1e6, usage.ru_maxrss / 1e3)


def first_paint(page: Path) -> float | None:
    """Return when a browser first shows something [s]; None where there is none."""
    program = shutil.which("chromium")
    if program is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        shown = browser.new_page()
        shown.goto(page.as_uri())
        found_ms: float = shown.wait_for_function(FIRST_PAINT).json_value()
        browser.close()
    return found_ms / 1000


if __name__ == "__main__":
    main()
