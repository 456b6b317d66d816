"""A simulated switch as a value: what it is made of, its address, and its true capacity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import Field, ValidationError

from vsperf.config.base import Spec
from vsperf.config.counted import Counted
from vsperf.config.modify import Modify
from vsperf.config.traffic import Directions
from vsperf.errors import UsageError
from vsperf.quantities.units import FCS_BYTES, Duration, FrameSize, LinkSpeed, Rate, Ratio
from vsperf.simulation.base import Behaviour, Chance, Truth
from vsperf.simulation.models import AnyBehaviour, SoftKnee

ENDPOINT_KIND = "sim"


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


class SwitchSettings(Spec):
    """What a user can set of a simulated switch."""

    cost: CycleCost = CycleCost()
    """What a frame costs; capacity follows from it."""
    capacity: Rate | None = None
    """Capacity per direction, instead of what the cost says; not as a share of a line."""
    behaviour: AnyBehaviour = SoftKnee(kind="soft-knee")
    """The model of what becomes of the frames."""
    restart_takes: Duration = Duration(500_000_000)
    """For how long it forwards nothing when it is restarted in good order."""
    kill_takes: Duration = Duration(800_000_000)
    """For how long it forwards nothing when it is killed and started again."""
    upcall_takes: Duration = Duration(0)
    """By how much longer the first frame of each flow takes; only ranges of frames show it."""
    draw: Ratio = Ratio.parse("0")
    """Standard deviation of its capacity from one deployment to the next."""
    warms_in: Duration = Duration(0)
    """For how long it forwards half as much when it goes on after others had their turn."""
    modify: Modify | None = None
    """What the switch changes in each frame when it sends it on to the end of its way."""
    modifies: bool = True
    """Whether it does what `modify` asks for; without, it is a switch that forgets to."""


class SwitchModel(SwitchSettings):
    """All that a simulated generator has to know of the switch behind its ports."""

    ports: tuple[str, ...] = Field(min_length=1)
    """Links in the order of the topology, which tells forward from reverse."""
    passes: int = Field(default=1, ge=1)
    """How often a frame goes through the switch on its way."""

    @property
    def model(self) -> Behaviour:
        """The behaviour, as what all behaviours have in common."""
        return self.behaviour

    def capacity_fps(self, size: FrameSize, flows: int, directions: int) -> int:
        """Return the capacity per direction before any behaviour."""
        if self.capacity is None:
            return self.cost.capacity_fps(size, flows, directions, self.passes)
        return max(1, int(self.capacity.frames_per_second(size, LinkSpeed(1))))

    def drawn(self, seed: int, place: int = 0, deployment: int = 0) -> float:
        """Return by which factor a deployment's capacity differs: it follows from the seed.

        Of several switches that stand at the same time, each in its place has a draw of its own.
        """
        if not self.draw.value:
            return 1.0
        luck = Chance.of(seed, "deployment", deployment, place)
        return math.exp(float(self.draw) * luck.wobble())

    def is_forward(self, enters: str, leaves: str) -> bool:
        """Return whether the way from link `enters` to link `leaves` is the forward one."""
        return self.ports.index(enters) < self.ports.index(leaves)

    def address(self) -> str:
        """Return the model as the address of its endpoints: one line of JSON."""
        return self.model_dump_json()

    @classmethod
    def at(cls, address: str) -> SwitchModel:
        """Return the model that an endpoint's address holds."""
        try:
            return cls.model_validate_json(address)
        except ValidationError as error:
            raise UsageError(
                "the address of a simulated endpoint describes no simulated switch",
                why=f"{error.error_count()} of its values cannot be read",
                fix="let the sim switch of this version of vsperf make the endpoints",
            ) from error

    def true_capacity_fps(
        self, traffic: Offer, loss_ratio: Fraction = Fraction(0), seed: int = 1
    ) -> tuple[Truth, ...]:
        """Return the truth per direction: forward, reverse, or both in this order.

        `seed` is the generator's: with some models it decides what this start is like.
        """
        ways = {"both": (True, False), "forward": (True,), "reverse": (False,)}[traffic.direction]
        capacity = self.capacity_fps(traffic.frame_size, traffic.flows, len(ways))
        capacity = max(1, int(capacity * self.drawn(seed)))
        return tuple(self.model.truth(capacity, loss_ratio, way, seed) for way in ways)


@dataclass(frozen=True, slots=True)
class Offer:
    """Traffic of which the true capacity is asked."""

    frame_size: FrameSize
    flows: int = 1
    """Per direction."""
    direction: Directions = "both"
