"""Runs that take hours in all, such as comparisons: each is kept, and is not made again.

A folder has one for each of them, with the results of vsperf and what was asked. Whoever is
interrupted goes on with those that are missing.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from common import say, vsperf_run

from vsperf.errors import ComponentError, UsageError, VsperfError
from vsperf.records.files.folders import run_folders
from vsperf.records.files.view import RunView, open_run
from vsperf.records.turn_ratios import compared
from vsperf.records.turns import CONTROL, Round, Terms, answering

REFERENCE = Path(__file__).resolve().parent / "reference"
"""Where the reference DUT is a switch."""
MADE = "made.json"
MOST_FAILED = 3
"""So many on end are no accident."""
BUSY_LOOP = "while :; do timeout 1 sh -c 'while :; do :; done'; sleep {rest_s:g}; done"


@dataclass(frozen=True)
class Made:
    """A comparison that was made."""

    seconds: float
    """From the start of vsperf to its end."""
    rounds: tuple[Round, ...]
    terms: Terms

    @property
    def control_differs(self) -> bool:
        """Whether the first switch came out as another than itself, so that nothing is believed."""
        found = compared(self.rounds, CONTROL, terms=self.terms)
        return found is not None and found.different


@dataclass
class Kept:
    """A folder of comparisons, or of other runs."""

    folder: Path
    what: str = "comparison"
    failed: int = field(default=0, init=False)
    """On end."""

    def had(
        self, name: str, words: Sequence[str], beside: AbstractContextManager[None] | None = None
    ) -> Made | None:
        """Return a comparison, which is made unless it is there; None where that fails."""
        if (kept := self.run(name, words, beside)) is None:
            return None
        view, seconds = kept
        (case,) = view.cases()
        terms = Terms.of(case.asked.section("search"))
        return Made(seconds, answering(case.rounds), terms)

    def run(
        self, name: str, words: Sequence[str], beside: AbstractContextManager[None] | None = None
    ) -> tuple[RunView, float] | None:
        """Return a run and how long it took, likewise."""
        if (found := self._made(name, words)) is None:
            self._make(name, words, beside or nullcontext())
            found = self._made(name, words)
        return found

    def _made(self, name: str, words: Sequence[str]) -> tuple[RunView, float] | None:
        """Return one; None where it was not made, and an error where another was."""
        try:
            found = json.loads((self.folder / name / MADE).read_text())
        except FileNotFoundError:
            return None
        if found["words"] != list(words):
            raise UsageError(
                f"{self.folder / name} has a {self.what} that was asked otherwise",
                why=f"it was asked {' '.join(found['words'])}",
                fix="--folder with the name of a new one, or the options of before",
            )
        *_, last = run_folders(self.folder / name)
        return open_run(last), found["seconds"]

    def _make(self, name: str, words: Sequence[str], beside: AbstractContextManager[None]) -> None:
        """Make one.

        One that fails is told, and made when all is called once more.
        """
        began = time.monotonic()
        try:
            with (
                beside,
                vsperf_run(self.folder / name, "--wait=10m", *words, packages=REFERENCE) as run,
            ):
                for _event in run[1]:
                    pass  # until it has ended
        except VsperfError as error:
            self.failed += 1
            say(f"{name} failed: {error.with_why}")
            if self.failed >= MOST_FAILED:
                raise ComponentError(
                    f"{self.failed} {self.what}s failed, one after the other",
                    why=error.with_why,
                    fix="`vsperf doctor` looks at the machine, and `vsperf clean` tidies it",
                ) from error
            return
        self.failed = 0
        found = {"words": list(words), "seconds": time.monotonic() - began}
        part = self.folder / name / f"{MADE}.part"
        part.write_text(json.dumps(found) + "\n")
        part.rename(part.with_suffix(""))  # whoever is killed amid it has not made it


@contextmanager
def kept_in(folder: str, what: str = "comparison") -> Iterator[Kept]:
    """Keep comparisons in a folder; without a name only until they have been looked at."""
    with ExitStack() as stack:
        yield Kept(Path(folder or stack.enter_context(TemporaryDirectory())), what)


@contextmanager
def busily(number: int, rest_s: float) -> Iterator[None]:
    """Let so many programs run on any CPU, which rest after each second, and end with this one."""
    argv = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", BUSY_LOOP.format(rest_s=rest_s))
    with ExitStack() as stack:
        for _ in range(number):
            process = stack.enter_context(subprocess.Popen(argv))  # noqa: S603 - our own
            stack.callback(process.kill)
        yield


def list_of(switches: Sequence[str]) -> str:
    """Return the words for switches, each of them as settings."""
    return f"--set=vswitch=[{', '.join(f'{{{one}}}' for one in switches)}]"
