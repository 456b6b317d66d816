"""Where the program is: named by the user, built in this checkout, or installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from vsperf.errors import NotReadyError

VARIABLE = "VSPERF_TGEN"
CHECKOUT = Path(__file__).resolve().parents[3]
BUILD_COMMAND = (
    "make setup builds it in a checkout; by hand: "
    "meson setup build/tgen tools/tgen && ninja -C build/tgen"
)


def find_binary(environment: Mapping[str, str] = os.environ, checkout: Path = CHECKOUT) -> Path:
    """Return the program; raises `NotReadyError` with the way to build it."""
    if named := environment.get(VARIABLE):
        if _runs(Path(named)):
            return Path(named)
        raise NotReadyError(
            f"${VARIABLE} names {named}, which is no program that can be run",
            fix=f"unset {VARIABLE}, or let it name the program tgen",
        )
    built = checkout / "build" / "tgen" / "tgen"
    if _runs(built):
        return built
    if installed := shutil.which("tgen", path=environment.get("PATH")):
        return Path(installed)
    raise NotReadyError(
        "the traffic generator tgen is not built",
        why=f"there is no {built}, none in $PATH, and ${VARIABLE} is not set",
        fix=BUILD_COMMAND,
    )


def planned_binary(environment: Mapping[str, str] = os.environ) -> str:
    """Return what a plan calls the program, which need not be there yet."""
    try:
        return str(find_binary(environment))
    except NotReadyError:
        return "tgen"


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
