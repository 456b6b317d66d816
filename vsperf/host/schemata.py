"""Lines of `schemata`, in which the kernel keeps what a group of resctrl has of each cache."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

CACHE_LINE = re.compile(r"L3:\d+=[0-9a-f]+(;\d+=[0-9a-f]+)*")


def values_of(schemata: str, resource: str) -> dict[str, str]:
    """Return what is written of a resource, such as `L3`, by the number of the cache."""
    for line in schemata.splitlines():
        name, _, parts = line.strip().partition(":")
        if name == resource:
            pairs = (part.partition("=") for part in parts.split(";"))
            return {cache.strip(): value.strip() for cache, _, value in pairs}
    return {}


def masks_in(schemata: str) -> dict[str, int]:
    """Return the ways of each cache as bits; those of a group that is set up as no mask are none.

    The kernel fills masks up with zeros, so that two texts may say the same.
    """
    found = {}
    for cache, value in values_of(schemata, "L3").items():
        try:
            found[cache] = int(value, 16)
        except ValueError:
            found[cache] = 0
    return found


def cache_line(masks: Mapping[str, int]) -> str:
    """Return the line that gives a group these ways of each cache."""
    return "L3:" + ";".join(f"{cache}={mask:x}" for cache, mask in masks.items())


def is_wider(before: str, now: str) -> bool:
    """Whether both are lines on the same caches, and nobody loses a way by going back."""
    if not (CACHE_LINE.fullmatch(before) and CACHE_LINE.fullmatch(now)):
        return False
    old, new = masks_in(before), masks_in(now)
    return old.keys() == new.keys() and all(old[one] & mask == mask for one, mask in new.items())


def put_back(folder: Path, before: str, now: str) -> None:
    """Give a group back what it had, unless somebody has changed it meanwhile."""
    schemata = folder / "schemata"
    if schemata.exists() and masks_in(schemata.read_text()) == masks_in(now):
        schemata.write_text(f"{before}\n")
