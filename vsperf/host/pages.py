"""One pool of hugepages: those of one size on one memory node, and how a raise is taken back.

Other runs and other programs change the same number. So nothing is ever set to a value from before:
what was added is subtracted, and no page that somebody uses is taken.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from vsperf.record.base import Record

FREED_S = 1.0
"""Time for the kernel to free the pages of a program that has just ended."""
POLL_S = 0.01


class Pool(Record):
    """The pages of one size on one node, by their folder in sysfs."""

    node: int
    page_bytes: int
    folder: Path

    @property
    def total(self) -> int:
        """Pages that the kernel holds ready, used ones included."""
        return int((self.folder / "nr_hugepages").read_text())

    @property
    def free(self) -> int:
        """Pages that nobody uses."""
        return int((self.folder / "free_hugepages").read_text())

    @property
    def writable(self) -> bool:
        """Whether this user may change the number of pages."""
        return os.access(self.folder / "nr_hugepages", os.W_OK, effective_ids=True)

    def resize(self, pages: int) -> None:
        """Ask the kernel for so many pages; it may give fewer."""
        (self.folder / "nr_hugepages").write_text(f"{pages}\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs from changing the number meanwhile."""
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class Ledger(Record):
    """What a run has to do with a pool, so that it is taken back once and only once."""

    pool: Pool
    before: int
    """Pages before the raise."""
    wanted: int
    """Pages to add."""
    added: int | None = None
    """Pages that were added; None until that is known for sure."""
    lowering: tuple[int, int] | None = None
    """Taking back has begun: from how many pages to how many."""

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return what was written down; None when all has been taken back."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def write(self, path: Path) -> Self:
        """Write it down, at once and whole."""
        new = path.with_suffix(".new")
        new.write_text(self.model_dump_json())
        new.replace(path)
        return self

    def with_(self, **changes: object) -> Self:
        """Return a changed copy."""
        return self.model_copy(update=changes)


def give_back(path: Path) -> None:
    """Take back what the ledger at `path` says was added; doing so again does nothing."""
    ledger = Ledger.read(path)
    if ledger is None or not ledger.pool.folder.is_dir():
        path.unlink(missing_ok=True)
        return
    pool = ledger.pool
    with pool.locked():
        if ledger.lowering is None:
            total = pool.total
            added = ledger.added
            if added is None:  # killed in the middle of adding
                added = min(max(total - ledger.before, 0), ledger.wanted)
            spare = _wait_for_free(pool, added)
            ledger = ledger.with_(lowering=(total, total - spare)).write(path)
        if ledger.lowering is not None and pool.total == ledger.lowering[0]:
            pool.resize(ledger.lowering[1])
        path.unlink(missing_ok=True)


def _wait_for_free(pool: Pool, pages: int) -> int:
    """Return how many of `pages` nobody uses, after a moment for those that just ended."""
    deadline = time.monotonic() + FREED_S
    while (free := pool.free) < pages and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return min(free, pages)
