"""Where a program of our own is: named by the user, built in this checkout, or installed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.trust.programs import program_path, whole

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class OwnProgram:
    """A program whose source is in `tools/`, in a folder of its name."""

    name: str
    is_what: str
    """What it is, for people, such as `the traffic generator tgen`."""

    @property
    def variable(self) -> str:
        """The environment's variable that names another one."""
        return f"VSPERF_{self.name.upper().replace('-', '_')}"

    @property
    def build_command(self) -> str:
        return (
            "make setup builds it in a checkout; by hand: "
            f"meson setup build/{self.name} tools/{self.name} && ninja -C build/{self.name}"
        )

    def find(self, environment: Mapping[str, str] = os.environ, checkout: Path = CHECKOUT) -> Path:
        """Return the program; raises `NotReadyError` with the way to build it, or to get it."""
        if named := environment.get(self.variable):
            if _runs(Path(named)):
                return Path(whole(named))
            raise NotReadyError(
                f"${self.variable} names {named}, which is no program that can be run",
                fix=f"unset {self.variable}, or let it name the program {self.name}",
            )
        built = checkout / "build" / self.name / self.name
        if _runs(built):
            return built
        if installed := program_path(self.name, environment):
            return Path(installed)
        if not (checkout / "tools" / self.name).is_dir():  # vsperf came as a wheel
            raise NotReadyError(
                f"{self.is_what} is not there",
                why=f"there is none in $PATH, and ${self.variable} is not set",
                fix=f"copy build/{self.name}/{self.name} of a checkout that was set up into a "
                f"folder of $PATH, or name it: {self.variable}=FILE",
            )
        raise NotReadyError(
            f"{self.is_what} is not built",
            why=f"there is no {built}, none in $PATH, and ${self.variable} is not set",
            fix=self.build_command,
        )

    def planned(self, environment: Mapping[str, str] = os.environ) -> str:
        """Return what a plan calls the program, which need not be there yet."""
        try:
            return str(self.find(environment))
        except NotReadyError:
            return self.name


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
