"""Everything that can go wrong in a way a user can cause or mend, and the exit code it leads to.

An error says what is wrong, where, why, and how to fix it. Whatever else is raised is a bug of
vsperf, or of a driver of another package, and ends with exit code 70.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class ExitCode(enum.IntEnum):
    """How a vsperf command ended; `vsperf explain exit-codes` prints this table."""

    OK = 0
    CRITERION_MISSED = 1
    BAD_INPUT = 2
    NOT_READY = 3
    COMPONENT_FAILED = 4
    INVALID_RESULT = 5
    LEFT_BEHIND = 6
    BUG = 70
    INTERRUPTED = 130
    TERMINATED = 143

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "everything ran, and every criterion was met",
    ExitCode.CRITERION_MISSED: "a criterion was missed: of `expect:`, or that of `--fail-above`",
    ExitCode.BAD_INPUT: "a specification, an option or an argument is wrong; nothing was started",
    ExitCode.NOT_READY: "the testbed is not ready, or its machine too busy to measure on; `vsperf "
    "doctor` says what is missing",
    ExitCode.COMPONENT_FAILED: "a component (switch, VNF, generator) failed",
    ExitCode.INVALID_RESULT: "it ran, but a number cannot be trusted, or cannot answer a "
    "criterion; or the machine was too busy to tell, which `--anyway` leaves to table, report and "
    "JUnit",
    ExitCode.LEFT_BEHIND: "something may be left on the machine; run `vsperf clean`",
    ExitCode.BUG: "a bug in vsperf, or in a driver of the package that it names; please report it "
    "with the traceback file",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C; what was measured is stored",
    ExitCode.TERMINATED: "terminated by a signal; what was measured is stored",
}


@dataclass(frozen=True, slots=True)
class Location:
    """A place in something the user wrote; lines and columns count from 1."""

    source: str
    line: int | None = None
    column: int | None = None
    text: str | None = None
    """The line itself, for showing it with a caret."""

    def __str__(self) -> str:
        parts = [self.source, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: what, where, why, and how to fix it."""

    what: str
    where: Location | None = None
    why: str | None = None
    fix: str | None = None


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems by their lines, those of a file together, as their files come up first.

    What has no place comes before all of them.
    """
    found = list(problems)
    sources = list(dict.fromkeys(one.where.source for one in found if one.where is not None))

    def place(problem: Problem) -> tuple[int, int, int]:
        where = problem.where
        if where is None:
            return -1, 0, 0
        return sources.index(where.source), where.line or 0, where.column or 0

    return sorted(found, key=place)


class VsperfError(Exception):
    """Base of all errors that are shown without a traceback."""

    exit_code = ExitCode.COMPONENT_FAILED

    def __init__(
        self,
        what: str,
        *,
        where: Location | None = None,
        why: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(what)
        self.problems: tuple[Problem, ...] = (Problem(what, where, why, fix),)

    @classmethod
    @contextmanager
    def if_refused(
        cls, what: str, *, where: Location | None = None, fix: str | None = None
    ) -> Iterator[None]:
        """Raise such an error where the system refuses what is done within, with its words."""
        try:
            yield
        except OSError as error:
            raise cls(what, where=where, why=error.strerror or str(error), fix=fix) from error

    @property
    def with_why(self) -> str:
        """What happened, and why if that is known, in one line."""
        why = self.problems[0].why
        return str(self) if why is None else f"{self}: {why}"


class SpecError(VsperfError):
    """What the user wrote is wrong; carries all problems found, not only the first."""

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, problems: Iterable[Problem]) -> None:
        found = tuple(problems)
        super().__init__("; ".join(problem.what for problem in found))
        self.problems = found


class UsageError(VsperfError):
    """A command cannot do what was asked of it."""

    exit_code = ExitCode.BAD_INPUT


class NotReadyError(VsperfError):
    """The testbed lacks something that the run needs."""

    exit_code = ExitCode.NOT_READY


class ComponentError(VsperfError):
    """A switch, guest or generator failed."""

    exit_code = ExitCode.COMPONENT_FAILED


class DiedError(ComponentError):
    """A part ended in the middle of a measurement; on a fresh deployment it may go well."""


class PathError(ComponentError):
    """Frames do not arrive where they should; found before any search starts."""


class PathLostError(PathError):
    """Frames arrived at first, and do so no more: nobody knows since when."""


class InvalidTrialError(VsperfError):
    """A trial stayed invalid after all its retries, so no search may build on it."""

    exit_code = ExitCode.INVALID_RESULT


class StoreError(VsperfError):
    """A run folder cannot be read or written."""

    exit_code = ExitCode.BAD_INPUT


class RecordingError(StoreError):
    """What was measured cannot be written down, so a run has to stop."""

    exit_code = ExitCode.COMPONENT_FAILED
