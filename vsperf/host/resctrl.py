"""Parts of the last-level cache, by the kernel's `resctrl`: Intel RDT and AMD QoS.

A group is a folder of the kernel: its CPUs, its ways of the cache (CAT) and its percents of the
memory's bandwidth (MBA) are files in it, and so is what it holds and moves (CMT, MBM).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import NotReadyError, Problem, SpecError
from vsperf.host.files import Roots, integer, text
from vsperf.host.undo import RemoveCacheGroup
from vsperf.host.workspace import Workspace
from vsperf.record.cache import CacheActivity
from vsperf.spec.cache import CacheShare
from vsperf.units import CpuSet

COUNTERS = {
    "occupancy_bytes": "llc_occupancy",
    "total_bytes": "mbm_total_bytes",
    "local_bytes": "mbm_local_bytes",
}
MOUNT = "mount -t resctrl resctrl /sys/fs/resctrl"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the processor can share out."""

    ways: int
    least_ways: int
    groups: int
    bandwidth_percent: int | None
    """The least that a group can have; None where bandwidth cannot be limited."""
    caches: tuple[str, ...]
    """Numbers of the caches, each of which is shared out alike."""


def abilities(roots: Roots) -> Abilities:
    """Return what can be shared out; raises `NotReadyError` with why nothing can."""
    folder = roots.resctrl
    mask = text(folder / "info" / "L3" / "cbm_mask")
    if not folder.is_dir():
        raise _not_here("the kernel has no resctrl: no RDT or QoS in the processor, or hidden by a "
                        "hypervisor")  # fmt: skip
    if not (folder / "info").is_dir():
        raise _not_here("resctrl is not mounted", MOUNT)
    if mask is None:
        raise _not_here("the processor's last-level cache cannot be shared out (no L3 CAT)")
    bandwidth = folder / "info" / "MB"
    schemata = (text(folder / "schemata") or "").splitlines()
    line = next((one for one in schemata if one.strip().startswith("L3:")), "L3:0=")
    return Abilities(
        ways=int(mask, 16).bit_count(),
        least_ways=integer(folder / "info" / "L3" / "min_cbm_bits") or 1,
        groups=integer(folder / "info" / "L3" / "num_closids") or 1,
        bandwidth_percent=integer(bandwidth / "min_bandwidth") if bandwidth.is_dir() else None,
        caches=tuple(part.partition("=")[0] for part in line.strip()[3:].split(";")),
    )


def masks_of(shares: Mapping[str, CacheShare], able: Abilities) -> dict[str, int]:
    """Return the ways of each role as bits, next to each other and none of them twice."""
    wanted = sum(share.ways for share in shares.values())
    small = [role for role, share in shares.items() if share.ways < able.least_ways]
    limited = [role for role, share in shares.items() if share.bandwidth_percent is not None]
    problems = []
    if wanted > able.ways:
        problems.append(
            Problem(
                f"`cache` gives away {wanted} ways, and the last-level cache has {able.ways}",
                fix=f"let the numbers add up to {able.ways} or less",
            )
        )
    if small:
        problems.append(
            Problem(f"a group has at least {able.least_ways} ways here: {', '.join(small)} has not")
        )
    if len(shares) + 1 > able.groups:
        problems.append(
            Problem(f"`cache` has {len(shares)} groups, and there can be {able.groups - 1}")
        )
    if limited and able.bandwidth_percent is None:
        problems.append(Problem(f"bandwidth cannot be limited here, as for {', '.join(limited)}"))
    if problems:
        raise SpecError(problems)
    masks, place = {}, 0
    for role, share in shares.items():
        masks[role] = ((1 << share.ways) - 1) << place
        place += share.ways
    return masks


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a deployment."""

    folders: Mapping[str, Path]

    def counts(self) -> tuple[CacheActivity, ...]:
        """Return what each holds, and has moved since it was made."""
        return tuple(_counts(role, folder) for role, folder in self.folders.items())


@contextmanager
def partitioned(
    shares: Mapping[str, CacheShare], cpus: Mapping[str, Sequence[int]], workspace: Workspace
) -> Iterator[Groups]:
    """Give each role its part of the cache; leaving the context takes the groups away."""
    roots = workspace.reach.roots
    able = abilities(roots)
    masks = masks_of(shares, able)
    with ExitStack() as stack:
        folders = {}
        for role, share in shares.items():
            folder = roots.resctrl / f"{workspace.name}-{role}"
            stack.enter_context(workspace.undoing(RemoveCacheGroup(folder=folder)))
            lines = [f"L3:{_each(able.caches, f'{masks[role]:x}')}"]
            if share.bandwidth_percent is not None:
                least = able.bandwidth_percent or 1
                lines.append(f"MB:{_each(able.caches, str(max(least, share.bandwidth_percent)))}")
            try:
                folder.mkdir()
                (folder / "schemata").write_text("\n".join(lines) + "\n")
                (folder / "cpus_list").write_text(f"{CpuSet.of(cpus[role])}\n")
            except OSError as error:
                status = text(roots.resctrl / "info" / "last_cmd_status")
                raise NotReadyError(
                    f"the part of the cache for {role} cannot be made",
                    why=f"{status or error.strerror}, told {' '.join(lines)}",
                    fix="run vsperf with sudo; groups of others may be in the way: ls "
                    f"{roots.resctrl}",
                ) from error
            folders[role] = folder
        yield Groups(folders)


def _each(caches: Sequence[str], value: str) -> str:
    return ";".join(f"{cache}={value}" for cache in caches)


def _counts(role: str, folder: Path) -> CacheActivity:
    found = {}
    for name, file in COUNTERS.items():
        counts = [integer(one / file) for one in (folder / "mon_data").glob("mon_L3_*")]
        known = [count for count in counts if count is not None]
        found[name] = sum(known) if known and len(known) == len(counts) else None
    return CacheActivity(role=role, **found)


def _not_here(why: str, fix: str | None = None) -> NotReadyError:
    return NotReadyError(
        "the cache cannot be shared out on this machine",
        why=why,
        fix=fix or "leave `cache` out, or take a machine whose processor has RDT or QoS",
    )
