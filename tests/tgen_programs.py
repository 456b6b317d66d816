"""The small C programs through which tests hold tgen's bytes against those of other programs."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
BUILD = REPOSITORY / "build" / "tgen-sanitized"
"""The build for tests; set-up makes it, too."""


def why_not() -> str | None:
    """Return what is missing for building them, or None."""
    for program in ("meson", "ninja", "cc", "pkg-config"):
        if shutil.which(program) is None:
            return f"the program {program} is not installed"
    for library in ("libdpdk", "jansson", "zlib", "cmocka"):
        if subprocess.run(["pkg-config", "--exists", library], check=False).returncode != 0:
            return f"the development files of {library} are not installed"
    return None


def build(name: str) -> Path:
    """Return the program, up to date, with sanitizers."""
    return _build(f"tests/{name}")


def build_whole() -> Path:
    """Return tgen itself, up to date, with sanitizers."""
    return _build("tgen")


def _build(target: str) -> Path:
    """Build as one process at a time."""
    BUILD.parent.mkdir(exist_ok=True)
    with (BUILD.parent / "tgen-sanitized.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (BUILD / "build.ninja").exists():
            options = ["-Db_sanitize=address,undefined", "-Dbuildtype=debugoptimized"]
            _call(["meson", "setup", str(BUILD), str(REPOSITORY / "tools" / "tgen"), *options])
        _call(["ninja", "-C", str(BUILD), target])
    return BUILD / target


def answers(program: Path, lines: Iterable[str], *arguments: str) -> list[str]:
    """Return the lines that the program answers to `lines`."""
    return _call([str(program), *arguments], "".join(f"{line}\n" for line in lines)).splitlines()


def _call(argv: list[str], text: str = "") -> str:
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv[0]}: {done.stdout}{done.stderr}"
    return done.stdout
