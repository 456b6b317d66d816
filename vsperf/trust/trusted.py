"""What other users of this machine could have made or changed, and how to open what is safe.

A path can be trusted when nobody but this user and root can change what it leads to: each folder on
the way belongs to one of them, and others can neither write to it nor, where many write as in /tmp,
put something else into the place of what is called so. What is opened is looked at once more by its
descriptor. No name is followed as a link, and opening never waits, as a pipe would let it.
"""

from __future__ import annotations

import errno
import os
import pwd
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 16 << 20
"""Of a file that is read; one of vsperf's own has some kilobytes."""
MOST_LINKS = 40
HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "MPLCONFIGDIR")
"""By which programs are told where somebody keeps caches, settings and fonts."""
OTHERS_WRITE = 0o022
WAY = os.O_PATH | os.O_CLOEXEC
SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class DistrustedError(OSError):
    """Another user could have made it or can change it, or it is not what it should be."""


def own_users() -> frozenset[int]:
    """Return the users who may change what this process relies on: root and its own."""
    return frozenset({0, os.geteuid()})


def callers(environ: Mapping[str, str]) -> frozenset[int]:
    """Return the users whose files may decide what this process does; with sudo, its caller too."""
    caller = environ.get("SUDO_UID", "")
    return own_users() | ({int(caller)} if caller.isdecimal() else set())


def root_may_use(path: Path) -> bool:
    """Whether this is not root, or nobody but root can change what a path leads to."""
    try:
        return os.geteuid() != 0 or why_not(path) is None
    except OSError:
        return False


def why_not(
    path: Path, users: frozenset[int] | None = None, *, parent_only: bool = False
) -> str | None:
    """Return why others than `users` can change what a path leads to; None if they cannot.

    Links on the way are followed if such a user made them. `parent_only` asks whether something of
    one's own can safely stand in the folder `path`, though others may put theirs beside it. Raises
    OSError where the path leads nowhere.
    """
    users = own_users() if users is None else users
    here, links = Path("/"), 0
    ahead = list(reversed((Path.cwd() / path).parts[1:]))
    reason = _why_not(here, os.lstat(here), users, shared=bool(ahead) or parent_only)
    while ahead and reason is None:
        name = ahead.pop()
        if name == "..":
            here = here.parent  # no link is left on the way to here
            continue
        status = _lstat(here / name)
        if stat.S_ISLNK(status.st_mode):
            if status.st_uid not in users:
                return f"{here / name} is a link of {_user(status.st_uid)}"
            if (links := links + 1) > MOST_LINKS:
                raise OSError(f"{path} leads through too many links")
            target = (here / name).readlink()
            here = Path("/") if target.is_absolute() else here
            ahead += reversed([part for part in target.parts if part != "/"])
            continue
        here /= name
        shared = stat.S_ISDIR(status.st_mode) and (bool(ahead) or parent_only)
        reason = _why_not(here, status, users, shared=shared)
    return reason


def why_not_below(folder: Path, users: frozenset[int], besides: frozenset[str]) -> str | None:
    """Return what in a folder others than `users` can change, at any depth; None if nothing.

    Links are not followed; `besides` are names in the folder itself that are not looked at. Raises
    OSError where something cannot be looked at.
    """
    waiting = [entry for entry in os.scandir(folder) if entry.name not in besides]
    while waiting:
        entry = waiting.pop()
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            if status.st_uid not in users:
                return f"{entry.path} is a link of {_user(status.st_uid)}"
            continue
        if reason := _why_not(Path(entry.path), status, users, shared=False):
            return reason
        if stat.S_ISDIR(status.st_mode):
            waiting += os.scandir(entry.path)
    return None


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of this user's that others cannot change, held open; names in it are plain ones."""

    path: Path
    descriptor: int

    def names(self) -> list[str]:
        """Return what is in it, sorted."""
        return sorted(os.listdir(self.descriptor))  # noqa: PTH208 - by its descriptor

    @contextmanager
    def folder(self, name: str) -> Iterator[Folder]:
        descriptor = self._open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield Folder(self.path / name, _own(descriptor, self.path / name, stat.S_ISDIR))
        finally:
            os.close(descriptor)

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Open a regular file in it that has no other name; return its descriptor."""
        descriptor = self._open(name, flags)
        try:
            return _own(descriptor, self.path / name, stat.S_ISREG)
        except BaseException:
            os.close(descriptor)
            raise

    def read(self, name: str) -> bytes:
        descriptor = self.open(name)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise DistrustedError(f"{self.path / name} is larger than {MOST_BYTES >> 20} MB")
        return content

    def replace(self, name: str, content: bytes, *, alone: bool = False) -> None:
        """Put a file into it, or into the place of what is called so: whole, or not at all.

        `alone` says that no other process does so at the same time: then what a kill in the middle
        leaves is in nobody's way, has the name of the file and `.new`, and goes next time.
        """
        scratch = f"{name}.new" if alone else f".{name}.{secrets.token_hex(8)}"
        if alone:
            self.remove(scratch)
        descriptor = self._open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.rename(scratch, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            with suppress(OSError):
                os.unlink(scratch, dir_fd=self.descriptor)
            raise

    def remove(self, name: str) -> None:
        """Remove what is called so, with all that is in it; a link is removed and not followed."""
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(os.lstat(name, dir_fd=self.descriptor).st_mode):
                shutil.rmtree(name, dir_fd=self.descriptor)
            else:
                os.unlink(name, dir_fd=self.descriptor)

    def _open(self, name: str, flags: int) -> int:
        path = self.path / name
        if "/" in name or "\0" in name or name in ("", ".", ".."):
            raise DistrustedError(f"{path} is not the name of something in {self.path}")
        try:
            return os.open(name, flags | SAFELY, 0o600, dir_fd=self.descriptor)
        except OSError as error:
            if self._is_link(name):
                raise DistrustedError(f"{path} is a link") from error
            raise

    def _is_link(self, name: str) -> bool:
        try:
            return stat.S_ISLNK(os.lstat(name, dir_fd=self.descriptor).st_mode)
        except OSError:
            return False


@contextmanager
def opened(path: Path) -> Iterator[Folder]:
    """Open a folder of this user's; raises `DistrustedError` where others can change it."""
    if reason := why_not(path):
        raise DistrustedError(reason)
    if path.is_symlink():
        raise DistrustedError(f"{path} is a link")
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | SAFELY)
    try:
        yield Folder(path, _own(descriptor, path, stat.S_ISDIR))
    finally:
        os.close(descriptor)


def read(path: Path) -> bytes:
    """Return what a file of this user's holds."""
    with opened(path.parent) as folder:
        return folder.read(path.name)


def replace(path: Path, content: bytes, *, alone: bool = False) -> None:
    """Put a file into the place of what was there, as `Folder.replace` does."""
    with opened(path.parent) as folder:
        folder.replace(path.name, content, alone=alone)


def replace_plain(path: Path, content: bytes, begin: str, *, durable: bool = False) -> None:
    """Put a file into the place of what was there: whole, or not at all, whoever owns the folder.

    No link that another user made leads there. What a kill in the middle leaves has a name that
    begins with `begin`. `durable` says that it is on disk before it takes its place.
    """
    scratch = f"{begin}{secrets.token_hex(8)}"
    with _reached_plainly(path) as folder:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = _open_plain(path.with_name(scratch), flags, folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.rename(scratch, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(scratch, dir_fd=folder)


def open_plain(path: Path, flags: int) -> int:
    """Open a regular file, whoever owns it, if neither it nor its folder is a link.

    No link on the way is that of another user, and it has no other name, so that what is written
    goes nowhere else.
    """
    with _reached_plainly(path) as folder:
        return _open_plain(path, flags, folder)


@contextmanager
def _reached_plainly(path: Path) -> Iterator[int]:
    """Hold the folder of a file open, which is no link."""
    if path.parent.is_symlink():
        raise DistrustedError(f"{path.parent} is a link")
    with reached(path.parent) as folder:
        yield folder


def _open_plain(path: Path, flags: int, folder: int) -> int:
    try:
        descriptor = os.open(path.name, flags | SAFELY, 0o644, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DistrustedError(f"{path} is a link") from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise DistrustedError(f"{path} is not a regular file with one name")
    return descriptor


@contextmanager
def reached(
    path: Path, users: frozenset[int] | None = None, *, make: bool = False
) -> Iterator[int]:
    """Hold a folder open that may be anybody's, if no link on the way is that of another user.

    It is reached step by step, so that nobody can put a link into the way meanwhile. `make` makes
    folders that are missing. Raises `DistrustedError` for a link of others than `users`, which are
    root, this user and the caller of sudo if none are named.
    """
    users = callers(os.environ) if users is None else users
    here, links = os.open("/", WAY), 0
    ahead = list(reversed((Path.cwd() / path).parts[1:]))
    try:
        while ahead:
            name = ahead.pop()
            there = _step(here, name, make=make)
            here, before = there, here
            try:
                status = os.fstat(there)
                if not stat.S_ISLNK(status.st_mode):
                    continue
                if status.st_uid not in users:
                    raise DistrustedError(f"{name} in {path} is a link of {_user(status.st_uid)}")
                if (links := links + 1) > MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
                target = Path(os.readlink("", dir_fd=there))
                ahead += reversed([part for part in target.parts if part != "/"])
                here = os.open("/", WAY) if target.is_absolute() else os.dup(before)
                os.close(there)
            finally:
                os.close(before)
        if not stat.S_ISDIR(os.fstat(here).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        yield here
    finally:
        os.close(here)


def _step(folder: int, name: str, *, make: bool) -> int:
    """Return the descriptor of what is called so in a folder, be it a link."""
    try:
        return os.open(name, WAY | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return os.open(name, WAY | os.O_NOFOLLOW, dir_fd=folder)


def temporary_folder() -> str:
    """Return where files can be made that nobody else can exchange: $TMPDIR, or /tmp."""
    reasons = []
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108 - where it is sticky
        reason = why_not(Path(place), parent_only=True)
        if reason is None:
            return place
        reasons.append(reason)
    raise DistrustedError("; ".join(dict.fromkeys(reasons)))


@contextmanager
def own_home() -> Iterator[dict[str, str]]:
    """Give what is to be said of homes to a program that believes what is in them.

    That is nothing where they are this user's alone; else all of them are an empty folder, which is
    removed afterwards.
    """
    named = (os.environ.get(name, "") for name in HOMES)
    if all(root_may_use(Path(one)) for one in named if one):
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="vsperf-home-", dir=temporary_folder()) as empty:
        yield dict.fromkeys(HOMES, empty)


def without_waiting(path: str, flags: int) -> int:
    """Open a file as `open` does, whose opener this is; of a pipe nobody is waited for."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def opened_file(path: Path) -> BinaryIO:
    """Open a regular file that a user named, whoever owns it; raises OSError for all else.

    A pipe that lies in its place would be waited for, and so would one that nobody fills. What is
    looked at is what has been opened: a name may mean something else a moment later.
    """
    file = open(path, "rb", opener=without_waiting)  # noqa: SIM115 - the caller closes it
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise DistrustedError(f"{path} is no regular file")


def make_folder(path: Path) -> None:
    """Make a folder for this user alone, with those around it, or see that it is one already."""
    present = next(above for above in path.absolute().parents if above.exists())
    if reason := why_not(present, parent_only=True):
        raise DistrustedError(reason)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with opened(path):
        pass


def _own(descriptor: int, path: Path, is_kind: Callable[[int], bool]) -> int:
    """Return a descriptor again, if what it opens is of its kind, and this user's alone."""
    status = os.fstat(descriptor)
    if not is_kind(status.st_mode):
        raise DistrustedError(f"{path} is not a regular file or folder, as it should be")
    if reason := _why_not(path, status, frozenset({os.geteuid()}), shared=False):
        raise DistrustedError(reason)
    if is_kind is stat.S_ISREG and status.st_nlink > 1:  # none: it has just been removed
        raise DistrustedError(f"{path} has {status.st_nlink} names, and should have one")
    return descriptor


def _why_not(
    path: Path, status: os.stat_result, users: frozenset[int], *, shared: bool
) -> str | None:
    """Return why a file or folder can be changed; `shared` allows what /tmp is."""
    if status.st_uid not in users:
        return f"{path} belongs to {_user(status.st_uid)}"
    if status.st_mode & OTHERS_WRITE and not (shared and status.st_mode & stat.S_ISVTX):
        return f"{path} can be written to by others (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def _lstat(path: Path) -> os.stat_result:
    try:
        return os.lstat(path)
    except ValueError as error:  # a NUL, which no path can hold
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path)) from error


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
