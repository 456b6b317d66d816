"""What a figure of a result counts, and what people write for it."""

from __future__ import annotations

import enum

from vsperf.quantities.factor import Factor
from vsperf.quantities.units import Count, Duration, Found, LinkSpeed, Rate, Ratio


class Unit(enum.StrEnum):
    """What a figure of a result counts; rates are per direction."""

    FRAMES = "frames"
    FPS = "fps"
    BPS = "bps"
    """Bits of what programs exchange, in a second; no header of a frame is among them."""
    NANOSECONDS = "ns"
    RATIO = "ratio"
    """A share of one, such as a loss ratio."""
    FACTOR = "factor"
    """How many times as much, such as the rate of one switch to that of another."""
    BYTES = "bytes"
    """Of memory."""
    COUNT = "count"
    """Anything else that is counted, such as flows, addresses or rules."""
    PER_SECOND = "per_second"
    """Anything else that is done in a second."""

    @property
    def quantity(self) -> type[Rate | LinkSpeed | Duration | Ratio | Factor | Count]:
        """What people write for it."""
        match self:
            case Unit.FPS:
                return Rate
            case Unit.BPS:
                return LinkSpeed
            case Unit.NANOSECONDS:
                return Duration
            case Unit.RATIO:
                return Ratio
            case Unit.FACTOR:
                return Factor
            case _:
                return Found
