"""A case with places, from its plan to its record: programs exchange data through a switch.

No generator takes part. What decides how data are exchanged is the method's; here places, switch
and programs are brought up, looked at, and what they did is judged and written down.

What is collected around exchanges never changes what one says. Light collectors look when all
programs wait for the instant, and when the last client has ended. Heavy ones have exchanges of
their own when the answer is there, as they have trials of frames: they are started beside programs
that wait, since they look at these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from vsperf.config.places import own_stack, place_mtu
from vsperf.deploy.cpu_looks import SwitchCpus
from vsperf.deploy.deployment import PORTS_S, blaming, prepare
from vsperf.deploy.exchanging import Around, Part, exchanged, pairs_of, together
from vsperf.deploy.guests import started_guests
from vsperf.deploy.live_rates import Tell
from vsperf.deploy.places import Places, growth, made_places
from vsperf.drivers.collectors.base import Parts
from vsperf.drivers.programs.base import InstalledProgram, Program, Programs
from vsperf.drivers.vswitches.base import RunningSwitch
from vsperf.engine.assignment import CaseRun
from vsperf.engine.attempts import stayed_invalid, until_valid
from vsperf.engine.background_load import BackgroundLoad, background_load, with_noise
from vsperf.engine.closing import close_case
from vsperf.engine.collecting import Collecting, Taken, collected, why_of
from vsperf.engine.conditions import sorted_flags
from vsperf.engine.judge_exchange import judged
from vsperf.errors import ComponentError, DiedError
from vsperf.host.workspace import Workspace
from vsperf.methods.base import method_of
from vsperf.methods.exchanges import ExchangeAsked, Exchanges
from vsperf.progress import DeploymentKept, ExchangeGoesOn, ExchangeStarted
from vsperf.quantities.human import human_ns
from vsperf.records.clean import LEAST
from vsperf.records.datagrams import socket_growth
from vsperf.records.exchange import (
    CLIENTS,
    SERVERS,
    Beside,
    Exchange,
    Instance,
    window_of,
)
from vsperf.records.flags import Flag
from vsperf.records.host import Conditions
from vsperf.records.run import CaseRecord
from vsperf.records.series import OwnExchange
from vsperf.records.switch import NoiseActivity
from vsperf.records.trial import Purpose
from vsperf.search.base import Budget
from vsperf.search.exchange_verdict import clean_share

LIGHT_NS = 300_000_000
"""For which programs wait for each light collector: some ask the switch."""
HEAVY_NS = 3_000_000_000
"""For which they wait for a heavy one, which starts a program for each role."""
AROUND_NS = 2_000_000_000
"""What an exchange takes beside its time."""

Make = Callable[[int, int, Around], Exchange]
"""(index, how long, who looks) → an exchange that is in no record."""


@dataclass
class Looking:
    """Light collectors around one exchange, and who watches it."""

    collecting: Collecting
    index: int
    tell: Tell | None = None

    @property
    def lead_ns(self) -> int:
        """How long all of them may take for their first look."""
        return LIGHT_NS * len(self.collecting.running)

    def begin(self) -> None:
        self.collecting.begin(self.index, Purpose.SEARCH)

    def end(self) -> None:
        self.collecting.end()


@dataclass
class _Own:
    """A heavy collector around an exchange of its own."""

    taken: Taken
    index: int
    stack: ExitStack
    collecting: Collecting = field(default_factory=Collecting)
    lead_ns: int = HEAVY_NS
    tell: None = None

    def begin(self) -> None:
        """Start it beside programs that wait."""
        began_ns, seat = time.monotonic_ns(), self.taken.seat
        settings = seat.case.collect[self.taken.name]
        running = self.stack.enter_context(self.taken.driver.start(settings, seat))
        self.collecting.running[self.taken.name] = (seat, running)
        self.collecting.begin(self.index, Purpose.SEARCH)
        if (took_ns := time.monotonic_ns() - began_ns) > self.lead_ns:
            raise ComponentError(f"it took {human_ns(took_ns)} to begin, and programs had begun")

    def end(self) -> None:
        self.collecting.end()
        self.stack.close()


def own_ns(collecting: Collecting) -> int:
    """Return what the exchanges of heavy collectors take."""
    lengths = [ns for taken in collecting.apart for ns in taken.own_ns]
    return sum(lengths) + len(lengths) * (HEAVY_NS + AROUND_NS)


def own_exchanges(collecting: Collecting, make: Make, budget: Budget) -> tuple[str, ...]:
    """Give each heavy collector its exchanges; return what failed, of light ones, too."""
    return (
        *collecting.warnings,
        *(said for one in collecting.apart for said in _own(one, make, budget)),
    )


def _own(taken: Taken, make: Make, budget: Budget) -> Iterator[str]:
    for index, duration_ns in enumerate(taken.own_ns, start=1):
        so_far = f"{index - 1} of {len(taken.own_ns)} exchanges for {taken.name} were made"
        without = so_far if index > 1 else f"nothing was collected by {taken.name}"
        left_ns = budget.left_ns
        if left_ns is not None and duration_ns + HEAVY_NS + AROUND_NS > left_ns:
            yield f"{without}: the time was over"
            return
        try:
            with ExitStack() as stack:
                around = _Own(taken, index, stack)
                one = make(index, duration_ns, around)
            budget.spend(one.elapsed_ns)
            taken.seat.file.append(OwnExchange(exchange=one))
        except Exception as error:  # whatever it is: the answer is there already
            yield f"the exchange for {taken.name} failed: {why_of(error)}"
            return
        yield from around.collecting.warnings
        if around.collecting.warnings:
            return


def measure_exchanges(run: CaseRun, warnings: tuple[str, ...] = ()) -> CaseRecord:
    """Make places, deploy the switch, have the method measure, and return what it found."""
    spec, plan = run.case.seeded_spec, run.plan
    method, programs = method_of(spec), run.drivers.programs
    assert isinstance(method, Exchanges)  # its cases have places
    assert programs is not None  # by the rules of places
    first = len(run.exchanges)
    with run.deploying() as (place, stack):
        prepare(spec, plan, place, stack)
        run.enter("deploy")
        found = {program: program.find(spec) for program in programs.all}
        ends, placement = plan.plan.endpoints, plan.plan.placement
        starting_guests = started_guests(spec, ends, placement, found.values(), place)
        guests = stack.enter_context(starting_guests)
        places = stack.enter_context(made_places(spec, ends, place, guests))
        starting = run.drivers.vswitch.start(spec, plan.switch, placement, place)
        switch = stack.enter_context(starting)
        places.join(offloads=method.offloads == "on")
        places.await_ports(switch, PORTS_S)
        conditions = Conditions(
            switch={**switch.facts(), "places": places.facts()},
            vnfs={guest.vm.name: guest.vm.facts() for guest in guests.values()},
            generator=_facts(programs.program, found)
            | ({} if programs.probe is None else {"probe": _facts(programs.probe, found)}),
        )
        beside = stack.enter_context(background_load(run, place))
        conditions = with_noise(conditions, beside)
        parts, where = Parts(switch, None, None), (run.writer, run.attempt)
        collectors = run.drivers.collectors
        collecting = stack.enter_context(
            collected(run.case, collectors, parts, placement, place, where)
        )
        bench = ExchangeBench(run, place, places, switch, programs, found, beside, collecting)
        run.enter("search")
        with run.budget.holding_back(own_ns(collecting)):
            result = method.play(bench)
        if collecting.apart:
            run.enter("collect")
        warnings += own_exchanges(collecting, bench.apart, run.budget)
        if run.keep():
            place.keep()
            access = (*places.access, *switch.access())
            run.emit(DeploymentKept(run.case, str(place.folder), access))
    record = close_case(run.case, plan, result, (), conditions, warnings)
    return with_exchanges(record, run.exchanges[first:])


def with_exchanges(record: CaseRecord, made: Sequence[Exchange]) -> CaseRecord:
    """Return the record of a case with what its exchanges say, all of those that count together."""
    counted = [one for one in made if one.valid]
    doubts = {flag for one in counted for flag in one.flags}
    clean = clean_share(counted)
    if clean is not None and clean < LEAST:
        doubts.add(Flag.TOO_BUSY)
    return record.model_copy(
        update={
            "trials": len(made),
            "measured_ns": sum(one.elapsed_ns for one in made),
            "flags": sorted_flags({*record.flags, *doubts}),
            "clean_share": None if clean is None else str(clean),
        }
    )


@dataclass
class ExchangeBench:
    """Exchanges through what is deployed."""

    run: CaseRun
    place: Workspace
    """Of the case."""
    places: Places
    switch: RunningSwitch
    programs: Programs
    found: Mapping[Program, InstalledProgram]
    noise: BackgroundLoad | None
    """What runs beside the case, if anything does."""
    collecting: Collecting

    @property
    def budget(self) -> Budget:
        return self.run.budget

    def exchange(self, asked: ExchangeAsked) -> Exchange:
        """Have programs exchange data, again as often as trials are repeated that are invalid."""
        retries = self.run.case.seeded_spec.trial.retries
        attempt = partial(self._attempt, asked)
        one = until_valid(attempt, retries, self.budget, asked.sending_ns)
        if not one.valid:
            named = f"exchange {one.index}"
            raise stayed_invalid(named, one.flags, retries, "; ".join(one.reasons))
        return one

    def apart(self, index: int, duration_ns: int, around: Around) -> Exchange:
        """Make one exchange for a collector, which is in no record; raise where it went wrong."""
        method = method_of(self.run.case.seeded_spec)
        assert isinstance(method, Exchanges)
        one = self._made(_lasting(method.each, duration_ns), index, None, around)
        if not one.valid:
            raise ComponentError("it cannot be believed", why="; ".join(one.reasons))
        return one

    def _attempt(self, asked: ExchangeAsked, retry_of: int | None) -> Exchange:
        """Make one exchange, judge it, record it, and return it whatever the judgement."""
        run, index = self.run, len(self.run.exchanges) + 1
        pairs = sum(len(part.pairs) for part in self._parts(asked))
        run.emit(ExchangeStarted(run.case, asked.traffic, pairs, asked.sending_ns))
        looking = Looking(
            self.collecting, index, lambda rates: run.emit(ExchangeGoesOn(run.case, rates))
        )
        one = self._made(asked, index, retry_of, looking)
        run.record_exchange(one)
        run.budget.spend(one.elapsed_ns)
        return one

    def _made(
        self, asked: ExchangeAsked, index: int, retry_of: int | None, around: Around
    ) -> Exchange:
        """Make one exchange, and judge it; a guest that was lost meanwhile is named."""
        with blaming("programs ran", self.places):
            return self._exchanged(asked, index, retry_of, around)

    def _exchanged(
        self, asked: ExchangeAsked, index: int, retry_of: int | None, around: Around
    ) -> Exchange:
        run, spec = self.run, self.run.case.seeded_spec
        placement = run.plan.plan.placement
        parts = self._parts(asked)
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        if self.noise is not None:
            self.noise.begin()
        datagrams = any(one.traffic.startswith("udp") for one in together(asked))
        sockets = self.places.sockets() if datagrams else ()
        before, counted = self.places.counts(), self.switch.counters()
        try:
            made = exchanged(
                parts,
                places=self.places,
                workspace=self.place,
                label=f"exchange-{index}",
                switch=SwitchCpus.of(placement, self.place),
                around=around,
            )
        except ComponentError as error:
            if (why := self.switch.failure()) is not None:
                raise DiedError("the switch failed while programs ran", why=why) from error
            raise
        if (why := self.switch.failure()) is not None:
            raise DiedError("the switch failed while programs ran", why=why)
        noise, slackened = self._noise()
        counters = self.switch.counters()
        method = method_of(spec)
        assert isinstance(method, Exchanges)
        *beside, instances = made.instances
        every = [one for each in made.instances for one in each]
        main = parts[-1]
        return judged(
            Exchange(
                index=index,
                retry_of=retry_of,
                started_at=started_at,
                traffic=asked.traffic,
                program=main.program.kind,
                version=main.found.version,
                asked_ns=asked.duration_ns,
                warm_up_ns=asked.warm_up_ns,
                under_way_bytes=_under_way(asked, self.places),
                packet_bytes=place_mtu(spec),
                offloads=method.offloads == "on",
                client_cpus=placement.of(CLIENTS),
                server_cpus=placement.of(SERVERS),
                instances=instances,
                window=window_of(every, asked.warm_up_ns),
                devices=growth(before, self.places.counts()),
                elapsed_ns=made.elapsed_ns,
                flags=(),
                reasons=(),
                beside=_beside(parts[0], beside[0]) if beside else None,
                cpu=made.cpu,
                device_use=made.device_use,
                switch=None if counters is None or counted is None else counters.since(counted),
                noise=noise,
                polling_servers=own_stack(spec),
                sockets=socket_growth(sockets, self.places.sockets()) if sockets else (),
            ),
            noise_slackened=slackened,
            unexplained=spec.trial.unexplained_tolerance.value,
        )

    def _noise(self) -> tuple[tuple[NoiseActivity, ...], bool]:
        """Return what ran beside an exchange did, and whether that was too little."""
        if self.noise is None:
            return (), False
        if (why := self.noise.failure()) is not None:
            raise DiedError("the noise beside the case failed while programs ran", why=why)
        noise = self.noise.end()
        return noise, self.noise.slackened(noise)

    def _parts(self, asked: ExchangeAsked) -> list[Part]:
        """Return what each program exchanges; what was asked for itself is the last one."""
        spec, placement = self.run.case.seeded_spec, self.run.plan.plan.placement
        found: list[Part] = []
        for one in together(asked):
            program = self.programs.exchanging(one.traffic)
            first = sum(len(part.pairs) for part in found)
            pairs = pairs_of(spec, one, placement, first)
            found.append(Part(program, self.found[program], one, pairs))
        return found


def _lasting(asked: ExchangeAsked, duration_ns: int) -> ExchangeAsked:
    """Return the same for another time, with what is exchanged beside it."""
    beside = None if asked.beside is None else _lasting(asked.beside, duration_ns)
    return replace(asked, duration_ns=duration_ns, beside=beside)


def _facts(program: Program, found: Mapping[Program, InstalledProgram]) -> dict[str, str]:
    own = found[program]
    return {"program": program.kind, "version": own.version, "path": own.path}


def _beside(part: Part, instances: tuple[Instance, ...]) -> Beside:
    return Beside(
        traffic=part.asked.traffic,
        program=part.program.kind,
        version=part.found.version,
        instances=instances,
    )


def _under_way(asked: ExchangeAsked, places: Places) -> int | None:
    """Return what sockets can hold of a stream: the kernel doubles what it is asked for."""
    if asked.traffic != "tcp-stream":
        return None
    if asked.buffer_bytes is not None:
        return 4 * asked.buffer_bytes
    return places.socket_bytes()
