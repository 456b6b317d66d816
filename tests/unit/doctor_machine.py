"""A machine made of files, and what one check says of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from machine_tree import MachineTree

from vsperf.host.doctor.examine import GENERAL, examine
from vsperf.host.doctor.finding import Check, Finding, Host


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path) -> MachineTree:
    tree = MachineTree(tmp_path / "machine")
    tree.cpus(4)
    tree.user(0)
    return tree


@pytest.fixture(name="here")
def fixture_here(tree: MachineTree, tmp_path: Path) -> Host:
    return Host(
        roots=tree.roots,
        usable=frozenset(range(4)),
        environment={"PATH": str(tmp_path / "bin")},
        results=tmp_path,
    )


def answer(here: Host, name: str, checks: Iterable[Check] = GENERAL) -> Finding:
    (finding,) = examine(here, [check for check in checks if check.name == name])
    return finding
