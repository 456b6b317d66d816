"""Address learning rate of RFC 2889 section 5.8: how fast addresses may come to be learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.methods.addresses import AddressMethod, AddressTrials, Wanted, addresses_of, answer
from vsperf.methods.base import Bench
from vsperf.methods.range import Rates, Width, WithinRange
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Rate, Ratio
from vsperf.records.result import SearchResult
from vsperf.search.base import Loads
from vsperf.search.highest import HighestPassing


class AddressLearning(AddressMethod, WithinRange):
    """The highest rate of new addresses, one frame each, all of which are known afterwards."""

    summary: ClassVar[str] = "new addresses in a second that a bridge learns (RFC 2889)"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.BRIEF})
    """New addresses come in a moment."""

    kind: Literal["learning"]
    min_load: Rate = Rate.parse("50fps")
    """Lowest load that is tried."""
    max_load: Rate = Rate.parse("100%")
    """Highest load that is tried."""
    width: Width = Ratio.parse("2%")
    """By how much two rates differ, as a share of the lower one."""
    repeats: int = Field(default=3, ge=1, le=1000)
    """Searches, each from the beginning."""
    max_repeats: int = Field(default=2, ge=0, le=100)
    """How often a rate is tried again at which not all addresses were learned."""

    def metrics(self) -> Mapping[str, Unit]:
        return {"learning_rate": Unit.PER_SECOND}

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the rates, and how many addresses a trial brings."""
        return replace(super().offers(case, generator_cap), flows=addresses_of(case))

    def run(self, bench: Bench) -> SearchResult:
        """Look for the highest rate again and again, each trial on a switch that knows nobody."""
        rates, tried = Rates(bench.loads, self.width), AddressTrials(bench, all_fit=True)
        many = bench.loads.flows
        search = HighestPassing(1, rates.top, self.max_repeats, many)
        wanted = Wanted(
            name="learning_rate",
            unit=Unit.PER_SECOND,
            at=f"{many:,} new addresses in a trial, one frame each",
            top=bench.loads.top,
            repeats=self.repeats,
            value=rates.of,
            even_lowest=rates.even_lowest,
        )
        return answer(
            tried, search, lambda number: tried.unknown(number, many, rates.of(number)), wanted
        )
