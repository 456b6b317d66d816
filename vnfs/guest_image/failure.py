"""What can go wrong for whoever builds an image, said so that it can be put right."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

FOREIGN = (
    *("LD_PRELOAD", "LD_LIBRARY_PATH"),
    *("CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"),
)
"""What a caller's environment may hold that would change what tools load or compile."""


class BuildError(Exception):
    """The image cannot be built: what, why, and how to go on."""

    def __init__(self, what: str, why: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}\n  why: {self.why}\n  fix: {self.fix}"


def program(name: str, package: str) -> Path:
    """Return where a program of this machine is."""
    found = shutil.which(name)
    if found is None:
        raise BuildError(
            f"the guest image needs the program {name}",
            "it is not in $PATH",
            f"install the package {package}; `make setup` does so",
        )
    return Path(found)


def environment() -> dict[str, str]:
    """Return what tools run with: the caller's, less what would change words or results."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return {**kept, "LC_ALL": "C", "LANGUAGE": ""}


def output(
    argv: Sequence[str | Path], fix: str, cwd: Path | None = None, ends: Sequence[int] = (0,)
) -> str:
    """Return what a command writes; one that ends otherwise is an error with its last words."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(  # noqa: S603 - an argument vector of our own
            words,
            cwd=cwd,
            env=environment(),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{words[0]} does not run", str(error), fix) from error
    if done.returncode not in ends:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-15:]
        raise BuildError(
            f"`{' '.join(words)}` failed",
            "\n       ".join(said) or f"it ended with {done.returncode} and said nothing",
            fix,
        )
    return done.stdout
