"""One pool of hugepages: those of one size on one memory node, as the kernel shows them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vsperf.records.base import Record
from vsperf.records.files.folders import lock

LOCK_S = 60.0
"""Patience with runs that change the number: one of them may be stopped, or its container frozen,
and while something is undone no Ctrl-C ends a wait."""


class Pool(Record):
    """The pages of one size on one node, by their folder in sysfs."""

    node: int
    page_bytes: int
    folder: Path

    @property
    def ledger_name(self) -> str:
        """The name of the file in which runs write down what they claim of it."""
        return f"hugepages-{self.node}-{self.page_bytes}.json"

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
        """Keep other runs from changing the number meanwhile; raises OSError where one hangs."""
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not lock(descriptor, exclusive=True, wait_s=LOCK_S):
                why = f"another run has been changing the number of hugepages for {LOCK_S:g} s"
                raise OSError(errno.ETIMEDOUT, why, str(self.folder))
            yield
        finally:
            os.close(descriptor)
