"""Parts of the last-level cache for tests, and a processor that can have them."""

from __future__ import annotations

from vsperf.config.cache import CacheShare
from vsperf.host.resctrl import Abilities

ABLE = Abilities(
    ways=11,
    least_ways=1,
    groups=4,
    bandwidth_percent=10,
    caches=("0", "1"),
    bandwidth_step=10,
    device_ways=0b11000000000,
    kept={"0": 0x7FF, "1": 0x7FF},
)


def shares(**words: str) -> dict[str, CacheShare]:
    return {role: CacheShare.parse(text) for role, text in words.items()}
