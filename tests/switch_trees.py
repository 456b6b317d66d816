"""Trees of this machine's switches and QEMU, with all that their programs load."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from vsperf.dpdk.running import find_testpmd
from vsperf.drivers.vswitches.ovs import programs as ovs
from vsperf.drivers.vswitches.vpp import programs as vpp
from vsperf.qemu.host import IN_A_TREE

PLUGINS = ("librte_mempool_ring.so", "librte_bus_vdev.so")
"""Without these, DPDK makes no buffers and knows no virtual devices."""
VHOST = "librte_net_vhost.so"
"""With it, DPDK has vhost-user ports; OVS brings its own way to them."""
LIBRARY = re.compile(r"(/\S+) \(0x")


def ovs_tree(folder: Path) -> Path:
    """Make a tree of this machine's OVS."""
    programs = ovs.planned_programs(None)
    plugins = _plugins(PLUGINS)
    return _tree(folder, (*programs.paths[:-1], *plugins), (programs.schema,), plugins)


def testpmd_tree(folder: Path) -> Path:
    """Make a tree of this machine's testpmd."""
    plugins = _plugins((*PLUGINS, VHOST))
    return _tree(folder, (Path(find_testpmd("a test")), *plugins), (), plugins)


def vpp_tree(folder: Path, install: str | None) -> Path:
    """Make a tree of a VPP, installed in it where it is on this machine."""
    programs = vpp.find_programs(install)
    assert programs.plugins is not None and programs.definitions is not None
    loaded = [*programs.plugins.glob("*.so"), programs.daemon, Path(vpp.ENVIRONMENT)]
    # A build directory has much more there, which others may write to.
    return _tree(folder, loaded, programs.definitions.rglob("*.api.json"), ())


def qemu_tree(folder: Path) -> Path:
    """Make a tree of this machine's QEMU, with its firmware and its way to emulate."""
    program = Path(IN_A_TREE)
    modules = [*Path("/usr/lib").glob("*/qemu/accel-tcg-x86_64.so")]
    firmware = [
        file
        for room in ("seabios", "qemu")
        for file in Path("/usr/share", room).rglob("*")
        if file.is_file()
    ]
    return _tree(folder, (program, *modules), firmware, ())


def _plugins(names: Iterable[str]) -> list[Path]:
    return [file for name in names for file in Path("/usr/lib").glob(f"*/dpdk/pmds-*/{name}*")]


def _tree(
    folder: Path, programs: Iterable[Path], others: Iterable[Path], as_links: Iterable[Path]
) -> Path:
    """Copy programs with what they load, and other files; links stay links where they have to."""
    whole, links = [*programs], {*as_links}
    for file in dict.fromkeys((*whole, *_libraries(whole), *others)):
        place = folder / file.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        # DPDK loads every plugin by all its names, and must find one library behind them.
        shutil.copy2(file, place, follow_symlinks=file not in links)
    return folder


def _libraries(programs: Iterable[Path]) -> list[Path]:
    said = subprocess.run(
        ["ldd", *(str(program) for program in programs)], text=True, capture_output=True, check=True
    )
    return [Path(name) for name in LIBRARY.findall(said.stdout)]
