"""A place that is attacked: runs with deployments of their own, and what they leave anywhere."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
from attacker import give
from real_runs import Place, Run
from traps import lay, sprung

from vsperf.host.claims import Ledger
from vsperf.host.hugepages import HostMemory, read_pools
from vsperf.host.procfs import start_ticks
from vsperf.records.files.folders import RECORDS, run_folders
from vsperf.records.files.view import RunView, open_run

NAMED = (
    Path("/run"),
    Path("/run/dpdk"),
    Path("/run/netns"),
    Path("/sys/class/net"),
    Path("/dev/shm"),
    *sorted(Path("/dev").glob("hugepages*")),
)
"""Folders in which things may be that are named after a deployment."""


@dataclass
class Arena(Place):
    """A place whose runs are killed, called where somebody else has put what nobody may take."""

    wrapped: tuple[str, ...] = ()
    """What comes before every command, such as one that enters a namespace."""
    view: Path = field(default=Path("/"))
    """The root folder as those commands see it."""
    pages_before: dict[Path, int] = field(default_factory=dict)
    """Hugepages that there were before, by pool; empty where nobody counts them."""

    def __post_init__(self) -> None:
        self.temporary.mkdir(parents=True, exist_ok=True)
        self.called_in.mkdir(exist_ok=True)
        lay(self.called_in)
        if os.geteuid() == 0:
            give(self.called_in)

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def called_in(self) -> Path:
        return self.folder / "theirs"

    @property
    def environ(self) -> dict[str, str]:
        own = {"TMPDIR": self.temporary, "VSPERF_RESULTS": self.results}
        return super().environ | {name: str(path) for name, path in own.items()}

    def start(self, *arguments: str, wrapped: tuple[str, ...] = (), **more: str) -> Run:
        return super().start(*arguments, wrapped=(*self.wrapped, *wrapped), **more)

    @property
    def seen_results(self) -> Path:
        """The results as everybody sees them."""
        return self.view / self.results.relative_to("/")

    def stored(self) -> RunView | None:
        """Return the one run of this place; None when it was killed before there was any."""
        for folder in run_folders(self.seen_results):
            with suppress(FileNotFoundError):
                if b"\n" in (folder / RECORDS).read_bytes():
                    return open_run(folder)
        return None

    def kill(self, name: str) -> bool:
        """Kill the program of the deployment that is called so, itself and no other."""
        pids = [pid for pid, known in self.programs().items() if known == name]
        return any([_kill(pid, name, self.programs) for pid in pids])  # noqa: C419 - all of them

    def kill_beside(self, run: Run, parts: Container[str]) -> str | None:
        """Kill something else that a run has started, and return what it is called; None if none.

        It is no part of what is measured: it mirrors frames, or tells what a program can do.
        """
        there = partial(self.beside, run, parts)
        return next((name for pid, name in there().items() if _kill(pid, name, there)), None)

    def beside(self, run: Run, parts: Container[str]) -> dict[int, str]:
        """Return what a run has started beside some parts of its deployment: names by numbers."""
        found = {}
        with suppress(psutil.Error):
            process = psutil.Process(run.process.pid)
            own, marked = process.cmdline(), self.programs()
            for child in process.children(recursive=True):
                with suppress(psutil.Error):
                    words, part = child.cmdline(), marked.get(child.pid)
                    if words in ([], own) or (part is not None and part in parts):
                        continue  # it has ended, or not yet begun, or is meant by its name
                    found[child.pid] = part or Path(words[0]).name
        return found

    def traces(self) -> list[str]:
        found = [*super().traces(), *self._named(), *self._hugepages(), *self._reports()]
        return found + [f"{trap} of another user was run" for trap in sprung(self.called_in)]

    def _named(self) -> Iterator[str]:
        """Yield what carries the name of a deployment of this place."""
        begins = tuple(f"vsperf-{run.process.pid}-" for run in self.runs)
        for folder in NAMED:
            with suppress(OSError):
                yield from (str(path) for path in folder.iterdir() if path.name.startswith(begins))
        for link in Path("/sys/class/net").glob("vsp*"):
            with suppress(OSError):
                if (link / "ifalias").read_text().startswith(begins):
                    yield f"tap {link.name}"

    def _hugepages(self) -> Iterator[str]:
        """Yield claims of this place, and pages that were not there and that nobody claims."""
        for pool in read_pools():
            path = HostMemory().ledger(pool)
            ledger = Ledger.of(path, pool)
            if any(claim.is_relative_to(self.runtime) for claim in ledger.claims):
                yield f"a claim in {path}"
            before = self.pages_before.get(pool.folder)
            if before is not None and not ledger.claims and pool.total > before:
                yield (
                    f"{pool.total} pages in {pool.folder}, which had {before}; {path} says that "
                    f"runs added {ledger.added}"
                )

    def _reports(self) -> Iterator[str]:
        """Yield what vsperf wrote of bugs of its own."""
        for report in self.temporary.glob("vsperf-bug-*"):
            yield f"bug: {report.read_text().strip().splitlines()[-1]}"


def _kill(pid: int, name: str, there: Callable[[], dict[int, str]]) -> bool:
    """Kill a process if it is still called so; its number may be another's by now."""
    started = start_ticks(pid)
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            if started and there().get(pid) == name and started == start_ticks(pid):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                return True
        finally:
            os.close(descriptor)
    return False
