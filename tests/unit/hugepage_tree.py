"""Pools of hugepages made of files, and how many pages of them programs use."""

from __future__ import annotations

from pathlib import Path

from vsperf.host.hugepages import HostMemory

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
