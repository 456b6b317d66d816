"""Measures how long reports take, how large they are, and how much memory they need.

A simulated run of all frame sizes is measured first. Its lines are then told again under other
names until there are as many cases and trials as are wanted. The ratio is that of the memory for
all of them to that for half of them: it stays at 1 where no more than one case is held.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from common import Option, Ratio, carry_out, options, say, vsperf_run, wanted

from vsperf.errors import ComponentError
from vsperf.records.files.folders import RECORDS
from vsperf.trust import own_python

EXAMPLE = "tools/bench/report_page.py --cases 200 --trials 20"
TESTCASE = "phy2phy_tput"
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
    found = wanted(parser)
    carry_out(lambda: measure(found))


def measure(found: argparse.Namespace) -> Ratio:
    """Write reports of a small and of large runs."""
    with tempfile.TemporaryDirectory() as name:
        results = Path(name)
        with vsperf_run(results, TESTCASE, "--testbed", "sim") as (_, events):
            for _ in events:
                pass
        small = (results / "latest").resolve()
        show("7 frame sizes", small, results / "small.html")
        costs = []
        for cases in (found.cases // 2, found.cases):
            folder = results / f"2026-11-20-{TESTCASE}-{cases:04d}"
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


def many(small: Path, folder: Path, cases: int, trials: int) -> None:
    """Tell the lines of a run again until there are so many cases, each with so many trials."""
    lines = [json.loads(line) for line in (small / RECORDS).read_text().splitlines()]
    header = lines[0]
    told = [[line for line in lines if line.get("case") == case["key"]] for case in header["cases"]]
    folder.mkdir()
    with (folder / RECORDS).open("w") as file:
        planned = [
            {**case, "key": f"{case['key']}-{number}", "repeat": number // len(told) + 1}
            for number, case in enumerate(islice(cycle(header["cases"]), cases))
        ]
        _write(file, {**header, "run": folder.name, "cases": planned})
        for case, own in zip(planned, cycle(told), strict=False):
            for line in _case(own, trials):
                _write(file, {**line, "case": case["key"]})
        _write(file, lines[-1])


def _case(lines: list[dict[str, Any]], trials: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of a case with as many trials as are wanted."""
    made = [line for line in lines if line["type"] == "trial"]
    last = [line for line in made if line["trial"]["purpose"] == "latency"]
    before = [line for line in made if line not in last]
    yield lines[0]
    for index, line in enumerate([*islice(cycle(before), trials - len(last)), *last], start=1):
        yield {**line, "trial": {**line["trial"], "index": index}}
    yield lines[-1]


def _write(file: Any, line: dict[str, Any]) -> None:
    json.dump(line, file, separators=(",", ":"))
    file.write("\n")


if __name__ == "__main__":
    main()
