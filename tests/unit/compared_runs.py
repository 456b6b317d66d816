"""Runs laid down to be put side by side: what each of their cases found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from zlib import crc32

from record_samples import (
    case_record,
    case_start,
    given_load,
    goal,
    header,
    planned,
    run_end,
    trial_line,
)
from stored_runs import store

from vsperf.analysis.comparison import Comparison, compare
from vsperf.analysis.sides import side
from vsperf.quantities.unit import Unit
from vsperf.records.flags import Flag
from vsperf.records.host import Conditions
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.run import CaseRecord, Line, RunHeader

HOST = {"host": {"cpu_model": "Xeon", "cpus": 2}, "system": {"kernel": "6.1"}}


def found(lower: int, upper: int | None = None) -> SearchResult:
    return SearchResult(goals=(goal(lower, lower + lower // 100 if upper is None else upper),))


def bound(lower: int, limit: Limit = Limit.GENERATOR) -> SearchResult:
    """Return what a search found that came to no load that failed."""
    (one,) = found(lower).goals
    return SearchResult(goals=(one.model_copy(update={"upper_fps": None, "limit": limit}),))


def curve(losses: dict[int, str], lossless: int) -> SearchResult:
    """Return what the method `loss` finds: the loss at each load, and figures that follow."""
    loads = tuple(
        given_load(
            load,
            passed=int(loss == "0"),
            worst_loss_ratio=loss,
            throughput_fps=round(load * (1 - Fraction(loss))),
        )
        for load, loss in losses.items()
    )
    figure = Figure(name="lossless_load", unit=Unit.FPS, value=lossless, lower=lossless)
    return SearchResult(loads=loads, figures=(figure,))


def run(
    results: Path,
    name: str,
    rates: Mapping[int, Sequence[int | SearchResult]],
    spec: dict[str, Any] | None = None,
    around: Conditions | None = None,
    flags: Sequence[Flag] = (),
    **head: Any,
) -> str:
    """Store a run: for each case its number and what its repeats found, or that load."""
    run_id = f"2026-11-20-phy2phy_tput-{name}"
    cases, lines = [], list[Line]()
    for number, repeats in rates.items():
        for repeat, rate in enumerate(repeats, start=1):
            case = planned(number, repeat=repeat)
            changed = {**case.spec, **(spec or {})}
            ident = case.id if spec is None else f"{case.id}-{crc32(json.dumps(spec).encode()):x}"
            key = ident if repeat == 1 else f"{ident}.{repeat}"
            cases.append(case.model_copy(update={"key": key, "id": ident, "spec": changed}))
            lines += [case_start(key), trial_line(key), _record(key, rate, around, flags)]
    values = {"environment": HOST, **head}
    made: RunHeader = header(run_id, **values).model_copy(update={"cases": tuple(cases)})
    store(results, run_id, [made, *lines, run_end()])
    return name


def _record(
    key: str, rate: int | SearchResult, around: Conditions | None, flags: Sequence[Flag]
) -> CaseRecord:
    result = rate if isinstance(rate, SearchResult) else found(rate)
    return case_record(key, result=result, conditions=around, flags=tuple(flags))


def of(results: Path, *names: str, **how: Any) -> Comparison:
    return compare([side(results, name) for name in names], **how)
