"""Address caching capacity of RFC 2889 section 5.7: how many addresses a bridge can know."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.methods.addresses import AddressMethod, AddressTrials, Wanted, addresses_of, answer
from vsperf.methods.base import Bench, refused
from vsperf.quantities.human import human_fps
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Count, Rate
from vsperf.records.result import SearchResult
from vsperf.search.base import Loads
from vsperf.search.highest import HighestPassing


class AddressCaching(AddressMethod):
    """The most addresses, one frame each, all of which are known afterwards."""

    summary: ClassVar[str] = "addresses that a bridge can know at a time (RFC 2889)"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.BRIEF})
    """Few addresses come in a moment."""

    kind: Literal["caching"]
    rate: Rate = Rate.parse("10kfps")
    """Of the frames that bring the addresses: so low that all can be learned."""
    step: Count = Count(1)
    """Distance of two numbers of addresses."""
    repeats: int = Field(default=3, ge=1, le=1000)
    """Searches, each from the beginning."""
    max_repeats: int = Field(default=1, ge=0, le=100)
    """How often a number is tried again of which not all were known."""

    def metrics(self) -> Mapping[str, Unit]:
        return {"addresses": Unit.COUNT}

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the rate, and how many addresses there are at most."""
        many = addresses_of(case)
        size, link = case.traffic.frame_size, case.slowest_link
        line_rate = math.floor(link.frames_per_second(size))
        most = min(line_rate, generator_cap or line_rate)
        rate = int(self.rate.frames_per_second(size, link))
        if not 1 <= rate <= most:
            raise refused(
                f"addresses cannot come at {self.rate}",
                f"at {size} on {link} a rate lies between 1 and {most} frames per second",
                "--set search.rate=10kfps",
            )
        if int(self.step) > many:
            raise refused(
                f"steps of {self.step} leave nothing to search among {many} addresses",
                "traffic.flows is the most addresses that are tried",
                "lower search.step or raise traffic.flows",
            )
        return Loads(
            1,
            most,
            line_rate,
            reference=rate,
            flows=many,
            generator_cap=generator_cap,
            virtual=case.virtual_links,
        )

    def run(self, bench: Bench) -> SearchResult:
        """Look for the highest number again and again, each trial on a switch that knows nobody."""
        tried, rate, many = AddressTrials(bench), bench.loads.reference, bench.loads.flows
        assert rate is not None  # it is offered above
        search = HighestPassing(int(self.step), many, self.max_repeats, many)
        wanted = Wanted(
            name="addresses",
            unit=Unit.COUNT,
            at=f"one frame from each, {human_fps(rate)}",
            top=f"all {many:,} addresses that traffic.flows allows",
            repeats=self.repeats,
            value=int,
        )
        return answer(tried, search, lambda number: tried.unknown(number, number, rate), wanted)
