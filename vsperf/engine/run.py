"""A run: its cases one after the other, each recorded before the next begins."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from vsperf.analysis.summary import too_busy
from vsperf.config.case import Case
from vsperf.deploy.planner import CasePlan, Drivers, make_plan
from vsperf.engine.assignment import CaseRun
from vsperf.engine.calibration import Calibrator, cap_key
from vsperf.engine.case import run_case
from vsperf.engine.collecting import apart_ns
from vsperf.engine.expectation import expected, presumption
from vsperf.errors import ExitCode, Location, Problem, VsperfError
from vsperf.host.cpus import CpuTopology, read_topology
from vsperf.host.workspace import LeftBehindError
from vsperf.methods.estimate import Estimate, Rehearsals
from vsperf.plugins import Plugins
from vsperf.progress import CaseFinished, CaseStarted, Emit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.files.writer import RunWriter
from vsperf.records.host import Calibration
from vsperf.records.run import CaseRecord, CaseStart, Outcome
from vsperf.search.base import Budget
from vsperf.stop import raise_if_stopped

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
    topology, calibrator, rehearsals = read_topology(), Calibrator(), Rehearsals()
    selected = list(cases)
    alone = len({case.spec.name for case in selected}) == 1
    for case in selected:
        raise_if_stopped()
        spec, drivers = case.spec, Drivers.of(case.spec, plugins)
        try:
            plan = make_plan(spec, drivers, topology)
        except VsperfError as error:
            if not alone:
                error.problems = tuple(_of_case(one, case) for one in error.problems)
            raise
        known = None if spec.testbed.simulated else calibrator.known(spec, plan)
        found = expected(
            spec,
            presumption(spec, plan, topology),
            known.cap_fps if known else None,
            rehearsals,
            first=not planned,
            apart_ns=apart_ns(drivers.collectors, spec),
            trial_ns=plan.generator_can.trial_ns,
        )
        planned.append(Planned(case, plan, drivers, found))
    return tuple(planned)


def _of_case(problem: Problem, case: Case) -> Problem:
    """Return what is wrong with a case, with its name where nothing says of which it is."""
    return problem if problem.where else replace(problem, where=Location(case.label))


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the cases of a run are carried out, whichever they are."""

    budget_ns: int | None = None
    """Time for all trials; None for as much as they need."""
    recalibrate: bool = False
    """Measure anew what the generator does without a switch."""
    keep: bool = False
    """Leave the last deployment up."""
    anyway: bool = False
    """Measure on a machine that is too busy, too, and let the cases alone say how it ended."""


@dataclass(frozen=True, slots=True)
class Before:
    """What a resumed run held already."""

    attempts: Mapping[str, int] = field(default_factory=dict)
    """How often a case was begun."""
    records: Sequence[CaseRecord] = ()
    """Of the cases that were finished: the machine is judged by them, too."""
    planned: Sequence[Planned] = ()
    """Of these the ones that went by a cap of the generator."""
    dropped: int = 0
    """Trials of the last attempts at all other cases, from which nothing is taken."""


def run_cases(
    planned: Sequence[Planned],
    writer: RunWriter,
    emit: Emit,
    options: RunOptions,
    before: Before | None = None,
) -> ExitCode:
    """Run the cases, append their records, and return the gravest exit code of the whole run.

    Each case gets a share of the budget in proportion to the time of its trials; what it does not
    use is left to those that follow. A case that went by a cap which a later one refutes is
    measured again next: its answer is an abandoned attempt from the moment in which that is found.
    A case that left something on the machine ends the run, open for a resumption: raises
    `LeftBehindError`.
    """
    held = before or Before()
    records = {record.case: record for record in held.records}
    codes = {record.case: exit_code_of(record) for record in held.records}
    budget_ns = options.budget_ns
    turns = _Turns(writer, deque(planned), dict(held.attempts), list(held.planned))
    calibrator = Calibrator(options.recalibrate, refute=turns.measure_again)
    for one in held.planned:
        if (cap := cap_of(records.get(one.case.key))) is not None:
            calibrator.gone_by_before(one.case.seeded_spec, one.plan, cap)
    while turns.queue:
        item = turns.next()
        key = item.case.key
        share = None if budget_ns is None else _share(budget_ns, [item, *turns.queue])
        stated = item.estimate.within(None if share is None else share / NANOSECONDS)
        emit(
            CaseStarted(
                item.case,
                turns.number,
                turns.number + len(turns.queue),
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
            calibrator=calibrator,
            keep=lambda: options.keep and not turns.queue,
            attempt=turns.attempts[key],
            why_again=turns.why_again.pop(key, ""),
        )
        record, error = run_case(run)
        writer.append(record)
        emit(CaseFinished(item.case, record))
        codes[key] = exit_code_of(record, error)
        records[key] = record
        if isinstance(error, LeftBehindError) and turns.queue:
            raise _stopped_by(error, item, writer.run)
        if run.outgrown and not run.undone:
            turns.again(item, run.outgrown[0])
        if budget_ns is not None:
            budget_ns = max(0, budget_ns - budget.spent_ns)
    return gravest([*codes.values(), code_of_host(records.values(), anyway=options.anyway)])


def _stopped_by(error: LeftBehindError, item: Planned, run: str) -> LeftBehindError:
    """Return why a run stops after a case, all of which is recorded."""
    return LeftBehindError(
        f"the run stops after {item.case.label}, which left something on this machine",
        why=error.problems[0].why,
        fix=f"mend what stands in the way, then: vsperf clean, and vsperf run --resume {run}",
    )


FELL = "the one before was found while the machine kept it from running"


@dataclass
class _Turns:
    """Whose turn it is; writes down that cases begin, each time as another attempt."""

    writer: RunWriter
    queue: deque[Planned]
    attempts: dict[str, int]
    """By case, how often it was begun."""
    done: list[Planned]
    """What was measured, in this run or before it was resumed, and is not to be measured again."""
    number: int = 0
    """How many turns there were."""
    now: Planned | None = None
    why_again: dict[str, str] = field(default_factory=dict)
    """What is wrong with an answer that does not stand, by case; it was begun ahead of its turn."""

    def next(self) -> Planned:
        """Begin the next case, unless that was done."""
        if self.now is not None:
            self.done.append(self.now)
        self.now, self.number = self.queue.popleft(), self.number + 1
        if self.now.case.key not in self.why_again:
            self._begin(self.now)
        return self.now

    def measure_again(self, refuted: Mapping[str, str]) -> None:
        """Begin what went by caps that are refuted, so that what was found does not stand.

        That is written down at once: a killed run has no more than what is.
        """
        again = [one for one in self.done if _key_of_cap(one) in refuted]
        self.done = [one for one in self.done if _key_of_cap(one) not in refuted]
        for one in reversed(again):
            self.again(one, f"{FELL} ({refuted[_key_of_cap(one)]})")

    def again(self, item: Planned, why: str) -> None:
        """Begin a case that was measured once more, as the next one."""
        if item is self.now:
            self.now = None
        self._begin(item)
        self.why_again[item.case.key] = why
        self.queue.appendleft(item)

    def _begin(self, item: Planned) -> None:
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


def cap_of(record: CaseRecord | None) -> Calibration | None:
    """Return what the generator could do without a switch, if a case went by it."""
    found = record.conditions if record is not None else None
    return None if found is None else found.calibration


def _key_of_cap(item: Planned) -> str:
    return cap_key(item.case.seeded_spec, item.plan)


def code_of_host(records: Iterable[CaseRecord], *, anyway: bool) -> ExitCode:
    """Return the exit code that the machine of a run calls for, whatever its cases came to."""
    busy = not anyway and too_busy(records) is not None
    return ExitCode.INVALID_RESULT if busy else ExitCode.OK


def _share(budget_ns: int, left: Sequence[Planned]) -> int:
    """Return what the first of the cases that are left may use.

    It goes by their trials alone, as a budget does: what is beside them uses nothing of it.
    """
    total = sum(item.estimate.measuring_s for item in left)
    return int(budget_ns * left[0].estimate.measuring_s / total) if total else budget_ns


def within(planned: Sequence[Planned], budget_ns: int | None) -> tuple[Estimate, ...]:
    """Return what each case is expected to take of a budget, where there is one."""
    if budget_ns is None:
        return tuple(item.estimate for item in planned)
    found = []
    for number, item in enumerate(planned):
        one = item.estimate.within(_share(budget_ns, planned[number:]) / NANOSECONDS)
        budget_ns = max(0, budget_ns - round(one.measuring_s * NANOSECONDS))
        found.append(one)
    return tuple(found)


def exit_code_of(record: CaseRecord, error: VsperfError | None = None) -> ExitCode:
    """Return the exit code that one case calls for."""
    return error.exit_code if error is not None else EXIT_CODES[record.outcome]


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code that stands for all of `codes`."""
    present = set(codes)
    return next((code for code in GRAVITY if code in present), ExitCode.OK)
