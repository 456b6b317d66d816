"""A pool of hugepages of one size on one node, and claims on it: what each run counts on and added.

Runs that take place at once share the ledger of a pool, which is read and written under the pool's
lock. A page that one run counts on is no other run's, used or not. What was added stays as long as
a claim needs it, whoever added it, and the last claim takes all of it back. Other programs change
the pool, too. So it is never set to a number from before: what was added is subtracted, and no page
that somebody uses is taken.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from pydantic import Field, NonNegativeInt, ValidationError

from vsperf.host.owner import Owner
from vsperf.host.procfs import boot_id
from vsperf.records.base import Record
from vsperf.records.files.folders import lock
from vsperf.trust import trusted
from vsperf.waits import sleep

FREED_S = 1.0
"""Time for the kernel to free the pages of a program that has just ended."""
POLL_S = 0.01
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


class Ledger(Record):
    """What runs have to do with a pool; there is no file of it where they have nothing."""

    boot: str | None
    """The kernel's name of the boot in which it was written; the next one has other pages."""
    total: NonNegativeInt | None = None
    """Pages of the pool when this was written."""
    claims: dict[Path, NonNegativeInt] = Field(default_factory=dict)
    """Pages by claim, a name below the folder of the workspace that counts on them."""
    others: NonNegativeInt = 0
    """Pages that programs without a claim use, as far as can be told."""
    added: NonNegativeInt = 0
    """Pages that runs added and have not taken back."""
    changing: tuple[int, int] | None = None
    """Pages before and after a change that was begun; how far it came shows in the pool."""

    @classmethod
    def of(cls, path: Path, pool: Pool) -> Self:
        """Return what is written down, as it is true by now; an empty ledger if there is no file.

        Raises OSError where there is one that does not say it.
        """
        boot = boot_id()
        try:
            found = cls.model_validate_json(trusted.read(path))
        except (FileNotFoundError, PermissionError):  # none, or none of this user's
            found = cls(boot=boot)
        except (OSError, ValidationError) as error:
            why = error.strerror or str(error) if isinstance(error, OSError) else "it is damaged"
            raise OSError(
                f"{path}, which says what was added, cannot be read ({why}); if it is removed, "
                "what the journals say of that counts"
            ) from error
        return (found if found.boot == boot else cls(boot=boot)).seen(pool)

    @property
    def claimed(self) -> int:
        """Pages that runs count on."""
        return sum(self.claims.values())

    def available(self, pool: Pool) -> int:
        """Return how many pages nobody uses or counts on; below 0, how many are missing."""
        return pool.total - self.others - self.claimed

    def seen(self, pool: Pool) -> Self:
        """Return what is true now: a change that was begun is over, and dead runs claim nothing."""
        total = pool.total
        added = self.added
        if self.changing is not None:
            low, high = sorted(self.changing)
            added += min(max(total, low), high) - self.changing[0]
        elif not self.claims and self.total != total:
            added = 0  # somebody has set the number since the last run ended, and shall have it
        claims = {name: pages for name, pages in self.claims.items() if _lives(name.parent)}
        used = max(0, total - pool.free)
        return self.model_copy(
            update={
                "claims": claims,
                "others": min(max(self.others, used - sum(claims.values())), used),
                "added": min(max(0, added), total),
                "changing": None,
            }
        )

    def with_claim(self, name: Path, pages: int) -> Self:
        return self.model_copy(update={"claims": {**self.claims, name: pages}})

    def without(self, name: Path | None) -> Self:
        rest = {other: pages for other, pages in self.claims.items() if other != name}
        return self.model_copy(update={"claims": rest})

    def resize(self, pool: Pool, pages: int, path: Path) -> Self:
        """Ask for so many pages, so that a kill at any moment can be made good; write it down."""
        begun = self.model_copy(update={"changing": (pool.total, pages)}).write(path, pool)
        pool.resize(pages)
        return begun.seen(pool).write(path, pool)

    def write(self, path: Path, pool: Pool) -> Self:
        """Write it down, at once and whole."""
        written = self.model_copy(update={"total": pool.total})
        trusted.replace(path, written.model_dump_json().encode(), alone=True)
        return written


def release(
    pool: Pool, path: Path, name: Path | None = None, grown: tuple[int, int] | None = None
) -> None:
    """Drop a claim and take back what no other claim needs; doing so again does nothing more.

    `grown` are the pages of the pool before and after the run added some, in case that the ledger
    is gone. Where others use pages that were added, those stay in the ledger until somebody asks
    again. Raises OSError where it is there and cannot be read.
    """
    if not pool.folder.is_dir():
        path.unlink(missing_ok=True)
        return
    with pool.locked():
        ledger = Ledger.of(path, pool).without(name)
        if grown is not None and not path.exists():
            trusted.make_folder(path.parent)
            added = min(max(0, pool.total - grown[0]), grown[1] - grown[0])
            ledger = ledger.model_copy(update={"added": added})
        ledger = _lower(ledger, pool, path)
        if ledger.claims or ledger.added:
            ledger.write(path, pool)
            return
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}.new").unlink(missing_ok=True)
        with suppress(OSError):  # others are in it
            path.parent.rmdir()


def _lower(ledger: Ledger, pool: Pool, path: Path) -> Ledger:
    total, rest = pool.total, ledger.claimed
    least = max(0, total - ledger.added)
    used = _wait_for_use(pool, max(least, ledger.others + rest) if rest else least)
    needed = min(ledger.others, used) + rest if rest else used
    pages = max(least, needed, used)
    return ledger.resize(pool, pages, path) if pages < total else ledger


def _wait_for_use(pool: Pool, most: int) -> int:
    """Return how many pages are used, once they are few enough or it has taken too long."""
    deadline = time.monotonic() + FREED_S
    while (used := pool.total - pool.free) > most and time.monotonic() < deadline:
        sleep(POLL_S)
    return max(0, used)


def _lives(folder: Path) -> bool:
    """Whether a workspace is there whose run goes on, or which was kept."""
    owner = Owner.of(folder)
    return owner is not None and owner.same_boot and (owner.alive or owner.kept)
