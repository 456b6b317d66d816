"""Formats for time series: gauges for OpenMetrics and for scraping; InfluxDB's lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import BinaryIO, ClassVar, Final, TypeVar

from vsperf.analysis.summary import CaseRow
from vsperf.output.export.base import Format, Watch, all_cases, text_of
from vsperf.output.export.case_columns import case_columns
from vsperf.output.export.columns import FreeNames, slug, trials_of
from vsperf.output.export.trial_columns import trial_columns
from vsperf.output.table import Column, Value
from vsperf.records.files.view import CaseView, RunView
from vsperf.trust.printable import printable

T = TypeVar("T")
TELLING: Final = frozenset(
    {"run", "case", "label", "testcase", "testbed", "preset", "simulated", "hostname", "trial"}
)
"""Columns that tell series apart, and so are no values of them."""
CONTINUED: Final = frozenset({"testcase", "testbed", "preset", "simulated"})
"""What of them is the same in the next run of a case."""
REPEAT: Final = "repeat"
PREFIX: Final = "vsperf_case"
OVER: Final = "over_seconds"
OF_EACH_CASE: Final = {
    f"{PREFIX}_info": "What is no number of a case, as labels.",
    f"{PREFIX}_{OVER}": "When the case was over, in seconds since 1970.",
}
BASE_UNITS: Final[Mapping[str, tuple[str, int]]] = {
    "_ns": ("_seconds", 1_000_000_000),
    "_percent": ("_ratio", 100),
    "_ppm": ("_ratio", 1_000_000),
    "_share": ("_ratio", 1),
    "_ratio": ("_ratio", 1),
    "_fps": ("_frames_per_second", 1),
    "_bps": ("_bits_per_second", 1),
    # Prometheus keeps this ending for histograms: what is counted has its name without.
    "_count": ("", 1),
}
"""How names of columns end → how those of metrics do, and how many parts of the one make the other;
a ratio that is called so is told once."""
MOST: Final = 2**63 - 1
"""Integers of lines have 64 bits; what is more is no field."""
EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
WORDS: Final = frozenset({"outcome", "limit", "flags", "purpose", "valid", "stands"})
"""Columns beside the numbers that a reader of time series filters by."""


class OpenMetrics(Format):
    """Units are in the names, those of Prometheus; `vsperf_case_info` has what is no number."""

    summary = "metrics of each case as text, for Prometheus and what reads the same"
    tables: ClassVar[Mapping[str, str]] = {"metrics": "vsperf.openmetrics"}

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        """Write family after family; what one case adds to each is all that is held of it."""
        columns = in_base_units(metrics(case_columns(runs)))
        families: dict[str, list[str]] = {column.name: [] for column in columns}
        infos: list[str] = []
        for view in watch(all_cases(runs)):
            labels, moment = telling(view), moment_of(view)
            if moment is None:  # damaged: no sample may lack a time where others have one
                continue
            time = f" {moment.timestamp():.3f}"
            infos.append(f"{PREFIX}_info{_labels({**labels, **_info(view)})} 1{time}\n")
            for name, value in values(columns, CaseRow.of(view)):
                line = f"{PREFIX}_{name}{_labels(labels)} {value!r}{time}\n"
                families[name].append(line)
        output = outputs["metrics"]
        text_of(output, f"# TYPE {PREFIX} info\n# HELP {PREFIX} What was measured.\n")
        text_of(output, "".join(infos))
        for column in columns:
            if lines := families[column.name]:
                text_of(output, _head(f"{PREFIX}_{column.name}", column.meaning))
                text_of(output, "".join(lines))
        text_of(output, "# EOF\n")


class PrometheusText(Format):
    """What the last attempt at each case found: text of version 0.0.4, and samples without times.

    So the textfile collector of node_exporter and the Pushgateway take it. A series goes on from
    one run to the next: neither a run nor its labels tell it apart, `vsperf_case_info` has these.
    Other settings make another series, as they cut a trend: the id in `case` has a digest of them.
    """

    summary = "the newest metrics of each case, for the textfile collector of node_exporter"
    tables: ClassVar[Mapping[str, str]] = {"metrics": "vsperf.prom"}

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        """Write family after family, each once: of attempts at one case the newest counts."""
        found = in_base_units(metrics(case_columns(runs)))
        columns = [one for one in found if one.name != REPEAT]
        newest: dict[str, tuple[datetime, str, tuple[tuple[str, Value], ...]]] = {}
        for view in watch(all_cases(runs)):
            moment, series = moment_of(view), _labels(_continued(view))
            if moment is None or (series in newest and newest[series][0] > moment):
                continue
            info = _labels({**telling(view), **_info(view)})
            newest[series] = (moment, info, (*_over(view), *values(columns, CaseRow.of(view))))
        output = outputs["metrics"]
        meanings = {f"{PREFIX}_{one.name}": one.meaning for one in columns} | OF_EACH_CASE
        for name, lines in _families(newest).items():
            text_of(output, _head(name, meanings[name]))
            text_of(output, "".join(lines))


def _head(name: str, meaning: str) -> str:
    """Return the lines above the samples of a family: what they are, and their type."""
    text = printable(meaning).replace("\\", "\\\\").replace("\n", " ").replace('"', "'")
    return f"# HELP {name} {text}\n# TYPE {name} gauge\n"


def in_base_units(columns: Iterable[Column[T]]) -> tuple[Column[T], ...]:
    """Return columns in the units that Prometheus has, and by names that end with these."""
    names, found = FreeNames(), list[Column[T]]()
    for one in columns:
        stem, ending = one.name, ""
        parts = 1
        for shown, (base, many) in BASE_UNITS.items():
            if one.name.endswith(shown):
                stem, ending, parts = one.name.removesuffix(shown), base, many
                break
        name = names.free(stem if ending and stem.endswith(ending) else f"{stem}{ending}")
        scaled = one if parts == 1 else replace(one, kind=float, of=_divided(one, parts))
        found.append(replace(scaled, name=name))
    return tuple(found)


def _divided(column: Column[T], parts: int) -> Callable[[T], Value]:
    def found(row: T) -> Value:
        value = column.value(row)
        return value / parts if isinstance(value, int | float) else None

    return found


def _families(
    newest: Mapping[str, tuple[datetime, str, tuple[tuple[str, Value], ...]]],
) -> dict[str, list[str]]:
    """Return the lines of each family of samples, by its name."""
    found: dict[str, list[str]] = {f"{PREFIX}_info": []}
    for series, (_, info, told) in newest.items():
        found[f"{PREFIX}_info"].append(f"{PREFIX}_info{info} 1\n")
        for name, value in told:
            line = f"{PREFIX}_{name}{series} {value!r}\n"
            found.setdefault(f"{PREFIX}_{name}", []).append(line)
    return found


def _over(view: CaseView) -> Iterator[tuple[str, Value]]:
    """Yield when a case was over; nothing of one that is not, whenever it was begun."""
    if view.record is not None and (over := moment(view.record.finished_at)) is not None:
        yield OVER, over.timestamp()


def _continued(view: CaseView) -> dict[str, str]:
    """Return what tells a case apart in this run and in the next one."""
    own = {"case": view.key, "name": view.label, REPEAT: str(view.planned.repeat)}
    return {**own, **{name: text for name, text in telling(view).items() if name in CONTINUED}}


def _info(view: CaseView) -> dict[str, str]:
    found = {
        "name": view.label,
        "outcome": view.outcome.value if view.outcome else "",
        "limit": view.record.limit.value if view.record and view.record.limit else "",
        "flags": ",".join(view.record.flags) if view.record else "",
        "vsperf_version": view.header.vsperf_version,
    }
    return {name: value for name, value in found.items() if value}


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return printable(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class InfluxLines(Format):
    """Measurements `vsperf_case` and `vsperf_trial`; times are in nanoseconds."""

    summary = "line protocol of InfluxDB: a point for each case and each trial"
    tables: ClassVar[Mapping[str, str]] = {"lines": "vsperf.lp"}

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        of_case, of_trial = _fields(case_columns(runs)), _fields(trial_columns(runs))
        output = outputs["lines"]
        for view in watch(all_cases(runs)):
            if not view.attempt:
                continue  # nothing was measured, and a point needs a field
            case, tags = CaseRow.of(view), telling(view)
            found = values(of_case, case)
            text_of(output, _point("vsperf_case", tags, found, moment_of(view)))
            for row in trials_of(case):
                own = {**tags, "trial": str(row.trial.index)}
                found = values(of_trial, row)
                when = moment(row.trial.started_at)
                text_of(output, _point("vsperf_trial", own, found, when))


def _fields(columns: Sequence[Column[T]]) -> tuple[Column[T], ...]:
    return tuple(
        one
        for one in columns
        if one.name not in TELLING and (one.kind in (int, float) or one.name in WORDS)
    )


def _point(
    name: str, tags: Mapping[str, str], found: Iterable[tuple[str, Value]], when: datetime | None
) -> str:
    """Return a line; empty where there is no field."""
    fields = [(key, _field(value)) for key, value in found]
    written = ",".join(f"{key}={value}" for key, value in fields if value)
    if not written:
        return ""
    series = ",".join([name, *(f"{key}={_tag(value)}" for key, value in tags.items())])
    time = "" if when is None else f" {(when - EPOCH) // timedelta(microseconds=1) * 1000}"
    return f"{series} {written}{time}\n"


def _tag(value: str) -> str:
    """Return a tag's value. The protocol has no word for a line's end, nor for a last backslash."""
    text = printable(value).replace("\n", "\\n").replace("\t", "\\t").rstrip("\\")
    for one in (",", "=", " "):
        text = text.replace(one, f"\\{one}")
    return text or "-"


def _field(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}i" if abs(value) <= MOST else ""
        case float():
            return repr(value)
        case _:
            text = printable(str(value)).replace("\\", "\\\\").replace('"', '\\"')
            return '"' + text.replace("\n", " ") + '"'


def metrics(columns: Iterable[Column[T]]) -> tuple[Column[T], ...]:
    """Return the columns that are numbers; those with what tells series apart are none."""
    return tuple(one for one in columns if one.kind in (int, float) and one.name not in TELLING)


def telling(case: CaseView) -> dict[str, str]:
    """Return what tells the series of a case from others: names and values, none of them empty."""
    found = {
        "run": case.run,
        "case": case.key,
        "testcase": case.testcase,
        "testbed": case.header.testbed,
        "preset": case.header.preset,
        "simulated": "true" if case.simulated else "false",
    }
    names = FreeNames(found)
    for name, value in sorted(case.labels.items()):
        found[names.free(f"label_{slug(name)}")] = value
    return {name: value for name, value in found.items() if value}


def values(columns: Iterable[Column[T]], row: T) -> Iterator[tuple[str, Value]]:
    """Yield the values of a row that there are."""
    for column in columns:
        value = column.value(row)
        if value is not None:
            yield column.name, value


def moment(text: str | None) -> datetime | None:
    """Return when something was, as recorded; None where that is no time."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def moment_of(case: CaseView) -> datetime | None:
    """Return when a case was over, or else when it was begun, or its run was."""
    over = case.record.finished_at if case.record else None
    begun = case.start.started_at if case.start else None
    return moment(over) or moment(begun) or moment(case.header.started_at)
