"""What a frame costs a simulated switch, in cycles of the one core that forwards all of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vsperf.config.base import Spec
from vsperf.config.counted import Counted
from vsperf.quantities.units import FCS_BYTES, FrameSize


class CycleCost(Spec):
    """Capacity from cycles: a fixed part per frame, a part per byte, a part per cache miss.

    The defaults are in the region of a single-core, poll-mode switch between two ports: about
    12.5 million frames of 64 B per second in all with one flow, and 5 million with a million.
    """

    clock_hz: int = Field(default=2_500_000_000, gt=0, le=10**12)
    """Clock of the core."""
    cycles_per_packet: float = Field(default=190, gt=0, le=10**9, allow_inf_nan=False)
    """For each frame and each pass through the switch, whatever its size."""
    cycles_per_byte: float = Field(default=0.15, ge=0, le=10**6, allow_inf_nan=False)
    """For each byte of a frame without its FCS."""
    cycles_per_miss: float = Field(default=300, ge=0, le=10**9, allow_inf_nan=False)
    """For a frame whose flow is not in the flow cache."""
    flow_cache_entries: Annotated[int, Field(ge=1, le=10**9), Counted] = 8192
    """Places of the flow cache; a flow can only be in the one place that its hash names."""

    def miss_ratio(self, flows: int) -> float:
        """Return the share of frames that miss the cache when `flows` flows take turns.

        Flows that hash to one place evict each other. With random hashes, F flows occupy
        C·(1 − (1 − 1/C)^F) of C places, and as many of the F frames of a round are hits.
        """
        places = self.flow_cache_entries
        occupied = places * (1 - (1 - 1 / places) ** flows)
        return max(0.0, 1 - occupied / flows)

    def cycles(self, size: FrameSize, flows: int) -> float:
        """Return the cycles of one frame in one pass, with `flows` flows over all directions."""
        miss = self.cycles_per_miss * self.miss_ratio(flows)
        return self.cycles_per_packet + self.cycles_per_byte * float(size.mean - FCS_BYTES) + miss

    def capacity_fps(self, size: FrameSize, flows: int, directions: int, passes: int = 1) -> int:
        """Return the capacity per direction; all directions share the core.

        `flows` counts per direction, as in a traffic profile.
        """
        cycles = self.cycles(size, flows * directions) * passes * directions
        return max(1, int(self.clock_hz / cycles))
