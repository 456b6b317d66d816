"""OpenMetrics text: each number of each case as a gauge, at the time that the case was over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import BinaryIO, ClassVar

from vsperf.export.base import Format, Watch, all_cases, text_of
from vsperf.export.case_columns import case_columns
from vsperf.export.columns import CaseData, Value
from vsperf.export.metrics import metrics, moment_of, telling, values
from vsperf.printable import printable
from vsperf.store.view import CaseView, RunView

PREFIX = "vsperf_case"


class OpenMetrics(Format):
    """Units are in the names, as in the tables; `vsperf_case_info` has what is no number."""

    summary = "metrics of each case as text, for Prometheus and what reads the same"
    tables: ClassVar[Mapping[str, str]] = {"metrics": "vsperf.openmetrics"}

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        """Write family after family; what one case adds to each is all that is held of it."""
        columns = metrics(case_columns(runs))
        families: dict[str, list[str]] = {column.name: [] for column in columns}
        infos: list[str] = []
        for view in watch(all_cases(runs)):
            labels, moment = telling(view), moment_of(view)
            if moment is None:  # damaged: no sample may lack a time where others have one
                continue
            time = f" {moment.timestamp():.3f}"
            infos.append(f"{PREFIX}_info{_labels({**labels, **_info(view)})} 1{time}\n")
            for name, value in values(columns, CaseData(view)):
                line = f"{PREFIX}_{name}{_labels(labels)} {_number(value)}{time}\n"
                families[name].append(line)
        output = outputs["metrics"]
        text_of(output, f"# TYPE {PREFIX} info\n# HELP {PREFIX} What was measured.\n")
        text_of(output, "".join(infos))
        for name, lines in families.items():
            if lines:
                text_of(output, f"# TYPE {PREFIX}_{name} gauge\n")
                text_of(output, "".join(lines))
        text_of(output, "# EOF\n")


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


def _number(value: Value) -> str:
    return repr(value)
