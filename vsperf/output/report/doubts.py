"""What there is to worry about, gravest first: flags, warnings, limits and criteria in plain words.

The texts are those of `vsperf explain`, so that a word means the same wherever it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from vsperf.analysis.summary import CaseRow
from vsperf.output.case_tables import LEVEL_MARKS, MOST_WARNINGS
from vsperf.output.report.page import Concern, Criterion, Doubt, Standing
from vsperf.quantities.human import counted
from vsperf.records.flags import Flag, Severity
from vsperf.records.meaning import LEVELS, LIMITED_BY, LIMITS, OUTCOMES, SEVERITIES, STANDARDS
from vsperf.records.result import Compliance, Level, Limit
from vsperf.records.run import CaseRecord, Outcome

FLAG_WEIGHTS = {Severity.INVALID: 2, Severity.SUSPECT: 3, Severity.NOTE: 7}
ENDS = (Outcome.ERROR, Outcome.INVALID, Outcome.FAIL, Outcome.ABORTED, Outcome.SKIP)
NOT_THE_SWITCH = (
    Limit.GENERATOR, Limit.SERVER, Limit.VNF, Limit.HOST, Limit.UNCOUNTED, Limit.BUDGET,
    Limit.UNKNOWN,
)  # fmt: skip
WORDS = {True: "met", False: "MISSED", None: "open"}
WARNING = "warning"
SHOWN = 3


def doubts_of(row: CaseRow) -> tuple[Doubt, ...]:
    """Return all that speaks against the numbers of a case, gravest first."""
    if row.record is None:
        return ()
    found = [*_ending(row.record), *_limited(row.record)]
    found += [_flagged(flag) for flag in row.record.flags]
    found += _warned(row.record)
    return tuple(sorted(dict.fromkeys(found), key=lambda doubt: doubt.weight))


def _warned(record: CaseRecord) -> Iterator[Doubt]:
    """Yield the first warnings, and how many more there are."""
    every = dict.fromkeys(record.warnings)
    for text in islice(every, MOST_WARNINGS):
        yield Doubt(4, WARNING, _begin(text), text)
    if (more := len(every) - MOST_WARNINGS) > 0:
        yield Doubt(4, WARNING, counted(more, "more warning"), "An export as JSON has all of them.")


def _begin(text: str) -> str:
    """Return a warning as a title: its first sentence."""
    return text.partition(". ")[0].rstrip(".")


def _ending(record: CaseRecord) -> Iterator[Doubt]:
    if record.outcome in ENDS:
        text = f"{OUTCOMES[record.outcome]} {record.reason}".strip()
        yield Doubt(1, record.outcome.value, record.reason or text, text, record.outcome.value)


def _limited(record: CaseRecord) -> Iterator[Doubt]:
    if record.limit in NOT_THE_SWITCH:
        limit = Limit(record.limit)
        title = f"Limited by {LIMITED_BY[limit]}, and not by the switch"
        if limit is Limit.UNKNOWN:
            title = "What limited the result cannot be told"
        yield Doubt(3, "limit", title, LIMITS[limit], limit.value)


def _flagged(flag: Flag) -> Doubt:
    """Return what a flag means, and what to do about it."""
    text = f"{flag.meaning} ({flag.severity.value}: {SEVERITIES[flag.severity]})"
    weight = FLAG_WEIGHTS[flag.gravity]
    return Doubt(weight, flag.severity.value, flag.gist, text, flag.value, flag.remedy)


def standing_of(item: Compliance) -> Standing:
    """Return how a case stands to a standard, with what keeps it from complying."""
    return Standing(
        item.standard.value,
        STANDARDS[item.standard],
        item.level.value,
        LEVEL_MARKS[item.level],
        LEVELS[item.level],
        item.deviations,
    )


def criteria_of(record: CaseRecord | None, label: str = "") -> tuple[Criterion, ...]:
    """Return what was asked of the numbers of a case, and the answers."""
    return tuple(
        Criterion(WORDS[check.met], check.criterion, check.found, label)
        for check in (record.checks if record is not None else ())
    )


def held_text(rows: Sequence[CaseRow]) -> str:
    """Say of how many cases that is said: those without a result comply with nothing."""
    counts = Counter(
        item.standard.value for row in rows if row.record for item in row.record.compliance
    )
    alike: dict[int, list[str]] = {}
    for standard, count in counts.items():
        if count < len(rows):
            alike.setdefault(count, []).append(standard)
    return "".join(
        f" Only {count} of {len(rows)} cases {'was' if count == 1 else 'were'} held against "
        f"{', '.join(standards)}."
        for count, standards in alike.items()
    )


@dataclass(slots=True)
class Concerns:
    """Doubts and standings over all cases, each once with the cases that it is about."""

    cases: int = 0
    """With a result."""
    _doubts: dict[Doubt, list[str]] = field(default_factory=dict)
    _standings: dict[Compliance, list[str]] = field(default_factory=dict)

    def add(self, row: CaseRow, label: str) -> tuple[Doubt, ...]:
        """Take in what is to be said of a case, and return it."""
        found = doubts_of(row)
        self.cases += row.record is not None
        for doubt in found:
            self._doubts.setdefault(doubt, []).append(label)
        for item in row.record.compliance if row.record is not None else ():
            self._standings.setdefault(item, []).append(label)
        return found

    def all(self) -> tuple[Concern, ...]:
        """Return the doubts, gravest first, those about most cases first among equals."""
        order = sorted(self._doubts.items(), key=lambda pair: (pair[0].weight, -len(pair[1])))
        return tuple(Concern(doubt, self._which(labels)) for doubt, labels in order)

    def standings(self) -> tuple[tuple[Standing, str], ...]:
        """Return how cases stand to standards, by standard."""
        levels = list(Level)
        order = sorted(
            self._standings.items(),
            key=lambda pair: (pair[0].standard.value, levels.index(pair[0].level)),
        )
        return tuple((standing_of(item), self._which(labels)) for item, labels in order)

    def _which(self, labels: list[str]) -> str:
        unique = list(dict.fromkeys(labels))
        if len(labels) == self.cases:
            return ""
        if len(unique) <= SHOWN:
            return ", ".join(unique)
        return f"{unique[0]} and {len(unique) - 1} others"
