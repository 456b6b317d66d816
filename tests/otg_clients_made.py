"""Clients of the OTG model of several versions, each as its own community publishes it.

They are kept in build/otg-clients, so that a CI can cache them. What is installed is pinned by its
hash, and none of it is built from Python's sources.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "otg_clients"
MADE = HERE.parent / "build" / "otg-clients"
OF_THE_TESTS = "snappi of these tests"
"""The newest one in Python: what the tests themselves are installed with."""
CLIENTS = ("snappi-1.0.0", "snappi-1.40.0", OF_THE_TESTS, "gosnappi-1.58.0", "gosnappi-1.61.0")
"""The oldest and the newest that packages have of major version 1, and some that once refused."""
LAST_LINES = 5


class CannotBeHadError(Exception):
    """Why a client is not to be had on this machine."""


def command(client: str) -> tuple[str, ...]:
    """Return what starts the script of a client; raises `CannotBeHadError`."""
    script = str(SOURCES / "client.py")
    if client == OF_THE_TESTS:
        return (sys.executable, script)
    MADE.mkdir(parents=True, exist_ok=True)
    with (MADE / f"{client}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other lane may be at it
        if client.startswith("gosnappi"):
            return (str(_built(client)),)
        return (str(_installed(client)), script)


def _installed(client: str) -> Path:
    """Return the Python that has a client, installed if it was not."""
    folder, pins = MADE / client, SOURCES / f"{client}.txt"
    done = folder / "done.txt"
    python = folder / "bin" / "python"
    if not done.exists() or done.read_bytes() != pins.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        _call([sys.executable, "-m", "venv", str(folder)])
        pip = (str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        _call([*pip, "--only-binary=:all:", "--require-hashes", "--requirement", str(pins)])
        shutil.copyfile(pins, done)
    return python


def _built(client: str) -> Path:
    """Return the program of a client in Go, up to date; go itself sees what has changed."""
    if shutil.which("go") is None:
        raise CannotBeHadError("the program go is not installed")
    folder = MADE / client
    folder.mkdir(exist_ok=True)
    for name, source in (("go.mod", f"{client}.mod"), ("go.sum", f"{client}.sum")):
        shutil.copyfile(SOURCES / source, folder / name)
    shutil.copyfile(SOURCES / "main.go", folder / "main.go")
    argv = ["go", "build", "-mod=readonly", "-buildvcs=false", "-o", "client", "."]
    _call(argv, folder)
    return folder / "client"


def _call(argv: list[str], folder: Path | None = None) -> None:
    own = {**os.environ, "GOTOOLCHAIN": "local"}
    done = subprocess.run(argv, cwd=folder, env=own, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        last = " / ".join((done.stdout + done.stderr).splitlines()[-LAST_LINES:])
        raise CannotBeHadError(f"{Path(argv[0]).name} ended with {done.returncode}: {last}")
