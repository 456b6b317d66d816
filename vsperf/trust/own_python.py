"""Starts Python programs of vsperf's own: the one place that says how.

Python takes modules from the working directory, from the user's own packages and from wherever
`PYTHON…` says. A stranger's folder would so decide what root runs. What is started from here looks
at none of them: it has the interpreter, what is installed beside it, and the vsperf that runs
already, from a checkout, too.

As a program, this file is what begins such a module:

    python3 -I own_python.py FOLDER MODULE ARGUMENT…
"""

import runpy
import sys
from pathlib import Path

BESIDE_US = Path(__file__).resolve().parents[2]
"""The folder that holds the package `vsperf` which runs."""
ISOLATED = "-I"
"""No working directory, no packages of the user, no variable `PYTHON…`."""
LIBRARY_ONLY = "-S"
"""Nor what is installed: the standard library alone, which is also there sooner."""


def module(name: str, *arguments: str, folder: Path = BESIDE_US) -> tuple[str, ...]:
    """Return the command that runs a module of a folder, which is vsperf's own if none is named."""
    return (sys.executable, ISOLATED, str(Path(__file__).resolve()), str(folder), name, *arguments)


def script(file: Path, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a file which needs nothing but the standard library."""
    return (sys.executable, ISOLATED, LIBRARY_ONLY, str(file), *arguments)


def main() -> None:
    """Become the module that is named, as `python -m` would."""
    folder, name, *arguments = sys.argv[1:]
    sys.path.insert(0, folder)
    sys.argv[1:] = arguments
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
