"""The table of generators side by side, and what is to be said of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vsperf.analysis.generators import JUDGED_BY, Column, GeneratorRow
from vsperf.output.grid import Grid, common_prefix, value_text
from vsperf.quantities.human import human_fps, human_ns

NONE = "–"
HEADINGS: dict[Column, str] = {
    "checked": "checked",
    "loss_free": "loss-free",
    "scatter": "scatter",
    "floor": "floor",
    "pacing": "pacing",
    "beside": "beside",
    "per_cpu": "per CPU",
}
MEANING = (
    "checked: the most that came through any trial, each frame looked at; loss-free: bounds of the "
    "search; scatter: how far repeats lie apart; floor: median latency at the lightest load; "
    "pacing: by how much the mean rate was off, and half of the gaps … all but 1 % of them, as a "
    "witness saw it; "
    "beside: what a trial takes beside its traffic; per CPU: the cap without a switch by the "
    "generator's CPUs. Rates are per direction."
)


def generators_grid(rows: Sequence[GeneratorRow]) -> Grid:
    """Return a row for each case and generator; what is not known is told below the table."""
    prefix = common_prefix([row.label for row in rows])
    head = ("case", "generator", "repeats", "limit", *HEADINGS.values())
    return Grid(
        "generators side by side" + (f", cases of {prefix.rstrip('-')}" if prefix else ""),
        head,
        tuple(
            (
                row.label.removeprefix(prefix) or row.label,
                row.generator,
                str(row.repeats),
                ", ".join(row.limits) or NONE,
                _shown(row.checked_fps, human_fps),
                NONE if row.loss_free is None else value_text(row.loss_free),
                _shown(row.scatter, "{:.2%}".format),
                _shown(row.floor_ns, human_ns),
                NONE if row.pace is None else _pace_text(row.pace),
                _shown(row.beside_ns, human_ns),
                _shown(row.per_cpu_fps, human_fps),
            )
            for row in rows
        ),
        frozenset((2, *range(4, len(head)))),
    )


def generators_notes(rows: Sequence[GeneratorRow]) -> Iterator[str]:
    """Yield why cells are empty, and with which reservation a generator's numbers stand."""
    why: dict[tuple[str, str], dict[Column, None]] = {}
    reserved: dict[tuple[str, str], None] = {}
    for row in rows:
        for column, reason in row.missing.items():
            why.setdefault((row.generator, reason), {})[column] = None
        for flag in row.reservations:
            reserved[row.generator, f"{flag}: {flag.gist[0].lower()}{flag.gist[1:]}"] = None
    for (generator, reason), columns in why.items():
        yield f"{generator} has no {', '.join(HEADINGS[one] for one in columns)}: {reason}"
    for generator, text in reserved:
        yield f"{generator}, {text}"


def generators_data(rows: Sequence[GeneratorRow]) -> list[dict[str, Any]]:
    """Return the same for programs; what is not known is null, and `missing` says why."""
    return [
        {
            "case": row.label,
            "generator": row.generator,
            "repeats": row.repeats,
            "limits": [limit.value for limit in row.limits],
            "checked_fps": row.checked_fps,
            "loss_free_fps": None if row.loss_free is None else list(row.loss_free.values),
            "scatter": row.scatter,
            "floor_ns": row.floor_ns,
            "pace": row.pace,
            "beside_ns": row.beside_ns,
            "per_cpu_fps": row.per_cpu_fps,
            "missing": dict(row.missing),
            "reservations": [flag.value for flag in row.reservations],
        }
        for row in rows
    ]


def _pace_text(pace: Mapping[str, float]) -> str:
    gaps = (human_ns(pace[name]) for name in ("gap_off_p50_ns", JUDGED_BY))
    return f"{pace['rate_off_ppm'] / 1e6:+.2%}, {' … '.join(gaps)}"


def _shown(value: float | None, text: Callable[[float], str]) -> str:
    return NONE if value is None else text(value)
