"""Writes the records of one run: whole lines, in order, by one process at a time.

Each line is handed to the operating system before `append` returns, so a killed process loses
nothing that it recorded. Headers, case results and ends are also forced to the disk, so power
loss costs no finished case.

Once a line could not be written, none that follows it is: a shorter one might still fit on a full
disk, and say of a run that it ended when a resumption has to go on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from pydantic_core import PydanticSerializationError

from vsperf.errors import Location, NotReadyError, RecordingError
from vsperf.records.files import lines
from vsperf.records.files.folders import RECORDS, lock, make_folder, point_latest
from vsperf.records.files.reader import RunState, check_run
from vsperf.records.files.view import RunView, open_run
from vsperf.records.run import LINE, CaseRecord, Line, RunEnd, RunHeader, RunResume
from vsperf.trust import trusted
from vsperf.trust.plain_json import refuse_wild_numbers

TORN = "torn.jsonl"
"""Where a resumed run keeps last lines that were cut off."""
LOCK_WAIT_S = 1.0
"""Long enough for readers that ask whether a run is being written."""
FULL = (errno.ENOSPC, errno.EDQUOT)
DURABLE = (RunHeader, CaseRecord, RunResume, RunEnd)
"""Lines that are forced to the disk."""


class RunWriter(contextlib.AbstractContextManager["RunWriter"]):
    """The open record file of one run; a context manager."""

    def __init__(self, folder: Path, descriptor: int, before: RunView | None) -> None:
        self.folder = folder
        self.before = before
        """What the folder held when the run was resumed; None for a new run."""
        self._descriptor = descriptor
        self._failed: OSError | None = None
        """Why a line could not be written; none follows it."""

    @classmethod
    def create(
        cls, results: Path, testcases: Iterable[str], make_header: Callable[[str], RunHeader]
    ) -> Self:
        """Make the folder of a new run and write its header, made from the run's id.

        `testcases` are the names that the id speaks of.
        """
        folder = make_folder(results, testcases)
        path = folder / RECORDS
        writer = None
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
            writer = cls(folder, _open_locked(path, flags), None)
            writer.append(make_header(folder.name))
            _sync_directory(folder)
            _sync_directory(folder.parent)
        except BaseException:
            if writer is not None:
                writer.close()
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
                folder.rmdir()
            raise
        point_latest(folder)
        return writer

    @classmethod
    def resume(cls, folder: Path) -> Self:
        """Go on writing a run that was interrupted; a torn last line is kept aside first.

        It is the latest from its first line on: until then it may still be refused.
        """
        folder = folder.resolve()
        path = folder / RECORDS
        with lines.opened(path):  # says in plain words what is wrong if there is none to resume
            pass
        descriptor = _open_locked(path, os.O_RDWR | os.O_APPEND)
        try:
            check_run(folder)
            before = open_run(folder)
            ended = RunState.INTERRUPTED if before.end is None else RunState.FINISHED
            before = dataclasses.replace(before, state=ended)  # it is we who hold it
            if before.torn:
                _set_torn_line_aside(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(folder, descriptor, before)

    @property
    def run(self) -> str:
        """The run's id: its folder's name."""
        return self.folder.name

    @property
    def path(self) -> Path:
        return self.folder / RECORDS

    def append(self, line: Line) -> None:
        """Write one line; when this returns, killing the process cannot lose it."""
        content = _encode(line) + b"\n"
        try:
            if self._failed is not None:
                raise self._failed
            _require_readable(content)
            status = os.fstat(self._descriptor)
            if status.st_nlink == 0:
                raise OSError(errno.ENOENT, "the folder was deleted while the run was writing it")
            self._write_whole(content, status.st_size, durable=isinstance(line, DURABLE))
        except OSError as error:
            self._failed = error
            raise _cannot_write(self.path, error) from error
        if isinstance(line, RunResume):
            point_latest(self.folder)

    def close(self) -> None:
        """Close the file, which frees its lock; closing twice does no harm."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_whole(self, content: bytes, size: int, *, durable: bool) -> None:
        """Write `content` in one call, or leave the file as it was: `size` bytes long."""
        written = 0
        try:
            while written < len(content):  # a second round happens only when a disk fills up
                written += os.write(self._descriptor, content[written:])
            if durable:  # some file systems find out only now that they are full
                os.fsync(self._descriptor)
        except OSError:
            if written:
                os.ftruncate(self._descriptor, size)
            raise


def _encode(line: Line) -> bytes:
    try:
        return LINE.dump_json(line)
    except (PydanticSerializationError, UnicodeEncodeError):
        # Arguments and host facts may hold bytes that are no text; Python keeps those as lone
        # surrogates, which JSON cannot carry.
        return LINE.dump_json(LINE.validate_python(lines.escaped(line.model_dump())))


def _require_readable(content: bytes) -> None:
    """Refuse a line that no reader would take, and the whole file with it: a part has lied."""
    if len(content) > lines.MOST_BYTES:
        most = f"more than the {lines.MOST_BYTES >> 20} MB that a line may have"
        raise OSError(errno.EFBIG, f"a part of the run said {most}")
    try:
        refuse_wild_numbers(content)
    except ValueError as error:
        raise OSError(errno.ERANGE, f"a part of the run said what cannot be: {error}") from error


def _open_locked(path: Path, flags: int) -> int:
    try:
        descriptor = trusted.open_plain(path, flags)
        try:
            if lock(descriptor, exclusive=True, wait_s=LOCK_WAIT_S):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    except OSError as error:
        raise _cannot_write(path, error) from error
    raise NotReadyError(
        f"{path.parent.name} is being written",
        why="another vsperf process is running or resuming this run",
        fix="wait until it has ended, or stop it",
    )


def _set_torn_line_aside(path: Path, descriptor: int) -> None:
    """Move a torn last line to `torn.jsonl`; it is on disk there before it goes here."""
    found = lines.read(path)
    torn = found.torn if found.torn.endswith(b"\n") else found.torn + b"\n"
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with os.fdopen(trusted.open_plain(path.parent / TORN, flags), "ab") as aside:
            aside.write(torn)
            aside.flush()
            os.fsync(aside.fileno())
        _sync_directory(path.parent)
        os.ftruncate(descriptor, found.whole_bytes)
        os.fsync(descriptor)
    except OSError as error:
        raise _cannot_write(path.parent / TORN, error) from error


def _sync_directory(folder: Path) -> None:
    """Make a new file's name survive power loss, where the file system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _cannot_write(path: Path, error: OSError) -> RecordingError:
    run = path.parent.name
    fix = "begin anew, in a folder that can be written to: `--results DIR`"
    with contextlib.suppress(OSError):
        if path.stat().st_size:
            again = f"`vsperf run --resume {run}` goes on from there"
            fix = f"what was recorded before is safe; {again}"
    if error.errno in FULL:
        fix = f"make room on the disk; {fix}"
    return RecordingError(
        f"the records of {run} cannot be written",
        where=Location(str(path)),
        why=error.strerror or str(error),
        fix=fix,
    )
