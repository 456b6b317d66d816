"""A place that is attacked: runs with deployments of their own, and what they leave anywhere."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from attacker import give
from real_runs import Place, Run
from traps import lay

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
        hit = False
        for pid in [pid for pid, known in self.programs().items() if known == name]:
            started = start_ticks(pid)
            with suppress(ProcessLookupError):
                descriptor = os.pidfd_open(pid)
                try:
                    if started and self.programs().get(pid) == name and started == start_ticks(pid):
                        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                        hit = True
                finally:
                    os.close(descriptor)
        return hit

    def traces(self) -> list[str]:
        return [*super().traces(), *self._named(), *self._hugepages(), *self._reports()]

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
