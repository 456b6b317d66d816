"""The files of series in a run's folder: `series/CASE/ATTEMPT/COLLECTOR.jsonl`.

They are written by appending whole lines, by vsperf or by a program of a collector, and read one
line at a time. A last line that was cut off is not counted.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import Location, RecordingError, StoreError
from vsperf.records.files import lines
from vsperf.records.files.reader import why_unreadable
from vsperf.records.series import (
    SERIES_LINE,
    Note,
    OwnExchange,
    OwnTrial,
    Sample,
    SeriesHeader,
    SeriesLine,
)
from vsperf.trust import trusted
from vsperf.trust.named_files import written
from vsperf.trust.plain_json import refuse_wild_numbers

FOLDER = "series"
SUFFIX = ".jsonl"
MOST_QUANTITIES = 4_000
"""Of a file that is read: each name of each sample is looked for among them."""


def series_folder(run: Path, case: str, attempt: int) -> Path:
    """Return where the series of an attempt at a case lie."""
    return run / FOLDER / case / str(attempt)


@dataclass(frozen=True, slots=True)
class SeriesFile:
    """One collector's file while it is written."""

    path: Path

    @classmethod
    def begin(cls, run: Path, header: SeriesHeader) -> SeriesFile:
        """Make the file with its header; one that is there is gone on with."""
        folder = series_folder(run, header.case, header.attempt)
        made = cls(folder / f"{header.collector}{SUFFIX}")
        with made._writing():
            with trusted.reached(folder, make=True):
                pass
            new = not made.path.exists()
        if new:
            made.append(header)
        return made

    def append(self, *found: SeriesLine) -> None:
        """Write lines, all in one call."""
        content = b"".join(SERIES_LINE.dump_json(one) + b"\n" for one in found)
        with self.opened() as descriptor, self._writing():
            _write_whole(descriptor, content)

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """Give a descriptor by which to append to it, and to nothing that others put there."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with self._writing():
            descriptor = trusted.open_plain(self.path, flags)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def write_beside(self, ending: str, text: str) -> Path:
        """Write another file of this collector, such as its `.svg`; return its path."""
        path = self.path.with_suffix(ending)
        with self._writing(), written(path) as file:
            file.write(text.encode(errors="backslashreplace"))
        return path

    def _writing(self) -> contextlib.AbstractContextManager[None]:
        return RecordingError.if_refused(
            f"the series of {self.path.stem} cannot be written",
            where=Location(str(self.path)),
            fix="make room on the disk, or collect nothing: --set collect=none",
        )


def _write_whole(descriptor: int, content: bytes) -> None:
    """Write it in one call, or leave the file as it was."""
    size, written = os.fstat(descriptor).st_size, 0
    try:
        while written < len(content):
            written += os.write(descriptor, content[written:])
    except OSError:
        if written:
            os.ftruncate(descriptor, size)
        raise


@dataclass(frozen=True, slots=True)
class StoredSeries:
    """One collector's file; what is in it is read when somebody looks."""

    path: Path
    header: SeriesHeader

    def samples(self, since: int = 0) -> Iterator[Sample]:
        """Yield its samples in the order in which they were written, from a trial of the case on.

        A heavy one has trials for itself, with numbers of their own: of these it yields all.
        """
        found = (one for one in self._lines() if isinstance(one, Sample))
        return (one for one in found if self.header.heavy or one.trial >= since)

    def notes(self) -> Iterator[Note]:
        """Yield what a reader has to know."""
        return (one for one in self._lines() if isinstance(one, Note))

    def own_trials(self) -> Iterator[OwnTrial]:
        """Yield the trials that it had for itself."""
        return (one for one in self._lines() if isinstance(one, OwnTrial))

    def own_exchanges(self) -> Iterator[OwnExchange]:
        """Yield the exchanges of programs that it had for itself."""
        return (one for one in self._lines() if isinstance(one, OwnExchange))

    def _lines(self) -> Iterator[SeriesLine]:
        with lines.opened(self.path) as found:
            for number, content in enumerate(found, start=1):
                yield _parsed(self.path, number, content)

    @property
    def beside(self) -> tuple[Path, ...]:
        """What else the collector left, such as a flame graph."""
        with contextlib.suppress(OSError):
            found = self.path.parent.glob(f"{glob.escape(self.path.stem)}.*")
            return tuple(sorted(one for one in found if one != self.path))
        return ()


def series_of(run: Path, case: str, attempt: int) -> tuple[StoredSeries, ...]:
    """Return what was collected in an attempt at a case, by name; nothing where nobody did."""
    if "\0" in case or Path(case).name != case:
        return ()  # no case of ours is called so: a record of others does not lead us elsewhere
    folder = series_folder(run, case, attempt)
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(SUFFIX))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise StoreError(f"{folder} cannot be listed", why=why) from error
    found = (_opened(folder / name) for name in names)
    return tuple(one for one in found if one is not None)


def _opened(path: Path) -> StoredSeries | None:
    """Read the header; None of a file that was killed at birth."""
    with lines.opened(path) as found:
        first = next(iter(found), None)
    if first is None:
        return None
    header = _parsed(path, 1, first)
    if not isinstance(header, SeriesHeader):
        raise StoreError("the first line is not the header of a series", where=Location(str(path)))
    if (count := len(header.quantities)) > MOST_QUANTITIES:
        raise StoreError(
            f"the series tells of {count:,} quantities",
            where=Location(str(path), 1),
            why=f"no collector has more than {MOST_QUANTITIES:,}",
            fix=f"remove the file to see the rest of the run: {path}",
        )
    return StoredSeries(path, header)


def _parsed(path: Path, number: int, content: bytes) -> SeriesLine:
    try:
        refuse_wild_numbers(content)
        return SERIES_LINE.validate_json(content, strict=True)
    except (ValueError, RecursionError) as error:
        raise StoreError(
            "a line of a series cannot be understood",
            where=Location(str(path), number),
            why=why_unreadable(error),
            fix=f"remove the file to see the rest of the run: {path}",
        ) from error
