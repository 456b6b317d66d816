"""A machine made of files, and what one check says of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from machine_tree import MachineTree

from vsperf.host.doctor.examine import GENERAL, examine
from vsperf.host.doctor.finding import Check, Finding, Host


class Machine(MachineTree):
    """A machine of four CPUs, whose user is root; `here` is what a check is asked of."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "machine")
        self.cpus(4)
        self.user(0)
        self.here = Host(
            roots=self.roots,
            usable=frozenset(range(4)),
            environment={"PATH": str(folder / "bin")},
            results=folder,
        )

    def answer(self, name: str, checks: Iterable[Check] = GENERAL) -> Finding:
        """Return what the check of this name says."""
        (finding,) = examine(self.here, [check for check in checks if check.name == name])
        return finding


@pytest.fixture(name="machine")
def fixture_machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
