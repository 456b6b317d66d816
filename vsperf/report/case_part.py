"""All that a report says of one case, from what is stored of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vsperf.record.meaning import LIMITED_BY
from vsperf.record.result import SearchResult
from vsperf.record.run import Outcome
from vsperf.report.account import account_of, account_table
from vsperf.report.asked import asked_of
from vsperf.report.collected import collected_parts
from vsperf.report.doubts import Concerns, criteria_of, standing_of
from vsperf.report.environment import Found, found_of
from vsperf.report.noise import cost_lines, noise_table
from vsperf.report.numbers import curve_tables, latency_table, numbers_of
from vsperf.report.page import CasePart, Costs, Doubt, Number
from vsperf.report.pictures import NoPictures, Pictures
from vsperf.report.plan import Plans
from vsperf.report.topology import drawn
from vsperf.report.trials import trials_table
from vsperf.stats.columns import outcome_text
from vsperf.stats.summary import CaseRow
from vsperf.store.reader import RunState
from vsperf.store.view import CaseView, RunView

HEADLINES = 2
"""Numbers that stand in the line of a case."""
SUSPECT = 3
"""Weight of the doubts from which on a number has a reservation."""
AGAIN = "`vsperf run --resume {}` measures it again"
UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def anchor_of(number: int, place: int, case: CaseView) -> str:
    """Return the name under which the case at a place of a run with this number is found."""
    name = UNSAFE.sub("-", case.key).strip("-")
    return f"case-{number}-{place}-{name}"


def names_of(runs: Sequence[RunView]) -> dict[str, str]:
    """Return what each of several runs is called: its last letters, if these tell them apart."""
    if len(runs) < 2:
        return {}
    letters = {run.run: run.run.rpartition("-")[2] for run in runs}
    return letters if len({*letters.values()}) == len(letters) else {one: one for one in letters}


def label_of(case: CaseView) -> str:
    """Name a case for people; repeats are told apart."""
    repeat = case.planned.repeat
    return f"{case.label} #{repeat}" if repeat > 1 else case.label


@dataclass(slots=True)
class Teller:
    """Tells cases one after the other, and what they have in common once."""

    pictures: Pictures | NoPictures
    compact: bool
    folded: bool = False
    """Whether cases are lines that open."""
    common: str = ""
    """What the labels of all cases begin with; left out where one case stands among others."""
    costs: Sequence[Costs] = ()
    """What noise cost, of each run that has levels of it."""
    runs: Mapping[str, str] = field(default_factory=dict)
    """What runs are called, where there are several."""
    concerns: Concerns = field(default_factory=Concerns)
    plans: Plans = field(default_factory=Plans)
    found: Found = field(default_factory=Found)

    def short(self, case: CaseView) -> str:
        """Name a case among the others, those of other runs included."""
        return self._of_run(case, label_of(case).removeprefix(self.common))

    def _of_run(self, case: CaseView, label: str) -> str:
        return f"{label} of {self.runs[case.run]}" if case.run in self.runs else label

    def tell(self, run: RunView, case: CaseView, row: CaseRow, anchor: str) -> CasePart:
        """Return what is said of a case; only this one is held."""
        label, asked, record = self.short(case), case.asked, case.record
        trials = case.trials
        result = (record.result if record is not None else None) or SearchResult()
        around = found_of(record.surroundings if record is not None else None)
        like, like_name = self.found.like(around, anchor, label)
        plan = case.start.plan if case.start is not None else None
        full = not self.compact
        numbers = numbers_of(row, trials)
        doubts = self.concerns.add(row, label)
        return CasePart(
            anchor=anchor,
            label=self._of_run(case, label_of(case)),
            short=label,
            folded=self.folded,
            line=_line(numbers, result, doubts),
            title=str(asked.value("title") or case.testcase),
            outcome=outcome_text(row),
            reason=record.reason if record is not None else "",
            simulated=case.simulated,
            state=_state(run, case),
            asked=asked_of(asked),
            numbers=numbers,
            criteria=criteria_of(record),
            latency=latency_table(row),
            curves=curve_tables(row) if full else (),
            pictures=self.pictures.of_case(case) if full else (),
            drawn=drawn(asked, plan, result, trials) if full else None,
            account=account_of(result, trials) if full else None,
            accounts=account_table(trials) if full else None,
            noise=noise_table(record, trials),
            costs=cost_lines(self.costs, case.run, case.label),
            collected=collected_parts(case.folder, case.key, case.attempt, trials) if full else (),
            plan=self.plans.tell(plan, anchor, label) if plan is not None else None,
            found=around if not like else (),
            found_like=like,
            found_like_name=like_name,
            doubts=doubts,
            standings=tuple(standing_of(one) for one in record.compliance) if record else (),
            trials=trials_table(trials) if full else None,
            trials_hint=f"vsperf show {case.run} {case.key}",
        )


def _line(numbers: Sequence[Number], result: SearchResult, doubts: Sequence[Doubt]) -> str:
    """Say in a line what a case came to."""
    said = [f"{number.name} {number.value}" for number in numbers[:HEADLINES]]
    said += [f"limited by {LIMITED_BY[limit]}" for limit in result.limits[:1]]
    grave = sum(doubt.weight <= SUSPECT for doubt in doubts)
    if grave:
        said.append(f"{grave} {'doubt' if grave == 1 else 'doubts'}")
    return " · ".join(said)


def _state(run: RunView, case: CaseView) -> tuple[str, ...]:
    """Say what a case did not come to."""
    said = []
    if case.refuted:
        said.append(f"There is no result: {case.refuted}. {AGAIN.format(case.run)}.")
    elif case.record is None:
        if case.start is None:
            said.append("This case was planned and never began.")
        elif run.state is RunState.RUNNING:
            said.append(f"This case is being measured: {len(case.trials)} trials so far.")
        else:
            made = len(case.trials)
            said.append(
                f"This case was cut short after {made} {'trial' if made == 1 else 'trials'}: there "
                f"is no result. {AGAIN.format(case.run)}."
            )
    elif case.record.outcome is Outcome.ABORTED:
        said.append(f"It was interrupted; {AGAIN.format(case.run)}.")
    if case.result is not None and not case.result.whole:
        said.append(f"The search is not whole: {case.result.ended} first.")
    if case.attempt > 1:
        said.append(f"This is attempt {case.attempt}; trials of earlier ones are in the records.")
    return tuple(said)
