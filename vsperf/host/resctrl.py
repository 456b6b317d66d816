"""Parts of the last-level cache, by the kernel's `resctrl`: Intel RDT and AMD QoS.

A group is a folder of the kernel: its CPUs, its ways of the cache (CAT) and its percents of the
memory's bandwidth (MBA) are files in it, and so is what it holds and moves (CMT, MBM). The topmost
folder is the group of all others: whatever is in no group may fill the ways that it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vsperf.config.cache import CacheShare
from vsperf.errors import NotReadyError, Problem, SpecError, VsperfError
from vsperf.host.files import Roots, integer, text
from vsperf.host.schemata import cache_line, masks_in, values_of
from vsperf.host.undo import RemoveCacheGroup, ReturnCacheWays
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import CpuSet
from vsperf.records.switch import CacheActivity

COUNTERS = {
    "occupancy_bytes": "llc_occupancy",
    "total_bytes": "mbm_total_bytes",
    "local_bytes": "mbm_local_bytes",
}
MOUNT = "mount -t resctrl resctrl /sys/fs/resctrl"
REMOUNT = f"umount /sys/fs/resctrl; {MOUNT}"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the processor can share out, and what of it is in use."""

    ways: int
    least_ways: int
    groups: int
    """With the one of all others."""
    bandwidth_percent: int | None
    """The least that a group can have; None where bandwidth cannot be limited by percents."""
    caches: tuple[str, ...]
    """Numbers of the caches, each of which is shared out alike."""
    no_bandwidth: str | None = None
    """Why it cannot."""
    bandwidth_step: int = 1
    device_ways: int = 0
    """Ways that devices may write into, too, as bits."""
    kept: Mapping[str, int] = field(default_factory=dict)
    """Ways that the group of all others has of each cache, as bits."""
    taken: Mapping[str, int] = field(default_factory=dict)
    """Ways that other groups have by now, as bits, by name."""

    @property
    def all_ways(self) -> int:
        return (1 << self.ways) - 1


def abilities(roots: Roots) -> Abilities:
    """Return what can be shared out; raises `NotReadyError` with why nothing can."""
    folder = roots.resctrl
    info = folder / "info" / "L3"
    mask = text(info / "cbm_mask")
    if not folder.is_dir():
        raise _not_here("the kernel has no resctrl: no RDT or QoS in the processor, or hidden by a "
                        "hypervisor")  # fmt: skip
    if not (folder / "info").is_dir():
        raise _not_here("resctrl is not mounted", MOUNT)
    if mask is None and (folder / "info" / "L3CODE").is_dir():
        raise _not_here("resctrl is mounted with ways apart for code and data (cdp)", REMOUNT)
    if mask is None:
        raise _not_here("the processor's last-level cache cannot be shared out (no L3 CAT)")
    root = text(folder / "schemata") or ""
    kept = masks_in(root)
    no_bandwidth = _no_bandwidth(folder, root)
    bandwidth = folder / "info" / "MB"
    return Abilities(
        ways=int(mask, 16).bit_count(),
        least_ways=integer(info / "min_cbm_bits") or 1,
        groups=integer(info / "num_closids") or 1,
        bandwidth_percent=None if no_bandwidth else integer(bandwidth / "min_bandwidth") or 1,
        caches=tuple(kept) or ("0",),
        no_bandwidth=no_bandwidth,
        bandwidth_step=integer(bandwidth / "bandwidth_gran") or 1,
        device_ways=int(text(info / "shareable_bits") or "0", 16),
        kept=kept,
        taken=_taken(folder),
    )


def _no_bandwidth(folder: Path, root: str) -> str | None:
    """Return why bandwidth cannot be limited by percents; None where it can.

    Everybody has 100 then. Absolute numbers look the same in a group of ours, and mean another
    thing: so they are known by what the group of all others has.
    """
    if not (folder / "info" / "MB").is_dir():
        return "the processor has no limits of bandwidth (no MBA)"
    limits = values_of(root, "MB")
    if limits and set(limits.values()) == {"100"}:
        return None
    said = ";".join(f"{cache}={value}" for cache, value in limits.items()) or "nothing"
    return (
        f"limits are no percents, or somebody has set some: all others have MB:{said} instead of "
        "100 of each; processors with AMD QoS, and the mount option mba_MBps, take absolute numbers"
    )


def _taken(folder: Path) -> dict[str, int]:
    """Return the ways that groups have; what is no group has no `schemata`."""
    found = {}
    for schemata in sorted(folder.glob("*/schemata")):
        ways = 0
        for mask in masks_in(text(schemata) or "").values():
            ways |= mask
        found[schemata.parent.name] = ways
    return found


def masks_of(shares: Mapping[str, CacheShare], able: Abilities) -> dict[str, int]:
    """Return the ways of each role as bits, next to each other and none of them twice."""
    masks, place = {}, 0
    for role, share in shares.items():
        masks[role] = ((1 << share.ways) - 1) << place
        place += share.ways
    problems = [*_of_ways(shares, able), *_of_bandwidth(shares, able)]
    if not problems:
        problems += _of_others((1 << place) - 1, able)
    if problems:
        raise SpecError(problems)
    return masks


def _of_ways(shares: Mapping[str, CacheShare], able: Abilities) -> Iterator[Problem]:
    wanted = sum(share.ways for share in shares.values())
    small = [role for role, share in shares.items() if share.ways < able.least_ways]
    most = able.ways - able.least_ways
    if wanted > able.ways:
        yield Problem(
            f"`cache` gives away {wanted} ways, and the last-level cache has {able.ways}",
            fix=f"let the numbers add up to {most} or less",
        )
    elif wanted > most:
        yield Problem(
            f"`cache` gives away {wanted} of {able.ways} ways, and too few are left to all others",
            why=f"a group has at least {able.least_ways} here, and so has theirs",
            fix=f"let the numbers add up to {most} or less",
        )
    if small:
        yield Problem(
            f"a group has at least {able.least_ways} ways here: {', '.join(small)} has not"
        )
    if len(shares) + 1 > able.groups:
        yield Problem(f"`cache` has {len(shares)} groups, and there can be {able.groups - 1}")


def _of_bandwidth(shares: Mapping[str, CacheShare], able: Abilities) -> Iterator[Problem]:
    limits = {role: share.bandwidth_percent for role, share in shares.items()}
    limited = {role: percent for role, percent in limits.items() if percent is not None}
    if able.bandwidth_percent is None:
        if limited:
            what = f"bandwidth cannot be limited here, as for {', '.join(limited)}"
            yield Problem(what, why=able.no_bandwidth)
        return
    for role, percent in limited.items():
        if percent < able.bandwidth_percent:
            yield Problem(
                f"{role} is to have {percent}% of the bandwidth, and the least here is "
                f"{able.bandwidth_percent}%"
            )
        elif percent % able.bandwidth_step:
            yield Problem(
                f"{role} is to have {percent}% of the bandwidth, and limits go by steps of "
                f"{able.bandwidth_step}% here"
            )


def _of_others(wanted: int, able: Abilities) -> Iterator[Problem]:
    """Tell who has ways by now that would not be a role's own."""
    for name, ways in able.taken.items():
        if ways & wanted:
            yield Problem(
                f"the group {name} has ways of the last-level cache that `cache` gives away",
                why="they would not be a part's own",
                fix="vsperf clean takes away what a killed run left; rmdir removes other groups",
            )
    if any(ways != able.all_ways for ways in able.kept.values()):
        yield Problem(
            "somebody has taken ways of the last-level cache from the group of all others",
            why=f"it has {cache_line(able.kept)}, and {able.all_ways:x} would be all",
            fix="vsperf clean gives back what a killed run took; another run may share it out now",
        )


def shared_with_devices(shares: Mapping[str, CacheShare], roots: Roots) -> dict[str, int]:
    """Return how many ways of each role devices may write into, too; nothing where none can be had.

    Such as by DDIO: what a NIC receives then takes the place of what the role had there.
    """
    try:
        able = abilities(roots)
        masks = masks_of(shares, able)
    except VsperfError:
        return {}  # it is told when it matters: before anything starts
    both = {role: (mask & able.device_ways).bit_count() for role, mask in masks.items()}
    return {role: count for role, count in both.items() if count}


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
    """Give each role its part of the cache, and all others the rest; leaving gives all of it back.

    What a role has is its own only once the others have lost it.
    """
    roots = workspace.reach.roots
    able = abilities(roots)
    masks = masks_of(shares, able)
    with ExitStack() as stack:
        folders = {}
        for role, share in shares.items():
            folder = roots.resctrl / f"{workspace.name}-{role}"
            stack.enter_context(workspace.undoing(RemoveCacheGroup(folder=folder)))
            lines = [cache_line(dict.fromkeys(able.caches, masks[role]))]
            if share.bandwidth_percent is not None:
                limits = (f"{cache}={share.bandwidth_percent}" for cache in able.caches)
                lines.append(f"MB:{';'.join(limits)}")
            with _refused(f"the part of the cache for {role} cannot be made", lines, roots):
                folder.mkdir()
                (folder / "schemata").write_text("\n".join(lines) + "\n")
                (folder / "cpus_list").write_text(f"{CpuSet.of(cpus[role])}\n")
            folders[role] = folder
        stack.enter_context(_taken_from_others(able, sum(masks.values()), workspace))
        yield Groups(folders)


@contextmanager
def _taken_from_others(able: Abilities, given: int, workspace: Workspace) -> Iterator[None]:
    """Leave the group of all others the ways that nobody was given."""
    roots = workspace.reach.roots
    before = {cache: able.kept.get(cache, able.all_ways) for cache in able.caches}
    rest = cache_line({cache: ways & ~given for cache, ways in before.items()})
    undo = ReturnCacheWays(folder=roots.resctrl, before=cache_line(before), now=rest)
    with workspace.undoing(undo):
        with _refused("the ways of the cache cannot be taken from all others", [rest], roots):
            (roots.resctrl / "schemata").write_text(f"{rest}\n")
        yield


@contextmanager
def _refused(what: str, lines: Sequence[str], roots: Roots) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        status = text(roots.resctrl / "info" / "last_cmd_status")
        raise NotReadyError(
            what,
            why=f"{status or error.strerror}, told {' '.join(lines)}",
            fix=f"run vsperf with sudo; groups of others may be in the way: ls {roots.resctrl}",
        ) from error


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
