"""What a group of the last-level cache held and moved, by the processor's own monitoring."""

from __future__ import annotations

from vsperf.record.base import Record, growth


class CacheActivity(Record):
    """One group during a trial; what the processor does not monitor is missing, never 0."""

    role: str
    """Whose group it is, such as `switch`."""
    occupancy_bytes: int | None = None
    """What it held in the cache at the end of the trial."""
    total_bytes: int | None = None
    """What it read from memory and wrote to it."""
    local_bytes: int | None = None
    """The part of that on its own memory node."""

    def since(self, before: CacheActivity) -> CacheActivity:
        """Return what was moved from one look to another; what is held is that of the later."""
        known = ("total_bytes", "local_bytes")
        now = {name: count for name in known if (count := getattr(self, name)) is not None}
        then = {name: getattr(before, name) for name in now}
        if None in then.values():
            return self.model_copy(update=dict.fromkeys(known))
        return self.model_copy(update=growth(now, then))
