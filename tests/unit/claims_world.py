"""A machine whose hugepages runs claim, and runs on it that a test begins and ends.

The trees stand for a kernel that knows how many pages are used; the tests say how many.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from vsperf.host import claims
from vsperf.host.claims import Pool
from vsperf.host.files import Roots
from vsperf.host.hugepages import HostMemory, read_pools, reserve
from vsperf.host.workspace import Workspace, workspace

MEMORY_KB = 8 << 20


def tree(root: Path) -> HostMemory:
    """Return a machine without pools below a folder; its runs keep their places in `run` there."""
    made = HostMemory(root / "sys", root / "proc")
    made.proc.mkdir()
    (made.proc / "meminfo").write_text("Hugepagesize:       2048 kB\n")
    return made


def add_pool(host: HostMemory, node: int, page_kb: int, pages: int) -> Path:
    """Make a pool whose pages are all free, and say which number is its size."""
    folder = host.sysfs / f"devices/system/node/node{node}"
    (pool := folder / f"hugepages/hugepages-{page_kb}kB").mkdir(parents=True)
    (folder / "meminfo").write_text(
        f"Node {node} MemTotal:  {2 * MEMORY_KB} kB\n"
        f"Node {node} MemFree:   {MEMORY_KB // 2} kB\n"
        f"Node {node} Inactive(file):   {MEMORY_KB // 2} kB\n"
    )
    (pool / "nr_hugepages").write_text(f"{pages}\n")
    (pool / "free_hugepages").symlink_to("nr_hugepages")
    return pool / "nr_hugepages"


PAGE = 2 << 20


@dataclass
class World:
    """A machine with one pool, and runs on it that a test begins and ends."""

    folder: Path
    host: HostMemory
    number: Path
    runs: dict[str, ExitStack] = field(default_factory=dict)
    places: dict[str, Workspace] = field(default_factory=dict)

    @property
    def pool(self) -> Pool:
        return read_pools(self.host)[0]

    @property
    def ledger(self) -> Path:
        return self.host.ledger(self.pool)

    @property
    def total(self) -> int:
        return int(self.number.read_text())

    def set_total(self, pages: int) -> None:
        self.number.write_text(f"{pages}\n")

    def use(self, pages: int) -> None:
        """Say how many pages programs use from now on."""
        (self.number.parent / "used").write_text(f"{pages}\n")

    def begin(self, name: str, pages: int) -> None:
        stack = ExitStack()
        place = stack.enter_context(workspace(name, self.folder / name, Roots(self.folder)))
        stack.enter_context(reserve({0: pages * PAGE}, place, self.host))
        self.runs[name], self.places[name] = stack, place

    def end(self, name: str) -> None:
        self.runs.pop(name).close()


@pytest.fixture(name="world")
def fixture_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="claims-"))
    folder.chmod(0o755)
    host = tree(folder)
    made = World(folder, host, add_pool(host, 0, 2048, 7))
    made.use(0)

    def free(pool: Pool) -> int:
        return max(0, pool.total - int((pool.folder / "used").read_text()))

    def resize(pool: Pool, pages: int) -> None:
        """Change the number at once, as the kernel does: no run ever reads an empty file."""
        changed = pool.folder / f"nr_hugepages.{threading.get_ident()}"
        changed.write_text(f"{pages}\n")
        changed.replace(pool.folder / "nr_hugepages")

    monkeypatch.setattr(Pool, "free", property(free))
    monkeypatch.setattr(Pool, "resize", resize)
    monkeypatch.setattr(claims, "FREED_S", 0.05)
    try:
        yield made
        for run in made.runs.values():
            run.close()
    finally:
        shutil.rmtree(folder)
