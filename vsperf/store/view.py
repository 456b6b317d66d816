"""The one way in which readers see runs: one case at a time, whatever a run holds.

`open_run` looks through a record file once and notes where things lie. Its cases come in planned
order, also those that never began, each with its last attempt. Trials are read when somebody
looks at them, and only those of one case are held at a time: a reader that asks for records alone
never pays for trials. A line that is looked at is validated; one that is not looked at is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vsperf.asked import Asked
from vsperf.record.result import SearchResult
from vsperf.record.run import (
    CaseRecord,
    CaseStart,
    Outcome,
    PlannedCase,
    RunEnd,
    RunHeader,
    RunResume,
)
from vsperf.record.second import Second
from vsperf.record.trial import Trial
from vsperf.record.turns import Round
from vsperf.store.folders import RECORDS
from vsperf.store.locks import is_locked
from vsperf.store.reader import RunState
from vsperf.store.spans import RecordFile, StoredRounds, StoredSeconds, StoredTrials


@dataclass(frozen=True, slots=True)
class CaseView:
    """A planned case with its last attempt; a case that never began has neither start nor record.

    A plain tuple will do for `trials` and `seconds`.
    """

    folder: Path
    header: RunHeader
    planned: PlannedCase
    start: CaseStart | None = None
    """None for a case that never began, or was over before, such as a skipped one."""
    record: CaseRecord | None = None
    """None when it did not come to an end."""
    trials: Sequence[Trial] = ()
    """Of the last attempt. Of stored ones only those of one case are held at a time; going through
    another case's and back reads them again."""
    seconds: Collection[Second] = ()
    """Of long trials of the last attempt; of stored ones each look reads anew."""
    rounds: Collection[Round] = ()
    """In which switches took turns, of the last attempt; of stored ones each look reads anew."""
    attempt: int = 0
    """How often it was tried; 0 is not yet."""
    abandoned: int = 0
    """Trials of attempts that the last one replaced."""
    refuted: str = ""
    """Why it counts as not finished although it came to an end: it went by a cap of the generator
    that another case refutes, and has no record here."""

    @property
    def run(self) -> str:
        """The run's id."""
        return self.header.run

    @property
    def key(self) -> str:
        """What tells the case from all others of its run."""
        return self.planned.key

    @property
    def label(self) -> str:
        """The case for people, such as phy2phy_tput-64B."""
        return self.planned.label

    @property
    def asked(self) -> Asked:
        """What it was asked."""
        return Asked(self.planned)

    @property
    def testcase(self) -> str:
        """Name of its testcase, such as phy2phy_tput."""
        return self.asked.name

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None if it did not."""
        return self.record.outcome if self.record else None

    @property
    def result(self) -> SearchResult | None:
        """What was found; None if nothing was."""
        return self.record.result if self.record else None

    @property
    def over(self) -> bool:
        """Whether nothing is left to do for it; an aborted case is tried again on resume."""
        return self.record is not None and self.record.outcome is not Outcome.ABORTED

    @property
    def simulated(self) -> bool:
        """Whether its numbers come from a model."""
        return self.header.simulated

    @property
    def labels(self) -> Mapping[str, str]:
        """What the user called the run, such as a git revision."""
        return self.header.labels


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as far as it came, without its cases."""

    folder: Path
    header: RunHeader
    state: RunState
    end: RunEnd | None = None
    """None if the run, or its last resumption, did not come to its end."""
    resumes: tuple[RunResume, ...] = ()
    torn: bool = False
    """Whether the last line was cut off; nothing of it is counted."""
    file: RecordFile | None = None
    """None of a run that lies nowhere, such as one of a test: it has no cases to go through."""

    @property
    def run(self) -> str:
        """The run's id."""
        return self.header.run

    @property
    def simulated(self) -> bool:
        """Whether its numbers come from a model."""
        return self.header.simulated

    @property
    def labels(self) -> Mapping[str, str]:
        """What the user called the run, such as a git revision."""
        return self.header.labels

    def cases(self) -> Iterator[CaseView]:
        """Yield its cases in planned order, those that never began too."""
        if self.file is not None:
            yield from (self._of(planned, self.file) for planned in self.header.cases)

    def case(self, planned: PlannedCase) -> CaseView:
        """Return one of the cases that its header announces."""
        if self.file is None:
            return CaseView(self.folder, self.header, planned)
        return self._of(planned, self.file)

    def unfinished(self) -> tuple[PlannedCase, ...]:
        """Return the planned cases that still have to be run, in planned order."""
        return tuple(case.planned for case in self.cases() if not case.over)

    def _of(self, planned: PlannedCase, file: RecordFile) -> CaseView:
        key = planned.key
        return CaseView(
            folder=self.folder,
            header=self.header,
            planned=planned,
            start=file.start_of(key),
            record=None if key in file.refuted else file.record_of(key),
            trials=StoredTrials(file, key),
            seconds=StoredSeconds(file, key),
            rounds=StoredRounds(file, key),
            attempt=file.spans[key].attempts,
            abandoned=file.spans[key].abandoned,
            refuted=file.refuted.get(key, ""),
        )


def open_run(folder: Path) -> RunView:
    """Look through the run in `folder`; a torn last line is tolerated."""
    being_written = is_locked(folder / RECORDS)
    file = RecordFile.scan(folder)
    ended = RunState.INTERRUPTED if file.end is None else RunState.FINISHED
    return RunView(
        folder=folder,
        header=file.header,
        state=RunState.RUNNING if being_written else ended,
        end=file.end,
        resumes=tuple(file.resumes),
        torn=file.torn,
        file=file,
    )


def views(folder: Path) -> Iterator[CaseView]:
    """Yield the cases of the run in `folder` in planned order, those that never began too."""
    yield from open_run(folder).cases()
