"""What is installed, as package managers tell, and what programs say of their version."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.waits import how_it_ended, run

ANSWER_S = 30.0
"""Patience with who is asked what is installed, or for a version: on a busy machine it answers
late, and packages that nobody told of would make it another environment than it was."""
DEBIAN = ("dpkg-query", "--show", "--showformat=${Package} ${Version} ${db:Status-Status}\\n")
REDHAT = ("rpm", "--query", "--queryformat=%{NAME} %{VERSION}-%{RELEASE} installed\\n")


def package_versions(names: Sequence[str], root: Path | None = None) -> dict[str, str]:
    """Return the version of each package that is installed; the others are left out.

    `root` is a tree of files whose packages are asked for; those of a tree of another family than
    this machine's are not known.
    """
    for command, database in ((DEBIAN, "--admindir={}/var/lib/dpkg"), (REDHAT, "--root={}")):
        if shutil.which(command[0]) is not None:
            place = () if root is None else (database.format(root),)
            return _installed((*command, *place, *names))
    return {}


def _installed(argv: tuple[str, ...]) -> dict[str, str]:
    try:
        done = run(argv, ANSWER_S)  # it fails when one of several is missing
    except (OSError, subprocess.TimeoutExpired):
        return {}
    rows = (line.split() for line in done.stdout.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 3 and row[2] == "installed"}


def to_install_extra(name: str) -> str:
    """Return how an extra of vsperf is installed: from its own files.

    Nobody says who owns its name on an index. Without `-e` a copy takes the place of a checkout.
    """
    checkout = f".venv/bin/pip install -e '.[{name}]' in vsperf's checkout"
    return f"{checkout}, or, of its wheel, pip install 'FILE.whl[{name}]'"


def version_text(
    command: Sequence[str], name: str, environment: Mapping[str, str] | None = None
) -> str:
    """Return what a command for `--version` writes; raise `NotReadyError` where that is no answer.

    `name` is what people call the program, and `environment` what it is told beside the usual.
    """
    told, fix = f"{name} does not tell its version", f"see what `{' '.join(command)}` says"
    try:
        done = run(command, ANSWER_S, environment={**os.environ, **(environment or {})})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotReadyError(told, why=str(error), fix=fix) from error
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()
        why = words[-1] if words else f"it {how_it_ended(done.returncode)}"
        raise NotReadyError(told, why=why, fix=fix)
    return done.stdout.strip()
