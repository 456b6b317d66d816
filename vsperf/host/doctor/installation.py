"""Checks of what was installed, and of where results go."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from collections import Counter
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from vsperf.host.doctor.finding import Answer, Check, Group, Host, failure, ok, warning
from vsperf.host.facts import free_bytes, os_name

GIGABYTE = 10**9
LEAST_FREE_BYTES = GIGABYTE


def _system(here: Host) -> Answer:
    evidence = f"{os_name(here.roots) or sys.platform}, kernel {platform.release()}"
    if sys.platform != "linux":
        return failure(evidence, "use Linux; vsperf does not run elsewhere")
    return ok(f"{evidence}, {platform.machine()}")


def _python(here: Host) -> Answer:
    return ok(f"{platform.python_version()} at {sys.executable}")


def _packages(here: Host) -> Answer:
    try:
        names = [_name(text) for text in requires("vsperf") or [] if "extra ==" not in text]
    except PackageNotFoundError:
        return failure("vsperf is not installed", "pip install .")
    found = {name: _version(name) for name in names}
    missing = [name for name, present in found.items() if present is None]
    if missing:
        return failure(f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    return ok(", ".join(f"{name} {present}" for name, present in found.items()))


def _name(requirement: str) -> str:
    """Return the name that a requirement such as `click>=8.1` begins with."""
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _drivers(here: Host) -> Answer:
    broken = [f"{p.section} {p.kind}: {p.failure}" for p in here.plugins.all if p.failure]
    if broken:
        return warning("; ".join(broken), "vsperf plugins")
    counts = Counter(plugin.section for plugin in here.plugins.all)
    found = ", ".join(f"{section} {count}" for section, count in counts.items())
    if not found:
        return failure("none found", "pip install .")
    return ok(f"{found}; `vsperf plugins` names them")


def _results(here: Host) -> Answer:
    existing = _existing(here.results)
    if not existing.is_dir():
        return failure(f"{existing} is not a folder", "choose another one with --results DIR")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return failure(f"{existing}: {error.strerror}", "choose another one with --results DIR")
    return ok(f"{here.results} can be written")


def _disk(here: Host) -> Answer:
    free = free_bytes(here.results)
    evidence = f"{free / GIGABYTE:.1f} GB free for {here.results}"
    if free < LEAST_FREE_BYTES:
        return warning(evidence, "make room, or use --results DIR")
    return ok(evidence)


def _terminal(here: Host) -> Answer:
    encoding = (sys.stdout.encoding or "unknown").lower()
    if "utf" not in encoding:
        return warning(f"writes {encoding}, in which some signs are missing", "export LANG=C.UTF-8")
    kind = "a terminal" if os.isatty(1) else "a file or a pipe"
    return ok(f"{encoding}, {kind}")


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


CHECKS = tuple(
    Check(name, Group.INSTALLATION, ask)
    for name, ask in (
        ("system", _system),
        ("python", _python),
        ("packages", _packages),
        ("drivers", _drivers),
        ("results", _results),
        ("disk", _disk),
        ("terminal", _terminal),
    )
)
