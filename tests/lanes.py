"""Two workers, two lanes: one for tests that need the machine for themselves, one for all others.

Tests that need the machine run one after the other whoever runs them, and wait for most of their
time: for a guest that boots, or a trial that lasts. The other lane fills the gaps from the start.
It has as much of the CPUs as they have: on a machine that others use, too, it would starve if it
gave way, and what they assert holds beside it.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

MACHINE = "machine"
MARK = f"pytest.mark.{MACHINE}"
FIRST = "gw0"


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """Gives the first worker all tests that need the machine, and the others one file at a time.

    Which worker asks first is up to chance.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        return MACHINE if needs_machine(self.config.rootpath / file, test) else file

    def _assign_work_unit(self, node: Any) -> None:
        if MACHINE in self.workqueue:
            self.workqueue.move_to_end(MACHINE, last=node.gateway.id != FIRST)
        super()._assign_work_unit(node)


def needs_machine(file: Path, test: str) -> bool:
    """Whether a test of a file needs the machine; it may stand in a class, and have parameters."""
    marked = _marked(file)
    return marked is None or test.partition("::")[0].partition("[")[0] in marked


@cache
def _marked(file: Path) -> frozenset[str] | None:
    """Return the functions and classes of a file that are marked; None if all of the file is."""
    text = file.read_text()
    if MARK not in text:
        return frozenset()
    body = ast.parse(text).body
    if any(isinstance(node, ast.Assign) and MARK in ast.unparse(node) for node in body):
        return None
    return frozenset(
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and MARK in ast.unparse(node)
    )
