"""What methods have in common that have programs exchange data through the switch.

There is no load to search for: programs find their own. So the answer is what arrived in the window
in which all instances ran.
"""

from __future__ import annotations

import math
import statistics
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.method import Contradiction
from vsperf.config.topology import Topology
from vsperf.methods.base import Bench, Method, Repeats, repeated, spread_of
from vsperf.methods.exchanges import ExchangeAsked, PlacesBench
from vsperf.methods.range import TrialDuration
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import CpuSet, Duration, FrameSize, LinkSpeed
from vsperf.records.exchange import CLIENTS, SERVERS, Exchange, Traffic, is_stream
from vsperf.records.result import Axis, Curve, Figure, Limit, SearchResult
from vsperf.records.threads import SWITCH
from vsperf.search.base import Loads
from vsperf.search.exchange_verdict import limited_in_repeats

RATE, TOTAL = "rate", "total"
COST = "cpu_per"
"""Names of figures of CPU time begin so; what it is for follows, then whose it is."""
SWITCHED = "context_switches"
"""Names of figures of context switches begin so; whose they are follows."""
ROLES = (CLIENTS, SERVERS, SWITCH)
STEP_NS = 1_000_000_000
"""Of the curve over time."""
SMALLEST_FRAME_BYTES = 594
"""With a packet of 576 bytes, which every host takes (RFC 791)."""
MOST_INSTANCES = 64
COSTS_OF = {
    None: "clients, servers and switch together, whoever did the work of the network's stack",
    CLIENTS: "clients, with what the kernel did as they ran",
    SERVERS: "servers, with what the kernel did as they ran",
    SWITCH: "the switch",
}
GAVE = {
    CLIENTS: "clients gave their",
    SERVERS: "servers gave their",
    SWITCH: "the switch gave its",
}
HOW_KNOWN = {
    "interrupts": ": what the kernel did in interrupts on the CPUs that forward, which is the "
    "stack of whoever receives, too",
    "cycles": ": that in which its polling threads had work, by their own count of cycles; about",
    "threads": ": its threads, with what the kernel did as they ran",
}
ONE_SUM = "; the program tells one sum of all its time, so that of the warm-up is in it"


class Workload(Method):
    """Programs exchange data between the places at the ends of the links."""

    PLACES: ClassVar[bool] = True

    instances: Annotated[int, Field(ge=1, le=MOST_INSTANCES)] = 1
    """Pairs of a client and a server in each direction, all at the same time."""
    duration: TrialDuration = Duration(10_000_000_000)
    """Of the window in which all instances run."""
    warm_up: Duration = Duration(1_000_000_000)
    """How long instances run before that: TCP begins slowly."""
    repeats: Annotated[int, Field(ge=1, le=1000)] = 1
    """How often it is measured; the answer is the median."""
    offloads: Literal["on", "off"] = "off"
    """Whether devices of places leave checksums and segments to each other, as a guest's virtio
    does. This is the largest effect there is: frames of 64 KiB pass the switch then."""
    pinning: Literal["same", "apart"] = "same"
    """Whether clients and servers have the same CPU, or one each: that makes a factor of two. With
    few CPUs the servers share that of the switch then, and the plan says so."""
    client_cpus: CpuSet | None = None
    """CPUs of the clients, in turns; one on which nothing polls when not given."""
    server_cpus: CpuSet | None = None
    """CPUs of the servers, in turns; what `pinning` says when not given."""

    @model_validator(mode="after")
    def _cpus_are_said_once(self) -> Self:
        if self.pinning == "apart" and (self.client_cpus or self.server_cpus):
            raise ValueError(
                "`pinning: apart` with `client_cpus` or `server_cpus`: these say by number where "
                "programs run; leave one of both out"
            )
        return self

    @property
    @abstractmethod
    def traffic(self) -> Traffic:
        """What programs exchange."""

    @property
    def each(self) -> ExchangeAsked:
        return ExchangeAsked(
            traffic=self.traffic,
            instances=self.instances,
            duration_ns=self.duration.ns,
            warm_up_ns=self.warm_up.ns,
        )

    @property
    def asks_generator(self) -> frozenset[Ability]:
        """Return that no generator takes part."""
        return frozenset()

    def misfits(self, topology: Topology) -> Iterator[Contradiction]:
        """Yield that frames of programs do not come through machines that forward, so far."""
        if topology.vnfs:
            yield Contradiction(
                "kind",
                f"is {self.kind}, and topology {topology.name} has {', '.join(topology.vnfs)}",
                "programs run at the ends of links, and machines that forward know no way to them",
                "--set topology=p2p",
            )

    def contradictions(self, size: FrameSize, link: LinkSpeed) -> Iterator[Contradiction]:
        """Yield that frames are too short for the packets of programs."""
        if size.bytes < SMALLEST_FRAME_BYTES:
            yield Contradiction(
                "kind",
                f"is {self.kind}, and traffic.frame_size is {size}",
                f"it is the longest frame of the places, which needs {SMALLEST_FRAME_BYTES} bytes "
                "for the packets that every host takes; how much a program writes at once is a "
                "setting of its own",
                "--set traffic.frame_size=1518B",
            )

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return that no load is offered: programs find their own."""
        line_rate = math.floor(case.slowest_link.frames_per_second(case.traffic.frame_size))
        return Loads(1, line_rate, line_rate, virtual=case.virtual_links)

    def rounds_ns(self, case: CaseSpec) -> tuple[int, ...]:
        """Return the length of each exchange."""
        return (self.each.sending_ns,) * self.repeats

    def run(self, bench: Bench) -> SearchResult:
        """Measure, on a bench that has places."""
        assert isinstance(bench, PlacesBench)  # whoever deploys for a method that has places
        return self.play(bench)

    def play(self, bench: PlacesBench) -> SearchResult:
        """Have programs exchange data as often as asked, and say what arrived."""

        def once() -> Exchange:
            bench.budget.require(self.each.sending_ns)
            return bench.exchange(self.each)

        return self.answered(repeated(self.repeats, once))

    def answered(self, made: Repeats[Exchange]) -> SearchResult:
        """Return what exchanges say, all of which can be believed."""
        known = [one for one in made.found if one.worst_rate is not None]
        if not known:
            return SearchResult(complete=made.in_time, spoiled=made.spoiled)
        middle = sorted(known, key=lambda one: one.worst_rate or 0)[(len(known) - 1) // 2]
        rate = with_limit(self._rate(known, middle), known, middle)
        return SearchResult(
            figures=(
                rate,
                *self._total(known, middle, rate.limit),
                *self.beside(known, middle),
                *self._costs(known, middle),
            ),
            curves=of_the_middle(rate_curves(middle), f"exchange #{middle.index}", len(known)),
            complete=made.in_time,
            spoiled=made.spoiled,
        )

    @abstractmethod
    def beside(self, made: Sequence[Exchange], middle: Exchange) -> Iterator[Figure]:
        """Yield what is said beside the rate."""

    def _rate(self, made: Sequence[Exchange], middle: Exchange) -> Figure:
        rates = [one.worst_rate or 0 for one in made]
        count = len(middle.instances)
        return Figure(
            name=RATE,
            unit=middle.unit,
            value=statistics.median(rates),
            spread=spread_of(rates),
            at=conditions(middle),
            reason=f"{self.counted}, {slower(middle)}, while all of {count} "
            f"{'instance' if count == 1 else 'instances'} ran"
            f"{ONE_SUM if middle.sums_only else ''}",
        )

    def _total(
        self, made: Sequence[Exchange], middle: Exchange, limit: Limit | None
    ) -> Iterator[Figure]:
        """Yield what all directions came to in the same window; of one alone its rate says that."""
        if (count := len(middle.directions)) > 1:
            totals = [one.total_rate for one in made]
            about = f"{self.counted}, in all {count} directions together"
            found = median_figure(TOTAL, middle.unit, totals, conditions(middle), about)
            yield found.model_copy(update={"limit": limit})

    def cost_metrics(self) -> Mapping[str, Unit]:
        """Return the figures of CPU time and of context switches."""
        names = [self._cost_name(role) for role in (None, *ROLES)]
        switched = (f"{SWITCHED}_{role}" for role in ROLES)
        return dict.fromkeys(names, Unit.NANOSECONDS) | dict.fromkeys(switched, Unit.COUNT)

    def _costs(self, made: Sequence[Exchange], middle: Exchange) -> Iterator[Figure]:
        """Yield what a bit or a request costs in CPU time, and in context switches."""
        at = conditions(middle)
        for role in (None, *ROLES):
            found = [one.cpu_cost_ns(role) for one in made]
            costs = [None if cost is None else float(cost) for cost in found]
            yield median_figure(
                self._cost_name(role),
                Unit.NANOSECONDS,
                costs,
                at,
                f"CPU time of {COSTS_OF[role]}{HOW_KNOWN.get(_how(middle, role), '')}",
                "the machine does not tell, or programs ended too early for two looks",
            )
        many, each = (10**9, "gigabit") if middle.streams else (1000, "thousand requests")
        for role in ROLES:
            often = [one.context_switches(role) for one in made]
            yield median_figure(
                f"{SWITCHED}_{role}",
                Unit.COUNT,
                [None if count is None else float(count * many) for count in often],
                at,
                f"how often {GAVE[role]} CPU away or had it taken, for each {each}",
                "nobody counts: a kernel forwards in interrupts, or the machine does not tell",
            )

    def _cost_name(self, role: str | None) -> str:
        each = "bit" if is_stream(self.traffic) else "request"
        return "_".join(filter(None, (COST, each, role)))

    @property
    @abstractmethod
    def counted(self) -> str:
        """What a rate counts, for people."""


def with_limit(rate: Figure, made: Sequence[Exchange], middle: Exchange) -> Figure:
    """Return a rate with what limited it, as far as that can be told.

    Where it cannot, the rate stands all the same: that nobody was at an end is no contradiction.
    """
    limit, why = limited_in_repeats(made, middle)
    known = limit is not Limit.UNKNOWN
    why = why if known else f"what limited it cannot be told: {why}"
    update = {"limit": limit if known else None, "reason": f"{rate.reason}; {why}"}
    return rate.model_copy(update=update)


def _how(one: Exchange, role: str | None) -> str:
    """Return by what the CPU time of a switch is known; empty where others are asked for, too."""
    if role != SWITCH or one.cpu is None:
        return ""
    if one.cpu.forwarding_cpus:
        return "interrupts"
    return "cycles" if one.switch is not None and one.switch.pmds else "threads"


def slower(one: Exchange) -> str:
    """Say of which direction a rate is."""
    count = len(one.directions)
    if count > 2:
        return f"in the slowest of {count} directions"
    return "in the slower of both directions" if count == 2 else one.directions[0]


def median_figure(
    name: str,
    unit: Unit,
    found: Sequence[float | None],
    at: str,
    about: str,
    unknown: str = "the program does not tell",
) -> Figure:
    """Return the median of what is known, or why nothing is."""
    known = [value for value in found if value is not None]
    if not known:
        return Figure(name=name, unit=unit, value=None, at=at, reason=unknown)
    return Figure(
        name=name,
        unit=unit,
        value=statistics.median(known),
        spread=spread_of(known),
        at=at,
        reason=about,
    )


def conditions(one: Exchange) -> str:
    """Return what decides most of what programs come to."""
    clients, servers = (", ".join(map(str, cpus)) for cpus in (one.client_cpus, one.server_cpus))
    both = clients == servers
    where = f"both ends on CPU {clients}" if both else f"clients on CPU {clients}, servers on "
    return (
        f"{one.traffic.replace('-', ' ')} by {one.program} {one.version}, "
        f"{where}{'' if both else f'CPU {servers}'}, offloads {'on' if one.offloads else 'off'}"
    )


def of_the_middle(curves: Iterable[Curve], which: str, repeats: int) -> tuple[Curve, ...]:
    """Say of curves which repeat they are of, where there are several: figures are of all."""
    at = f"{which}, the middle one of {repeats} repeats" if repeats > 1 else ""
    return tuple(curve.model_copy(update={"at": at}) for curve in curves)


def rate_curves(one: Exchange) -> Iterator[Curve]:
    """Yield the rate over time of each direction, and that of each instance."""
    if not one.sums_only:
        yield Curve(
            name="over_time",
            x=Axis(name="time", unit=Unit.NANOSECONDS),
            columns=tuple(Axis(name=_name(way), unit=one.unit) for way in one.directions),
            points=tuple((end, *rates) for end, rates in one.rates_over_time(STEP_NS)),
        )
    yield Curve(
        name="by_instance",
        x=Axis(name="instance", unit=Unit.COUNT),
        columns=(Axis(name=RATE, unit=one.unit),),
        points=tuple(
            (number, one.instance_rate(instance))
            for number, instance in enumerate(one.instances, start=1)
        ),
    )


def _name(direction: str) -> str:
    """Return the name of a column for a direction, such as `phy0_to_phy1`."""
    return direction.lower().replace(" ", "_")[:32]
