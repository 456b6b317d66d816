"""Writes files that a user names: reports, figures, exports. The one place that does.

The folder may be anybody's. So nothing is written through a link that another user made, into a
file that was there before, or into a pipe, for whose reader one would wait. A file takes its place
when it is whole, and else what was there stays.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from vsperf.trust import trusted

LONGEST_NAME = 200
"""Bytes of a name that are kept in that of its scratch file; a file system takes 255."""


@dataclass
class _Target:
    """A file that waits to take its place."""

    path: Path
    folder: int
    scratch: str
    """What it is called meanwhile; nothing where it is written to in its place."""
    file: BinaryIO

    def take_place(self) -> None:
        if self.scratch:
            os.rename(self.scratch, self.path.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        self.scratch = ""

    def discard(self) -> None:
        if self.scratch:
            with suppress(OSError):
                os.unlink(self.scratch, dir_fd=self.folder)


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes the place of what is called so at the end, if that is reached."""
    with written_together((path,)) as (file,):
        yield file


@contextmanager
def written_together(paths: Sequence[Path], rights: int = 0o666) -> Iterator[list[BinaryIO]]:
    """Give a file for each path; all take their places at the end, or none. Raises OSError.

    `rights` say who may use them, as far as the mask of this process lets it.

    Folders that are missing are made. What the kernel itself names in /dev and /proc, such as
    /dev/stdout, is written to where it is.
    """
    with ExitStack() as stack:
        targets = [_target(path, rights, stack) for path in paths]
        yield [one.file for one in targets]
        for target in targets:
            target.file.close()
        for target in targets:
            target.take_place()


def _target(path: Path, rights: int, stack: ExitStack) -> _Target:
    folder = stack.enter_context(trusted.reached(path.parent, make=True))
    if _is_of_the_kernel(folder):
        descriptor = os.open(path.name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=folder)
        os.set_blocking(descriptor, True)
        return _Target(path, folder, "", stack.enter_context(os.fdopen(descriptor, "wb")))
    with suppress(FileNotFoundError):
        mode = os.lstat(path.name, dir_fd=folder).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise trusted.DistrustedError(f"{path} is there, and is no regular file")
    begin = os.fsdecode(os.fsencode(path.name)[:LONGEST_NAME])
    scratch = f".{begin}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | trusted.SAFELY
    descriptor = os.open(scratch, flags, rights, dir_fd=folder)
    made = _Target(path, folder, scratch, stack.enter_context(os.fdopen(descriptor, "wb")))
    stack.callback(made.discard)
    return made


def _is_of_the_kernel(folder: int) -> bool:
    """Whether names in it are devices, or descriptors of this process."""
    where = Path(f"/proc/self/fd/{folder}").readlink()
    return where == Path("/dev") or where.is_relative_to(f"/proc/{os.getpid()}")
