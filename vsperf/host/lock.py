"""One run per testbed on a machine: a lock that the kernel frees however its holder ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from vsperf.errors import NotReadyError
from vsperf.host.places import make_root, runtime_folder
from vsperf.records.files.folders import is_locked, lock
from vsperf.trust import trusted

SUFFIX = ".lock"
LOOK_S = 0.1
"""`vsperf clean` and `vsperf doctor` may be looking at the lock for an instant."""


class TestbedInUse(NotReadyError):
    """Another run holds the testbed; that passes by itself."""

    __test__ = False  # its name looks like that of tests


@contextmanager
def testbed_lock(testbed: str, run: str, root: Path | None = None) -> Iterator[None]:
    """Hold a testbed for a run; refuse when another run of this machine holds it.

    `testbed` is its name; `root` replaces the folder of the lock.
    """
    path = (runtime_folder() if root is None else root) / f"{quote(testbed, safe='')}{SUFFIX}"
    descriptor = _locked(path, testbed)
    try:
        with suppress(OSError):  # a full folder: it is held all the same
            os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "run": run}).encode(), 0)
        yield
    finally:
        _remove(path, descriptor)
        os.close(descriptor)


def stale_locks(root: Path) -> tuple[Path, ...]:
    """Return the locks that a killed run left; they hold nothing."""
    try:
        with trusted.opened(root) as folder:
            found = [root / name for name in folder.names() if name.endswith(SUFFIX)]
    except OSError:
        return ()
    return tuple(path for path in found if not is_locked(path))


def remove_stale(path: Path) -> None:
    """Remove a lock that holds nothing, unless a run has taken it since."""
    try:
        descriptor = _open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        if lock(descriptor, exclusive=True, wait_s=0):
            _remove(path, descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path, descriptor: int) -> None:
    """Remove a lock that is held by this descriptor, and none that has taken its place."""
    if _is_there(path, descriptor):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # others are in it
        path.parent.rmdir()


def _is_there(path: Path, descriptor: int) -> bool:
    """Whether the path still leads to what was opened: its holder before removes it at its end."""
    try:
        return os.fstat(descriptor).st_ino == path.lstat().st_ino
    except FileNotFoundError:
        return False


def _locked(path: Path, testbed: str) -> int:
    """Open the file and lock it; a holder removes it at its end, so see that it is still there."""
    while True:
        make_root(path.parent)
        try:
            descriptor = _open(path, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:  # the folder was removed by its last user
            continue
        except OSError as why:
            raise NotReadyError(
                f"the lock of testbed {testbed} cannot be taken",
                why=why.strerror or str(why),
                fix=f"see what {path} is, and remove it",
            ) from why
        if not lock(descriptor, exclusive=True, wait_s=LOOK_S):
            error = _held(descriptor, testbed)
            os.close(descriptor)
            raise error
        if _is_there(path, descriptor):
            os.ftruncate(descriptor, 0)
            return descriptor
        os.close(descriptor)


def _open(path: Path, flags: int) -> int:
    with trusted.opened(path.parent) as folder:
        return folder.open(path.name, flags)


def _held(descriptor: int, testbed: str) -> TestbedInUse:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        who, pid = f"run {holder['run']}", f"process {holder['pid']}"
    except (ValueError, KeyError, TypeError):
        who, pid = "another run", "another process"
    return TestbedInUse(
        f"testbed {testbed} is in use",
        why=f"{who} ({pid}) measures on it, and two runs would disturb each other",
        fix=f"wait until it has ended (`vsperf run … --wait 30m` does), or stop {pid}",
    )
