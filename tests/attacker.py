"""Another user of this machine, who may write to /tmp only, and what such a one can do there."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
NOBODY = 65534


def as_nobody(action: Callable[[], T]) -> T:
    """Carry something out as another user, in a process of its own; return what JSON can carry."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writing, json.dumps(action()).encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    assert os.waitpid(child, 0)[1] == 0, "what the other user does failed"
    found: T = json.loads(said)
    return found


@dataclass(frozen=True)
class Town:
    """A /run, a /tmp and a place of root's, apart from those of the machine."""

    folder: Path

    @property
    def run(self) -> Path:
        """Where only root can write."""
        return self.folder / "run"

    @property
    def tmp(self) -> Path:
        """Where everybody can write, and nobody can touch what others put there."""
        return self.folder / "tmp"

    @property
    def precious(self) -> Path:
        """A file of root's that nobody else may change."""
        return self.folder / "precious" / "sudoers"


@contextmanager
def town() -> Iterator[Town]:
    """Make a town; other users can reach it, unlike the folders that tests usually have."""
    made = Town(Path(tempfile.mkdtemp(prefix="town-")))
    try:
        for folder, mode in (
            (made.folder, 0o755),
            (made.run, 0o755),
            (made.tmp, 0o777 | stat.S_ISVTX),
            (made.precious.parent, 0o755),
        ):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        made.precious.write_text("root\n")
        made.precious.chmod(0o600)
        yield made
    finally:
        shutil.rmtree(made.folder)


def give(path: Path, user: int = NOBODY) -> None:
    """Give a folder and what is in it to another user."""
    for one in (path, *path.rglob("*")):
        os.chown(one, user, user, follow_symlinks=False)
