"""Baselines: names for runs that others are held against, kept beside the run folders.

Each is a small file of its own that names a run, replaced whole: whoever is killed while setting
one leaves the old one or the new one. The run itself is neither copied nor changed.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

from vsperf.errors import Location, RecordingError, StoreError, UsageError
from vsperf.records.files.folders import RECORDS
from vsperf.trust import trusted

FOLDER = "baselines"
SUFFIX = ".json"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")
MOST_BYTES = 1 << 16
"""Of the file of a baseline; vsperf writes a hundred."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A name for a run."""

    name: str
    folder: Path
    """Of the run; whether it is still there is asked when it is read."""
    set_at: str
    """UTC, ISO 8601."""

    @property
    def run(self) -> str:
        return self.folder.name

    @property
    def there(self) -> bool:
        """Whether the run has not been removed."""
        return (self.folder / RECORDS).is_file()


def set_baseline(results: Path, name: str, folder: Path) -> Baseline:
    """Let a name stand for the run in `folder` from now on, whatever it stood for before."""
    _require_name(name)
    try:
        place = str(folder.resolve().relative_to(results.resolve()))
    except ValueError:
        place = str(folder.resolve())
    now = datetime.now(UTC).isoformat(timespec="seconds")
    content = json.dumps({"run": place, "set_at": now}, ensure_ascii=False) + "\n"
    with RecordingError.if_refused(
        f"the baseline {name} cannot be kept in {results / FOLDER}",
        fix="choose a folder that can be written to with `--results DIR`",
    ):
        _replace(results / FOLDER / f"{name}{SUFFIX}", content.encode())
    return Baseline(name, results / place, now)


def baselines(results: Path) -> tuple[Baseline, ...]:
    """Return all baselines by name, also those whose run is gone."""
    return tuple(_read(results, name) for name in _names(results))


def read_baseline(results: Path, name: str) -> Baseline:
    """Return a baseline whose run is there."""
    _require_name(name)
    known = _names(results)
    if name not in known:
        close = get_close_matches(name, known, n=1)
        found = f"baselines here: {', '.join(known)}" if known else "there is none yet"
        raise UsageError(
            f"there is no baseline {name!r} in {results}",
            why=found,
            fix=f"did you mean {close[0]}?" if close else f"`vsperf baseline set {name} RUN`",
        )
    found_one = _read(results, name)
    if not found_one.there:
        raise UsageError(
            f"the run of the baseline {name} is gone",
            why=f"{found_one.folder} holds no {RECORDS}",
            fix=f"`vsperf baseline set {name} RUN`, or `vsperf baseline remove {name}`",
        )
    return found_one


def remove_baseline(results: Path, name: str) -> None:
    """Forget a name; its run stays."""
    _require_name(name)
    try:
        with trusted.reached(results / FOLDER) as folder:
            os.unlink(f"{name}{SUFFIX}", dir_fd=folder)
    except FileNotFoundError:
        raise UsageError(
            f"there is no baseline {name!r} in {results}",
            fix="`vsperf baseline list` shows those that there are",
        ) from None
    except OSError as error:
        raise StoreError(f"the baseline {name} stays", why=error.strerror or str(error)) from error


def _require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a baseline",
            why="a name begins with a letter and has at most 63 letters, digits and . _ -",
            fix="name it like main, or release-2.1",
        )


def _names(results: Path) -> list[str]:
    try:
        files = [path.name for path in (results / FOLDER).iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{results / FOLDER} cannot be listed", why=error.strerror) from error
    names = [name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX)]
    return sorted(name for name in names if NAME.fullmatch(name))


def _read(results: Path, name: str) -> Baseline:
    path = results / FOLDER / f"{name}{SUFFIX}"
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | trusted.SAFELY), "rb") as file:
            said = json.loads(file.read(MOST_BYTES))
        run, set_at = said["run"], said["set_at"]
        if not isinstance(run, str) or not isinstance(set_at, str) or "\0" in run:
            raise TypeError("`run` and `set_at` are texts")
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(
            f"the baseline {name} cannot be read",
            where=Location(str(path)),
            why=str(error),
            fix=f"`vsperf baseline set {name} RUN` writes it anew",
        ) from error
    return Baseline(name, results / run, set_at)


def _replace(path: Path, content: bytes) -> None:
    """Put content into the place of a file: whole and on disk, or not at all."""
    with trusted.reached(path.parent, make=True):
        trusted.replace_plain(path, content, f".{path.name}.", durable=True)
