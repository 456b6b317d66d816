"""A run: its cases one after the other, each recorded before the next begins."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from vsperf.deploy.planner import CasePlan, Drivers, make_plan
from vsperf.engine.assignment import CaseRun
from vsperf.engine.case import run_case
from vsperf.engine.collecting import apart_ns
from vsperf.engine.expectation import expected, presumption
from vsperf.engine.groundwork import Groundwork, cap_key
from vsperf.errors import ExitCode, VsperfError
from vsperf.events import CaseFinished, CaseStarted, Emit
from vsperf.host.cpus import CpuTopology, read_topology
from vsperf.methods.estimate import Estimate, Rehearsals
from vsperf.plugins import Plugins
from vsperf.record.run import CaseRecord, CaseStart, Outcome
from vsperf.search.base import Budget
from vsperf.spec.case import Case
from vsperf.stats.busy import too_busy
from vsperf.stop import raise_if_stopped
from vsperf.store.writer import RunWriter

EXIT_CODES = {
    Outcome.PASS: ExitCode.OK,
    Outcome.SKIP: ExitCode.OK,
    Outcome.FAIL: ExitCode.CRITERION_MISSED,
    Outcome.INVALID: ExitCode.INVALID_RESULT,
    Outcome.ERROR: ExitCode.COMPONENT_FAILED,
    Outcome.ABORTED: ExitCode.INTERRUPTED,
}
GRAVITY = (
    ExitCode.LEFT_BEHIND,
    ExitCode.COMPONENT_FAILED,
    ExitCode.NOT_READY,
    ExitCode.BAD_INPUT,
    ExitCode.INVALID_RESULT,
    ExitCode.CRITERION_MISSED,
)
"""Of several codes the gravest is the run's, in this order."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A case that is ready to run."""

    case: Case
    plan: CasePlan
    drivers: Drivers
    estimate: Estimate

    def planned_anew(self, topology: CpuTopology) -> Planned:
        """Plan again what the machine has meanwhile been asked about, such as KVM."""
        if self.drivers.vnf is None:
            return self
        plan = make_plan(self.case.spec, self.drivers, topology)
        return replace(self, plan=plan)


def plan_cases(cases: Iterable[Case], plugins: Plugins) -> tuple[Planned, ...]:
    """Plan every case before anything is started, so that a mistake in the last one shows now."""
    planned: list[Planned] = []
    topology, groundwork, rehearsals = read_topology(), Groundwork(), Rehearsals()
    for case in cases:
        raise_if_stopped()
        spec, drivers = case.spec, Drivers.of(case.spec, plugins)
        plan = make_plan(spec, drivers, topology)
        known = None if spec.testbed.simulated else groundwork.known(spec, plan)
        found = expected(
            spec,
            presumption(spec, plan, topology),
            known.cap_fps if known else None,
            rehearsals,
            first=not planned,
            apart_ns=apart_ns(drivers.collectors, spec),
        )
        planned.append(Planned(case, plan, drivers, found))
    return tuple(planned)


@dataclass(frozen=True, slots=True)
class Manner:
    """How the cases of a run are carried out, whichever they are."""

    budget_ns: int | None = None
    """Time for all trials; None for as much as they need."""
    recalibrate: bool = False
    """Measure anew what the generator does without a switch."""
    keep: bool = False
    """Leave the last deployment up."""
    anyway: bool = False
    """Measure on a machine that is too busy, too, and let the cases alone say how it ended."""


def run_cases(
    planned: Sequence[Planned],
    writer: RunWriter,
    emit: Emit,
    manner: Manner,
    attempts: Mapping[str, int] | None = None,
    before: Sequence[CaseRecord] = (),
) -> ExitCode:
    """Run the cases, append their records, and return the gravest exit code of the whole run.

    `attempts` says how often a case of a resumed run was begun before, and `before` has the records
    of those that were finished: the machine is judged by all.
    Each case gets a share of the budget in proportion to its estimate; what it does not use is left
    to those that follow. A case that went by a cap which a later one refutes is measured again
    next: its answer is an abandoned attempt from then on, also where the run ends before.
    """
    records = {record.case: record for record in before}
    codes = {record.case: exit_code_of(record) for record in before}
    budget_ns, groundwork = manner.budget_ns, Groundwork(manner.recalibrate)
    begun = _Begun(writer, dict(attempts or {}))
    queue, done = deque(planned), list[Planned]()
    why_again: dict[str, str] = {}
    while queue:
        item = queue.popleft()
        key = item.case.key
        done.append(item)
        share = None if budget_ns is None else _share(budget_ns, [item, *queue])
        stated = item.estimate
        emit(
            CaseStarted(
                item.case,
                len(done),
                len(done) + len(queue),
                stated.seconds,
                stated.spread_s,
                stated.here_s,
            )
        )
        budget = Budget(limit_ns=share)
        run = CaseRun(
            case=item.case,
            plan=item.plan,
            drivers=item.drivers,
            writer=writer,
            emit=emit,
            budget=budget,
            groundwork=groundwork,
            keep=manner.keep and not queue,
            attempt=begun.take(item),
            why_again=why_again.pop(key, ""),
        )
        try:
            record, error = run_case(run)
        finally:
            refuted = groundwork.take_refuted()
            again = {one.case.key: one for one in done if _cap_of(one) in refuted}
            for one in again.values():
                begun.begin(one)
            why_again |= {key: refuted[_cap_of(one)] for key, one in again.items()}
            queue.extendleft(reversed(again.values()))
        writer.append(record)
        emit(CaseFinished(item.case, record))
        codes[key] = exit_code_of(record, error)
        records[key] = record
        if budget_ns is not None:
            budget_ns = max(0, budget_ns - budget.spent_ns)
    return gravest([*codes.values(), code_of_machine(records.values(), anyway=manner.anyway)])


@dataclass
class _Begun:
    """Writes down that cases begin, each time as another attempt."""

    writer: RunWriter
    attempts: dict[str, int]
    """By case, how often it was begun."""
    ahead: set[str] = field(default_factory=set)
    """What was begun before it is its turn, so that what was found before does not stand."""

    def begin(self, item: Planned) -> None:
        """Begin a case ahead of its turn."""
        self.ahead.add(item.case.key)
        self._write(item)

    def take(self, item: Planned) -> int:
        """Begin a case, unless that was done, and return which attempt it is."""
        key = item.case.key
        if key in self.ahead:
            self.ahead.remove(key)
        else:
            self._write(item)
        return self.attempts[key]

    def _write(self, item: Planned) -> None:
        key = item.case.key
        self.attempts[key] = self.attempts.get(key, 0) + 1
        self.writer.append(
            CaseStart(
                case=key,
                attempt=self.attempts[key],
                started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
                plan=item.plan.plan,
            )
        )


def _cap_of(item: Planned) -> str:
    return cap_key(item.case.seeded_spec, item.plan)


def code_of_machine(records: Iterable[CaseRecord], *, anyway: bool) -> ExitCode:
    """Return the exit code that the machine of a run calls for, whatever its cases came to."""
    busy = not anyway and too_busy(records) is not None
    return ExitCode.INVALID_RESULT if busy else ExitCode.OK


def _share(budget_ns: int, left: Sequence[Planned]) -> int:
    """Return what the first of the cases that are left may use."""
    total = sum(item.estimate.seconds for item in left)
    return int(budget_ns * left[0].estimate.seconds / total) if total else budget_ns


def exit_code_of(record: CaseRecord, error: VsperfError | None = None) -> ExitCode:
    """Return the exit code that one case calls for."""
    return error.exit_code if error is not None else EXIT_CODES[record.outcome]


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code that stands for all of `codes`."""
    present = set(codes)
    return next((code for code in GRAVITY if code in present), ExitCode.OK)
