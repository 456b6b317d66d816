"""Runs to export: what a run can look like, and what a record can hold against its readers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from record_samples import case_lines, case_record, case_start, header, planned, trial
from stored_runs import store

from vsperf.output.export.catalog import load_format
from vsperf.records.files.view import RunView, open_run
from vsperf.records.run import Line, Outcome, TrialLine

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "records").glob("2026-*"))
HOSTILE = '=HYPERLINK("http://x"),\'"<b>&\n\x1b[31m\x07\x9b5n|\\ \u202e'
"""A formula, quotes, tags, a line's end, orders to a terminal, and text that runs backwards."""
RUN = "2026-11-20-phy2phy_tput-k7f3"
SPEC: dict[str, Any] = {
    "name": "phy2phy_tput",
    "tags": ["throughput"],
    "topology": {"name": "p2p", "paths": [["phy0", "phy1"]]},
    "traffic": {"frame_size": "64B", "flows": "4096", "layer3": "ipv4"},
    "search": {"kind": "mlr"},
    "vswitch": {"kind": "sim"},
    "testbed": {
        "name": "sim",
        "links": {"phy0": {"speed": "10Gbit/s"}, "phy1": {"speed": "10Gbit/s"}},
    },
}
KEY = "phy2phy_tput-64B-0001"


def case(key: str = KEY, **changes: Any) -> Any:
    return planned(1, **{"key": key, "id": key, "spec": SPEC, **changes})


def run_of(
    tmp_path: Path, cases: list[Any], *lines: Line, run: str = RUN, **changes: Any
) -> RunView:
    head = header(run, **changes).model_copy(update={"cases": tuple(cases)})
    return open_run(store(tmp_path, run, [head, *lines]))


def one_case(tmp_path: Path, **changes: Any) -> RunView:
    """A case with three trials; `changes` are those of its record."""
    lines = list(case_lines(KEY))
    return run_of(tmp_path, [case()], *lines[:-1], case_record(KEY, **changes))


def every_outcome(tmp_path: Path) -> RunView:
    """A case for each outcome, one that was interrupted and one that never began."""
    cases, lines = [], list[Line]()
    for outcome in Outcome:
        key = f"case-{outcome.value}"
        cases.append(case(key, label=key))
        lines.append(case_start(key))
        reason = "" if outcome is Outcome.PASS else f"because of {outcome.value}"
        lines.append(case_record(key, outcome=outcome, reason=reason))
    lines += [case_start("cut"), TrialLine(case="cut", trial=trial(1))]
    cases += [case("cut", label="cut"), case("never", label="never")]
    return run_of(tmp_path, cases, *lines)


def hostile(tmp_path: Path) -> RunView:
    """A run in which every text is hostile."""
    spec = {**SPEC, "name": HOSTILE, "tags": [HOSTILE], "topology": {**SPEC["topology"]}}
    spec["topology"]["name"] = HOSTILE
    record = case_record(KEY, outcome=Outcome.FAIL, reason=HOSTILE, warnings=(HOSTILE,))
    lines: list[Line] = [
        case_start(KEY),
        TrialLine(case=KEY, trial=trial(1, error=HOSTILE, reference=HOSTILE)),
        record,
    ]
    return run_of(
        tmp_path,
        [case(spec=spec, label=HOSTILE)],
        *lines,
        testbed=HOSTILE,
        preset=HOSTILE,
        labels={"revision": HOSTILE, "a.b": "1", "a_b": "2"},
        environment={"host": {"hostname": HOSTILE, "cpu_model": 7}, "system": None},
    )


def exported(name: str, *runs: RunView) -> dict[str, bytes]:
    """What a format makes of runs, by table."""
    made = load_format(name)
    outputs = {table: _Kept() for table in made.tables}
    made.write(runs, outputs, lambda cases: cases)
    closed = [table for table, output in outputs.items() if output.asked_to_close]
    assert not closed, "a format closed what it had not opened"
    return {table: output.content for table, output in outputs.items()}


class _Kept(io.BytesIO):
    """A file whose content outlives it."""

    content = b""
    asked_to_close = False

    def flush(self) -> None:
        self.content = self.getvalue()

    def close(self) -> None:
        self.asked_to_close = True

    def write(self, data: Any) -> int:
        count = super().write(data)
        self.content = self.getvalue()
        return count
