"""Runs of as many cases and trials as are wanted: a simulated one, whose lines are told again.

First a run of all frame sizes is measured on a model. Its lines then stand again under other names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from common import vsperf_run

from vsperf.records.files.folders import RECORDS

TESTCASE = "phy2phy_tput"


def simulated(results: Path) -> Path:
    """Measure the run that others are made of; return its folder."""
    with vsperf_run(results, TESTCASE, "--testbed", "sim") as (_, events):
        for _ in events:
            pass
    return (results / "latest").resolve()


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
