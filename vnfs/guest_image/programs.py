"""The programs of this machine that go into the guest, with the libraries that they need."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from .failure import BuildError, output, program
from .kernel import Package

DRIVERS = ("librte_mempool_ring", "librte_net_virtio", "librte_bus_pci")
"""What testpmd loads at run time, unless it is linked with it: some loaded twice end it."""
TGEN = "VSPERF_TGEN"
"""Names the traffic generator, as it does for vsperf itself."""
CHECKOUT = Path(__file__).resolve().parents[2]
SOME_UNKNOWN = 1
"""How dpkg-query ends when some of the files that it was asked for are of no package."""
INSTALL = (
    "install the distribution's packages dpdk, dpdk-dev and busybox-static; `make setup` does so"
)


@dataclass(frozen=True, slots=True)
class Programs:
    """Files of this machine, each with its place in the guest."""

    testpmd: Path
    busybox: Path
    libraries: tuple[Path, ...]
    loader: Path
    drivers: tuple[Path, ...]
    tgen: Path | None = None
    """The traffic generator; a guest without it forwards all the same."""

    @property
    def files(self) -> tuple[Path, ...]:
        own = () if self.tgen is None else (self.tgen,)
        return (self.testpmd, self.busybox, self.loader, *own, *self.libraries, *self.drivers)


def find() -> Programs:
    """Return all of them; raises if one is missing or is no good for a guest."""
    testpmd = program("dpdk-testpmd", "dpdk-dev")
    busybox = program("busybox", "busybox-static")
    if b"/ld-linux" in busybox.read_bytes():
        raise BuildError(
            f"{busybox} is no good for a guest",
            "it needs shared libraries",
            "install the package busybox-static in place of busybox",
        )
    linked = _linked(testpmd)
    drivers = _drivers(linked)
    tgen = find_tgen()
    binaries = (testpmd, *drivers, *(() if tgen is None else (tgen,)))
    every = {path.name: path for each in binaries for path in _linked(each)}
    loader = next(path for name, path in every.items() if name.startswith("ld-linux"))
    libraries = [path for path in every.values() if path != loader]
    return Programs(testpmd, busybox, tuple(sorted(libraries)), loader, drivers, tgen)


def find_tgen(
    environment: Mapping[str, str] = os.environ, checkout: Path = CHECKOUT
) -> Path | None:
    """Return the traffic generator as it was built here; None where it was not.

    One that was built for guests goes before that of this processor, which QEMU may not emulate.
    """
    named = environment.get(TGEN)
    built = [checkout / "build" / folder / "tgen" for folder in ("tgen-guest", "tgen")]
    for found in [Path(named)] if named else built:
        if os.access(found, os.X_OK) and found.is_file():
            return found
    return None


def versions(programs: Programs) -> dict[str, str]:
    """Return the versions of DPDK, as packaged, and of busybox, as it is written in it."""
    eal = next(path for path in programs.libraries if path.name.startswith("librte_eal."))
    dpdk = [package.version for package in packages([eal])]
    found = re.search(rb"BusyBox v(\S+)", programs.busybox.read_bytes())
    return {
        "dpdk": dpdk[0].rpartition("-")[0] or dpdk[0] if dpdk else "unknown",
        "busybox": found[1].decode() if found else "unknown",
    }


def packages(files: Iterable[Path]) -> list[Package]:
    """Return the packages that these files came with; files of no package are left out.

    The list only tells where files are from: if the package database cannot say, it is empty.
    """
    query = program("dpkg-query", "dpkg")
    owners = _owners(query, tuple(files))
    if not owners:
        return []
    form = "--showformat=${Package} ${Version}\n"
    try:
        listing = output([query, "--show", form, *sorted(owners)], "")
    except BuildError:
        return []
    lines = (line.split() for line in sorted(set(listing.splitlines())))
    return [Package(*words) for words in lines if len(words) == len(fields(Package))]


def owners_named(said: str) -> dict[str, list[str]]:
    """Return, by file, the packages in the words of `dpkg-query --search`: several may share one.

    It also tells of diversions, which say by whom a name was moved and not whose the file is.
    """
    lines = [line.partition(": ") for line in said.splitlines()]
    diversions = ("diversion ", "local diversion ")
    return {
        file: names.split(", ")
        for names, _, file in lines
        if file and not names.startswith(diversions)
    }


def applets(busybox: Path) -> list[str]:
    """Return the names under which busybox works."""
    return output([busybox, "--list"], INSTALL).split()


def _owners(query: Path, files: Sequence[Path]) -> set[str]:
    """Ask for all names of the files at once: with a merged /usr, packages may leave it out."""
    named = [[str(name) for name in _names(path)] for path in files]
    every = sorted({name for names in named for name in names})
    try:
        found = owners_named(output([query, "--search", *every], "", ends=(0, SOME_UNKNOWN)))
    except BuildError:
        return set()
    first = (next((found[name] for name in names if name in found), []) for names in named)
    return {owner for owners in first for owner in owners}


def _names(path: Path) -> tuple[Path, ...]:
    real = path.resolve()
    return (path, real, Path(f"/usr{path}"), Path("/", *real.parts[2:]))


def _linked(binary: Path) -> list[Path]:
    """Return the shared objects that the loader would map for a binary."""
    said = output([program("ldd", "libc-bin"), binary], INSTALL)
    if missing := re.findall(r"^\s*(\S+) => not found", said, re.MULTILINE):
        raise BuildError(
            f"{binary} does not run on this machine",
            f"it needs {', '.join(missing)}, which is not there",
            INSTALL,
        )
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(", said, re.MULTILINE)]


def _drivers(linked: Iterable[Path]) -> tuple[Path, ...]:
    """Return the drivers that testpmd has to load, of the same DPDK that it is linked with."""
    libraries = {path.name: path for path in linked}
    eal = next((name for name in libraries if name.startswith("librte_eal.so.")), None)
    if eal is None:
        raise BuildError(
            "dpdk-testpmd holds DPDK in itself",
            "it is not linked with a shared librte_eal, so its drivers cannot be told",
            INSTALL,
        )
    interface = eal.removeprefix("librte_eal.so.")
    home = libraries[eal].resolve().parent
    found: list[Path] = []
    for name in (f"{driver}.so.{interface}" for driver in DRIVERS):
        if name in libraries:
            continue
        places = [*sorted(home.glob(f"dpdk/pmds-{interface}*/{name}")), home / name]
        place = next((path for path in places if path.is_file()), None)
        if place is None:
            raise BuildError(
                f"DPDK's driver {name} is missing", f"it is not in {home}/dpdk", INSTALL
            )
        found.append(place)
    return tuple(found)
