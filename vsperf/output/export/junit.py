"""JUnit XML, as Jenkins and GitLab take it.

Each case is a suite of its own, since only suites have properties in the schema that Jenkins holds
reports against. GitLab tells tests apart by class and name, and shows what is inside of a failure
rather than its message. Jenkins shows both, so the message says how a test ended, and why stands
inside alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from vsperf.analysis.answers import headlines
from vsperf.analysis.summary import CaseRow, too_busy
from vsperf.output.export.base import Format, Watch, all_cases
from vsperf.output.export.case_columns import CaseColumn, case_columns
from vsperf.output.export.columns import plain
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.meaning import OUTCOMES
from vsperf.records.run import CaseRecord, Outcome
from vsperf.trust.printable import printable, vsperf_command

if TYPE_CHECKING:
    from junitparser import TestCase, TestSuite
    from junitparser.junitparser import FinalResult

SIMULATED = "SIMULATED: these numbers come from a model, not from a switch"


class JunitReport(Format):
    """FAIL is a failure; INVALID, ERROR and what did not end are errors; SKIP is skipped."""

    summary = "XML for the test pages of Jenkins and GitLab, with the metrics as properties"
    tables: ClassVar[Mapping[str, str]] = {"report": "junit.xml"}

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        from junitparser import JUnitXml

        columns = case_columns(runs)
        names = _Names(several=len({run.run for run in runs}) > 1)
        report = JUnitXml("vsperf")
        records: dict[str, list[CaseRecord]] = {}
        for view in watch(all_cases(runs)):
            report.append(_suite(view, names, columns))  # type: ignore[no-untyped-call]
            if view.record is not None:
                records.setdefault(view.run, []).append(view.record)
        for run in runs:
            if (busy := too_busy(records.get(run.run, ()))) is not None:
                report.append(_host(run, busy))  # type: ignore[no-untyped-call]
        report.update_statistics()  # type: ignore[no-untyped-call]
        report.time = round(report.time, 3)
        del report._elem.attrib["skipped"]  # only suites have it in the schema of Jenkins
        report.write(outputs["report"])


class _Names:
    """Gives each case a name that no other case of its class has."""

    def __init__(self, *, several: bool) -> None:
        self._several = several
        """Whether there are several runs, so that labels alone say too little."""
        self._taken: set[tuple[str, str]] = set()

    def of(self, view: CaseView) -> tuple[str, str]:
        kind = printable(f"{view.header.testbed}.{view.testcase}")
        name = f"{view.label} #{view.planned.repeat}" if view.planned.repeat > 1 else view.label
        if (kind, printable(name)) in self._taken:
            name = view.key
        name += f" ({view.run})" if self._several else ""
        name += " [SIMULATED]" if view.simulated else ""
        self._taken.add((kind, printable(name)))
        return kind, printable(name)


def _suite(view: CaseView, names: _Names, columns: Sequence[CaseColumn]) -> TestSuite:
    from junitparser import TestCase, TestSuite

    kind, name = names.of(view)
    suite = TestSuite(f"{kind}.{name}")
    suite.timestamp = (view.start.started_at if view.start else view.header.started_at)[:19]
    row = CaseRow.of(view)
    for column in columns:
        value = column.value(row)
        if value is not None:
            suite.add_property(column.name, printable(plain(value)))
    case = TestCase(name, kind)
    case.time = round(view.record.measured_ns / NANOSECONDS, 3) if view.record else 0.0
    _judge(case, view)
    case.system_out = printable("\n".join(_said(view)))
    suite.add_testcase(case)
    suite.time = case.time
    return suite


def _host(run: RunView, busy: str) -> TestSuite:
    """Return the verdict on a run whose machine was too busy, as a test that did not succeed."""
    from junitparser import Error, TestCase, TestSuite

    kind = printable(f"{run.header.testbed}.host")
    suite = TestSuite(f"{kind}.{run.run}")
    suite.timestamp = run.header.started_at[:19]
    case = TestCase(f"the host of {run.run}", kind)
    result = Error("the host was too busy to measure on", "TOO-BUSY")
    result.text = busy
    case.result = [result]
    suite.add_testcase(case)
    return suite


def _judge(case: TestCase, view: CaseView) -> None:
    result = _result(view)
    if result is not None:
        case.result = [result]


def _result(view: CaseView) -> FinalResult | None:
    from junitparser import Error, Failure, Skipped

    record = view.record
    if record is None:
        return _unfinished(view)
    if record.outcome is Outcome.PASS:
        return None
    kinds: dict[Outcome, type[FinalResult]] = {Outcome.FAIL: Failure, Outcome.SKIP: Skipped}
    result = kinds.get(record.outcome, Error)(_what(record), record.outcome.value)
    result.text = _why(record)
    return result


def _unfinished(view: CaseView) -> FinalResult:
    from junitparser import Error, Skipped

    if view.refuted:
        found: FinalResult = Error("its answer does not stand", "REFUTED")
        found.text = printable(view.refuted)
    elif view.attempt:
        found = Error("it was begun and did not come to an end", "INTERRUPTED")
        found.text = printable(f"{vsperf_command('run', '--resume', view.run)} runs it again")
    else:
        found = Skipped("it was never begun", "NOT-BEGUN")
        found.text = "the run ended before"
    return found


def _what(record: CaseRecord) -> str:
    """Say in a line how a case ended; why, stands inside."""
    if record.outcome is Outcome.FAIL:
        missed = sum(one.met is False for one in record.checks)
        return f"{missed} {'criterion' if missed == 1 else 'criteria'} missed"
    return OUTCOMES[record.outcome]


def _why(record: CaseRecord) -> str:
    """Say why a case ended so; what its reason says is not said again for each criterion."""
    missed = [f"{one.criterion}: found {one.found}" for one in record.checks if one.met is not True]
    told = missed if record.outcome is Outcome.FAIL and missed else [record.reason, *missed]
    lines = dict.fromkeys(line for line in told if line)
    return printable("\n".join(lines) or record.outcome.value)


def _said(view: CaseView) -> Iterator[str]:
    """Yield what somebody who looks at one test should know."""
    if view.simulated:
        yield SIMULATED
    yield f"run {view.run}, case {view.key}"
    if view.labels:
        yield ", ".join(f"{name}={value}" for name, value in view.labels.items())
    if view.result is not None:
        yield from headlines(view.result)
    if view.record is not None:
        if view.record.limit is not None:
            yield f"limit: {view.record.limit.value}"
        if view.record.flags:
            yield f"flags: {', '.join(view.record.flags)}"
        for one in view.record.compliance:
            yield f"{one.standard.value}: {one.level.value}"
        yield from view.record.warnings
