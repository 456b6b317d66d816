"""No search: given loads are offered for a given time, and what came through is the result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.method import RESTARTED, Contradiction
from vsperf.config.topology import Topology
from vsperf.methods.base import Bench, Method, TrialOptions, burst_ns, probe_on, refused
from vsperf.methods.compliance import Findings, another_method, evidence, verifies_no_loss
from vsperf.methods.events import EventName, without_vnfs
from vsperf.methods.range import TrialDuration
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Count, Rate, Ratio
from vsperf.records.result import Compliance, SearchResult, Standard
from vsperf.records.trial import to_vnfs
from vsperf.search.base import Loads
from vsperf.search.fixed import FixedLoads

LOSS = "loss"
ZERO = Ratio.parse("0")
LEAST_EVENT_NS = 4 * NANOSECONDS


class FixedLoad(Method):
    """No search: given loads for a given time (`continuous`)."""

    summary: ClassVar[str] = "given loads for a given time, with an event in the middle if asked"

    kind: Literal["fixed"]
    loads: tuple[Rate, ...] = Field(min_length=1)
    """Offered one after the other."""
    duration: TrialDuration | None = None
    """Length of a trial; not needed when the number of frames is given."""
    frames: Count | None = None
    """Frames per direction of a trial, as a burst at the load; wins over a duration."""
    repeats: int = Field(default=1, ge=1, le=1000)
    """Trials at each load."""
    loss_ratio: Ratio = ZERO
    """Loss up to which a load counts as passed."""
    event: EventName | None = None
    """What is done in the middle of each trial, to see how long frames stay away (RFC 6201): the
    switch restarts in good order, or after a kill, or all VNFs reboot."""

    @model_validator(mode="after")
    def _event_leaves_time(self) -> Self:
        if self.event is not None and (self.frames or self.duration_ns(1) < LEAST_EVENT_NS):
            raise ValueError("an event needs a duration of at least 4s, and no number of frames")
        return self

    @model_validator(mode="after")
    def _ends_somewhere(self) -> Self:
        if self.duration is None and self.frames is None:
            raise ValueError("a fixed load needs a duration, or a number of frames")
        return self

    def misfits(self, topology: Topology) -> Iterator[Contradiction]:
        """Yield that the event needs a VNF, if there is none."""
        if self.event is not None:
            yield from without_vnfs(self.event, topology, "event")

    @property
    def asks_generator(self) -> frozenset[Ability]:
        """Return what follows from frames that are counted, and from an event; else nothing."""
        exact = super().asks_generator if self.frames is not None else frozenset()
        return exact | ({Ability.SILENCE} if self.event is not None else frozenset())

    @property
    def done_to_switch(self) -> str | None:
        return None if self.event is None or to_vnfs(self.event) else RESTARTED

    def duration_ns(self, load_fps: int) -> int:
        if self.frames is not None:
            return burst_ns(self.frames.value, load_fps)
        assert self.duration is not None  # by the model
        return self.duration.ns

    def metrics(self) -> Mapping[str, Unit]:
        return {LOSS: Unit.RATIO}

    def losses(self) -> frozenset[str]:
        """Return that it is the loss of each load."""
        return frozenset({LOSS})

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        link, size = case.slowest_link, case.traffic.frame_size
        line_rate = math.floor(link.frames_per_second(size))
        cap = line_rate if generator_cap is None else min(line_rate, generator_cap)
        asked = [math.floor(rate.frames_per_second(size, link)) for rate in self.loads]
        for rate, load in zip(self.loads, asked, strict=True):
            if not 1 <= load <= line_rate:
                raise refused(
                    f"the load {rate} cannot be offered",
                    f"at {size} a load lies between 1 frame per second and the line rate of "
                    f"{link}, {line_rate} frames per second",
                    "change search.loads; 100% is the line rate",
                )
        fixed = tuple(dict.fromkeys(min(load, cap) for load in asked))
        return Loads(
            min(fixed),
            max(fixed),
            line_rate,
            fixed=fixed,
            generator_cap=generator_cap,
            virtual=case.virtual_links,
        )

    def search(self, loads: Loads) -> FixedLoads:
        durations = {load: self.duration_ns(load) for load in loads.fixed}
        return FixedLoads(loads, durations, self.repeats, self.loss_ratio.value)

    def run(self, bench: Bench) -> SearchResult:
        return self.search(bench.loads).run(probe_on(bench, TrialOptions(event=self.event)))

    def compliance(
        self,
        case: CaseSpec,
        sister_sizes: Sequence[int],
        result: SearchResult,
    ) -> tuple[Compliance, ...]:
        found = Findings(["loads are given and no throughput is searched"])
        evidence(found, case, sister_sizes)
        return (
            found.verdict(Standard.RFC2544),
            another_method(self.kind).verdict(Standard.RFC9971),
            verifies_no_loss(self.kind).verdict(Standard.TST009),
        )
