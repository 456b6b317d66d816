"""Run folders: how they are named, made, listed, and found again by a few letters."""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from vsperf.errors import RecordingError, StoreError, UsageError
from vsperf.trust import trusted
from vsperf.waits import sleep

# Advisory locks on open files; the kernel frees them however their holder ends.

POLL_S = 0.02


def lock(descriptor: int, *, exclusive: bool, wait_s: float) -> bool:
    """Lock an open file, waiting at most `wait_s` for other holders; say whether it worked."""
    deadline = time.monotonic() + wait_s
    mode = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    while True:
        try:
            fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            sleep(POLL_S)
        else:
            return True


def is_locked(path: Path) -> bool:
    """Return whether another open file holds the exclusive lock on `path` at this moment.

    Asking takes the shared lock for an instant; whoever wants the exclusive one should wait a
    little before it gives up.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not lock(descriptor, exclusive=False, wait_s=0)
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)


# What is kept of a run that was refused before it had a folder.
#
# Without it `latest` would mean the run before, and a job that failed would show what another
# found.

FILE = ".refused.json"
MOST_CHARACTERS = 300
"""Of what is told of it."""
MOST_BYTES = 1 << 20


def note(results: Path, argv: Sequence[str], why: str) -> None:
    """Note what was to be run and did not begin, so that nobody takes an older run for it.

    Where there is no run yet, there is none to be mistaken for another, and nothing is made.
    """
    if not _holds_folders(results):
        return
    at = datetime.now(UTC).isoformat(timespec="seconds")
    told = {"at": at, "argv": list(argv), "why": why[:MOST_CHARACTERS]}
    content = f"{json.dumps(told)}\n".encode()
    with contextlib.suppress(OSError), trusted.reached(results):  # by no link of another user
        trusted.replace_plain(_file(results), content, f"{FILE}.")


def _file(results: Path) -> Path:
    """Return where it is kept; a folder of results may be a link, and what is in it may not."""
    return results.resolve() / FILE


def _holds_folders(results: Path) -> bool:
    try:
        return any(entry.is_dir() for entry in results.iterdir())
    except OSError:
        return False


def refuse_stale(results: Path, latest: Path) -> None:
    """Refuse to take a run for the latest that was not the last to be asked for."""
    try:
        descriptor = trusted.open_plain(_file(results), os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as opened:
            told = json.loads(opened.read(MOST_BYTES))
        at, why = str(told["at"]), str(told["why"])
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        at, why = "some time ago", "what was kept of it cannot be read"
    raise UsageError(
        "the latest run was refused before it began, so it found nothing",
        why=f"{at}: {why}",
        fix=f"the run before it is {latest.name}: name that if you mean it, or give "
        "`vsperf run` a label and name the run by KEY=VALUE",
    )


RECORDS = "records.jsonl"
"""The file in each run folder that holds its records."""
LATEST = "latest"
"""The link beside the run folders that points to the one last worked on."""
LETTERS = "34679acdefghjkmnpqrtuvwxy"
"""What the end of a run id is made of: nothing that looks like something else when read aloud."""
RUN_ID = re.compile(r"\d{4}-\d\d-\d\d-.+-[0-9a-z]{4}")
SHOWN = 8


def make_folder(results: Path, testcases: Iterable[str]) -> Path:
    """Make the folder of a new run, such as 2026-11-20-phy2phy_tput-k7f3; the date is UTC.

    Making a directory either works or finds it there already, so two processes never get the
    same one.
    """
    names = list(dict.fromkeys(testcases))
    name = names[0] if len(names) == 1 else "several"
    day = datetime.now(UTC).date().isoformat()
    with (
        RecordingError.if_refused(
            f"no run folder can be made in {results}",
            fix="choose a directory that can be written to with `--results DIR`",
        ),
        trusted.reached(results, make=True) as place,  # and not in what takes its place
    ):
        for _ in range(1000):
            suffix = "".join(secrets.choice(LETTERS) for _ in range(4))
            folder = f"{day}-{name}-{suffix}"
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, dir_fd=place)
                return results / folder
    raise RecordingError(f"no free run id was found in {results}", fix="use `--results DIR`")


def point_latest(folder: Path) -> None:
    """Let `latest` point to `folder`; it never points nowhere meanwhile.

    What was refused before is forgotten, as a run has begun since. The link is a convenience, so a
    file system without links, or a file of that name that somebody else made, is no reason to fail.
    """
    temporary = f".{LATEST}-{folder.name}"
    with contextlib.suppress(OSError), trusted.reached(folder.parent) as results:
        _remove(FILE, results)
        if _is_taken(LATEST, results):
            return
        _remove(temporary, results)
        os.symlink(folder.name, temporary, dir_fd=results)
        os.rename(temporary, LATEST, src_dir_fd=results, dst_dir_fd=results)


def _remove(name: str, folder: int) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _is_taken(name: str, folder: int) -> bool:
    """Whether something has a name that is no link."""
    try:
        return not stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    except FileNotFoundError:
        return False


def run_folders(results: Path) -> tuple[Path, ...]:
    """Return all run folders in `results` by name, those of runs killed at birth included."""
    try:
        with os.scandir(results) as entries:
            names = [
                entry.name
                for entry in entries
                if not entry.name.startswith(".")
                and _is_text(entry.name)
                and entry.is_dir(follow_symlinks=False)
                and _may_be_run(Path(entry.path))
            ]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(f"{results} cannot be listed", why=error.strerror) from error
    return tuple(results / name for name in sorted(names))


def _is_text(name: str) -> bool:
    """Whether a name is UTF-8, as those of all run folders are; others no table can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _may_be_run(folder: Path) -> bool:
    """Whether a folder is a run, or would be one if it had not been killed at birth."""
    records = folder / RECORDS
    return records.is_file() or (
        bool(RUN_ID.fullmatch(folder.name)) and not records.exists() and not records.is_symlink()
    )


def resolve(results: Path, text: str) -> Path:
    """Return the run folder that `text` means.

    It may be a path, `latest`, a whole run id, the last four letters of one, or any beginning
    that fits only one. An older run is never the latest because the last one was refused, however
    the link is written.
    """
    folder = _resolve(results, text)
    path = Path(text)
    named = path.parent if path.name == RECORDS else path
    if named.name == LATEST:
        refuse_stale(named.parent if "/" in text else results, folder)
    return folder


def _resolve(results: Path, text: str) -> Path:
    folder = _as_path(results, text)
    if folder is not None:
        return folder
    folders = {folder.name: folder for folder in run_folders(results)}
    if text and text not in folders and _holds_records(Path(text)):
        return Path(text).resolve()
    if not folders:
        raise UsageError(
            f"there is no run in {results}",
            fix="`vsperf run` makes one; `--results DIR` looks elsewhere",
        )
    if text == LATEST:
        return max(folders.values(), key=_last_written)
    if text in folders:
        return folders[text]
    fitting = [n for n in folders if text and (n.startswith(text) or n.endswith(f"-{text}"))]
    if len(fitting) == 1:
        return folders[fitting[0]]
    raise _no_single_run(results, text, fitting, list(folders))


def _as_path(results: Path, text: str) -> Path | None:
    if "/" in text:
        path = Path(text)
        folder = path.parent if path.name == RECORDS else path
        if not _holds_records(folder):
            raise UsageError(
                f"{text!r} is not a run folder",
                why=f"it holds no {RECORDS}, or does not exist",
                fix="`vsperf results` lists the runs that can be shown",
            )
        return folder.resolve()
    if text == LATEST and _holds_records(results / LATEST):
        return (results / LATEST).resolve()
    return None


def _holds_records(folder: Path) -> bool:
    try:
        return (folder / RECORDS).is_file()
    except (OSError, ValueError):  # no path at all, such as one that is far too long
        return False


def _last_written(folder: Path) -> float:
    try:
        return (folder / RECORDS).stat().st_mtime
    except OSError:
        return 0.0


def _no_single_run(results: Path, text: str, fitting: list[str], known: list[str]) -> UsageError:
    if fitting:
        shown = ", ".join(fitting[:SHOWN])
        more = f" and {len(fitting) - SHOWN} more" if len(fitting) > SHOWN else ""
        return UsageError(
            f"{text!r} fits {len(fitting)} runs: {shown}{more}",
            fix="give more letters, or the last four",
        )
    close = difflib.get_close_matches(text, [LATEST, *known], n=3, cutoff=0.5)
    return UsageError(
        f"there is no run {text!r} in {results}",
        fix=f"did you mean {' or '.join(close)}?" if close else "`vsperf results` lists all runs",
    )
