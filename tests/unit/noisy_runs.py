"""Runs with levels of noise, laid down to be held against their quiet cases."""

from __future__ import annotations

from pathlib import Path

from compared_runs import HOST, found
from record_samples import case_record, case_start, header, planned, run_end, trial_line
from stored_runs import store

from vsperf.records.run import Line, Outcome

RUN = "2026-11-20-phy2phy_tput-aaaa"


def levels(
    results: Path,
    rates: dict[str, int | None],
    repeats: int = 5,
    sizes: tuple[str, ...] = ("64B",),
) -> Path:
    """Store a run with these levels in turns; a level without a rate came to no result."""
    cases, lines = [], list[Line]()
    for repeat in range(1, repeats + 1):
        for size in sizes:
            for name, rate in rates.items():
                label = f"phy2phy_tput-{size}-{name}"
                key = label if repeat == 1 else f"{label}.{repeat}"
                point = {"frame_size": size, "noise": name}
                case = planned(repeat=repeat, key=key, id=label, label=label, point=point)
                noise = None if name == "none" else {"kind": "memory"}
                cases.append(case.model_copy(update={"spec": {**case.spec, "noise": noise}}))
                record = (
                    case_record(key, outcome=Outcome.INVALID, reason="too loud", result=None)
                    if rate is None
                    else case_record(key, result=found(rate + repeat))
                )
                lines += [case_start(key), trial_line(key), record]
    made = header(RUN, environment=HOST).model_copy(update={"cases": tuple(cases)})
    store(results, RUN, [made, *lines, run_end()])
    return results / RUN
