"""How runs came out: the verdict in a word, and whether their numbers can be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vsperf.analysis.summary import TOO_BUSY, CaseRow, too_busy
from vsperf.output.report.doubts import NOT_THE_SWITCH, WARNING, WORDS
from vsperf.output.report.page import Concern, Criterion, Verdict
from vsperf.records.files.reader import RunState
from vsperf.records.files.view import RunView
from vsperf.records.flags import FUNCTIONAL_ONLY, Severity
from vsperf.records.result import Limit
from vsperf.records.run import Outcome

GRAVEST = (Outcome.ERROR, Outcome.INVALID, Outcome.FAIL, Outcome.ABORTED, Outcome.SKIP)
WITHOUT_NUMBER = (Outcome.ERROR, Outcome.INVALID)
WITHOUT_RESULT = (*WITHOUT_NUMBER, Outcome.ABORTED, Outcome.SKIP)


def verdict_of(
    runs: Sequence[RunView], rows: Sequence[CaseRow], criteria: Sequence[Criterion]
) -> Verdict:
    """Say in a word and a sentence how it came out; first of all whether the machine let it."""
    outcomes = Counter(row.record.outcome for row in rows if row.record is not None)
    text = _sentence(_parts(outcomes, len(rows), criteria))
    busy = too_busy(row.record for row in rows if row.record is not None)
    if busy is not None and not outcomes[Outcome.ERROR]:
        why = busy.removeprefix(f"{TOO_BUSY}: ")
        return Verdict(TOO_BUSY, "bad", f"{why[:1].upper()}{why[1:]}. {text}")
    return _by_outcome(runs, rows, outcomes, text, criteria)


def _by_outcome(
    runs: Sequence[RunView],
    rows: Sequence[CaseRow],
    outcomes: Counter[Outcome],
    text: str,
    criteria: Sequence[Criterion],
) -> Verdict:
    told_of = sum(outcomes.values())
    states = {run.state for run in runs}
    grave = next((one for one in GRAVEST if outcomes[one]), None)
    if grave in (Outcome.ERROR, Outcome.INVALID, Outcome.FAIL):
        return Verdict(grave.value, "bad", text)
    if RunState.RUNNING in states:
        return Verdict("STILL RUNNING", "open", text)
    if RunState.INTERRUPTED in states or told_of < len(rows) or grave is Outcome.ABORTED:
        return Verdict("INCOMPLETE", "open", text)
    if grave is Outcome.SKIP:
        return Verdict("SKIPPED" if outcomes[grave] == told_of else "PARTLY SKIPPED", "open", text)
    word = "PASS" if criteria else "MEASURED"
    doubted = sum(_doubted(row) for row in rows)
    if not doubted:
        return Verdict(word, "good", text)
    if all(_functional(row) for row in rows):
        text += " FUNCTIONAL ONLY: it shows that frames pass, and says nothing of how fast."
    of = _of(doubted, len(rows))
    return Verdict(f"{word}, WITH DOUBTS", "doubt", f"{text} Doubts: {of}, see below.")


def _parts(outcomes: Counter[Outcome], cases: int, criteria: Sequence[Criterion]) -> list[str]:
    found = sum(outcomes[one] for one in Outcome if one not in WITHOUT_RESULT)
    parts = [_with_result(found, cases)]
    if criteria or set(outcomes) - {Outcome.PASS}:  # without a target there is nothing to pass
        parts += [f"{outcomes[one]} {one.value}" for one in Outcome if outcomes[one] and cases > 1]
    if not criteria and not found:
        return parts
    if not criteria:
        return [*parts, "no target was set (`expect:`), so nobody says whether that is enough"]
    words = Counter(one.word for one in criteria)
    said = [f"{words[word]} {word.lower()}" for word in WORDS.values() if words[word]]
    noun = "criterion" if len(criteria) == 1 else "criteria"
    return [*parts, f"{len(criteria)} {noun}: {', '.join(said)}"]


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _with_result(found: int, cases: int) -> str:
    """Say how many of the cases have a result."""
    if not found:
        return "no case has a result"
    if cases == 1:
        return "the case has a result"
    return f"{found} of {cases} cases {'has' if found == 1 else 'have'} a result"


def trust_of(rows: Sequence[CaseRow], concerns: Sequence[Concern], *, simulated: bool) -> str:
    """Say whether the numbers can be trusted; yes or no comes first."""
    measured = [row for row in rows if row.record is not None]
    lost = sum(row.record.outcome in WITHOUT_NUMBER for row in measured if row.record is not None)
    if simulated:
        return "No, not as numbers of a switch: a model made them."
    if not measured or lost == len(measured):
        return "There is no number that could be."
    if all(_functional(row) for row in measured):
        return "No, not as a speed: it shows that frames pass, and nothing of how fast."
    said = []
    if lost:
        said.append(f"{_of(lost, len(rows))} {_ended(measured)}, without a number")
    doubted = sum(_doubted(row) for row in measured)
    if doubted:
        why = next((one for one in concerns if one.doubt.word == Severity.SUSPECT.value), None)
        because = f": {_small(why.doubt.title)}{_in(why)}" if why else ""
        said.append(f"in {_of(doubted, len(rows))} there is a doubt{because}")
    others = [row for row in measured if _set_by_another(row)]
    ended = sum(_upper_end(row) for row in others)
    if bounds := len(others) - ended:
        least = "is a lower bound only, since it was not the switch that set it"
        said.append(f"in {_of(bounds, len(rows))} the number {least}")
    if ended:
        most = "the upper end need not be the switch's, which may do more"
        said.append(f"in {_of(ended, len(rows))} {most}")
    warned = [one for one in concerns if one.doubt.word == WARNING]
    if warned:
        which = "is a warning" if len(warned) == 1 else f"are {len(warned)} warnings, the first"
        said.append(f"there {which}: {_small(warned[0].doubt.title)}{_in(warned[0])}")
    if not said:
        return f"Yes: nothing speaks against them{_noted(concerns)}."
    first = "Partly" if lost else "With reservations"
    return f"{first}: {'; '.join(said)}."


def _noted(concerns: Sequence[Concern]) -> str:
    """Say that there are notes, with which numbers stand; nothing where there are none."""
    count = sum(one.doubt.word == Severity.NOTE.value for one in concerns)
    return f", and {count} {'note is' if count == 1 else 'notes are'} below" if count else ""


def _set_by_another(row: CaseRow) -> bool:
    """Whether something else than the switch set the number of a case, which may do more.

    Where no load held, or no number was found, there is none that could be one. A load that failed
    before the time ended is an upper bound of the switch, as comparisons take it.
    """
    if row.record is None or row.record.limit not in NOT_THE_SWITCH:
        return False
    if row.record.limit is Limit.BUDGET and _upper_end(row):
        return False
    first = next(iter(row.figures), None)
    if first is not None:
        return first.value is not None
    return not row.goals or row.goals[0].lower_fps is not None


def _upper_end(row: CaseRow) -> bool:
    """Whether its first number is an interval that ends at a load that failed."""
    return not row.figures and bool(row.goals) and row.goals[0].upper_fps is not None


def _ended(rows: Sequence[CaseRow]) -> str:
    found = {row.record.outcome for row in rows if row.record is not None}
    return " or ".join(f"ended {one.value}" for one in WITHOUT_NUMBER if one in found)


def _small(title: str) -> str:
    return f"{title[:1].lower()}{title[1:]}"


def _in(concern: Concern) -> str:
    return f" ({concern.cases})" if concern.cases else ""


def _of(some: int, cases: int) -> str:
    return "each case" if some == cases else f"{some} of {cases} cases"


def _doubted(row: CaseRow) -> bool:
    flags = row.record.flags if row.record is not None else ()
    return any(flag.severity is not Severity.NOTE for flag in flags)


def _functional(row: CaseRow) -> bool:
    return row.record is not None and any(flag in FUNCTIONAL_ONLY for flag in row.record.flags)
