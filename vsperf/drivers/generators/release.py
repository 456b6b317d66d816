"""Releases ports of a chassis that a dead deployment has: a program of its own.

An undo runs it, late perhaps, or twice. It lets go of what is reserved under the given name, and of
nothing else; a port that somebody else has by now is left to them.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import entry_points
from typing import Any

from vsperf.config.suggest import no_such_kind
from vsperf.errors import NotReadyError, VsperfError
from vsperf.plugins import GROUPS


def main() -> int:
    """Release the ports; say in one line why that cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--password-file")
    for name in ("dialect", "chassis", "owner"):
        parser.add_argument(name)
    parser.add_argument("ports", nargs="+")
    given = parser.parse_args()
    try:
        driver = _driver(given.dialect)
        driver.release(given.chassis, given.owner, tuple(given.ports), given.password_file)
    except VsperfError as error:
        print(error.with_why, file=sys.stderr)  # noqa: T201 - a program of its own
        return int(error.exit_code)
    return 0


def _driver(dialect: str) -> Any:
    """Return the driver of one kind; no other is loaded, since somebody waits."""
    for entry in entry_points(group=GROUPS["generator"], name=dialect):
        return entry.load()()
    why, fix = no_such_kind("generator", dialect, (), "install what has it")
    raise NotReadyError(f"there is no generator {dialect} any more", why=why, fix=fix)


if __name__ == "__main__":
    sys.exit(main())
