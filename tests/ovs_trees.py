"""Trees of this machine's OVS, with all that its programs load."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from vsperf.vswitches.ovs.programs import planned_programs

PLUGINS = ("librte_mempool_ring.so", "librte_bus_vdev.so")
"""Without these, DPDK makes no buffers and knows no virtual devices."""
LIBRARY = re.compile(r"(/\S+) \(0x")


def ovs_tree(folder: Path) -> Path:
    """Make a tree of this machine's OVS with all that its programs load."""
    programs = planned_programs(None)
    plugins = [file for name in PLUGINS for file in Path("/usr/lib").glob(f"*/dpdk/pmds-*/{name}*")]
    loaded = _libraries((*programs.paths[:-1], *plugins))
    for file in dict.fromkeys((*programs.paths, *loaded, *plugins)):
        place = folder / file.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        # DPDK loads every plugin by all its names, and must find one library behind them.
        shutil.copy2(file, place, follow_symlinks=file not in plugins)
    return folder


def _libraries(programs: Iterable[Path]) -> list[Path]:
    said = subprocess.run(
        ["ldd", *(str(program) for program in programs)], text=True, capture_output=True, check=True
    )
    return [Path(name) for name in LIBRARY.findall(said.stdout)]
