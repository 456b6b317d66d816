"""The word `cache`: which part of the last-level cache and of memory bandwidth a role has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import Field

from vsperf.quantities.quantity import Quantity, UnitError, match

CacheRole = Annotated[str, Field(pattern=r"^(switch|generator|guests|noise)$")]
"""Who can have a part: the polling threads of the switch, the generator, VNFs, the noise."""


@dataclass(frozen=True, slots=True)
class CacheShare(Quantity):
    """Ways of the last-level cache, and a part of the bandwidth, such as 2 ways, 50% bandwidth."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("8 ways", "1 way", "2 ways, 50% bandwidth")
    TEXT: ClassVar[str] = r"(?P<ways>[0-9]+)\s*ways?(?:,\s*(?P<bandwidth>[0-9]+)%\s*bandwidth)?"

    ways: int
    bandwidth_percent: int | None = None

    def __post_init__(self) -> None:
        if self.ways < 1:
            raise UnitError("a part of the cache has at least one way")
        if self.bandwidth_percent is not None and not 1 <= self.bandwidth_percent <= 100:
            raise UnitError("a part of the bandwidth is from 1% to 100%")

    @classmethod
    def _parse(cls, value: object) -> Self:
        found = match(cls.TEXT, value, "a part of a cache", cls.EXAMPLES)
        bandwidth = found["bandwidth"]
        return cls(int(found["ways"]), None if bandwidth is None else int(bandwidth))

    def __str__(self) -> str:
        ways = f"{self.ways} way" if self.ways == 1 else f"{self.ways} ways"
        more = self.bandwidth_percent
        return ways if more is None else f"{ways}, {more}% bandwidth"
