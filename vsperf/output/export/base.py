"""What a format is: it turns runs into the content of one file or of several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, ClassVar

from vsperf.records.files.view import CaseView, RunView

Watch = Callable[[Iterator[CaseView]], Iterator[CaseView]]
"""What cases go through on their way to a format, so that somebody can see how far it is."""


class Format(ABC):
    """A form in which runs are written; `vsperf.exports` is the entry point group."""

    summary: ClassVar[str]
    """One line for lists."""
    tables: ClassVar[Mapping[str, str]]
    """What it makes, by name → the name of its file; often only one."""

    binary: ClassVar[bool] = False
    """Whether it is nothing for a terminal."""

    @abstractmethod
    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        """Write the tables that have an output; one case at a time, in the order given."""


def text_of(output: BinaryIO, content: str) -> None:
    """Write text as all text of exports is written."""
    output.write(content.encode("utf-8", "backslashreplace"))


def all_cases(runs: Sequence[RunView]) -> Iterator[CaseView]:
    """Yield the cases of all runs in turn."""
    for run in runs:
        yield from run.cases()
