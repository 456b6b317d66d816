"""A machine whose speed changes by itself, as shared ones do, under one switch or several."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vsperf.config.base import Spec
from vsperf.quantities.units import NANOSECONDS, Duration, Ratio
from vsperf.simulation.base import Chance

MINUTE_NS = 60 * NANOSECONDS
MOMENT_NS = 10_000_000
"""For so long the rate stays what it is within a trial,"""
MOST_MOMENTS = 1000
"""or longer, where a trial would have more moments."""
NEAR_NS, FAR_NS = (70, 125), (380, 500)
"""Round trips of a cache line, as measured on a virtual machine."""


class Restless(Spec):
    """What a machine does to all switches alike; nothing unless it is set."""

    noise: Ratio = Ratio.parse("0")
    """Standard deviation of the rate between turns, or between moments of a trial."""
    far: Ratio = Ratio.parse("100%")
    """What is left of the rate while a hypervisor has the CPUs far from each other; with less than
    all of it, the round trip between them tells."""
    near_lasts: Duration = Duration(8 * NANOSECONDS)
    """For how long they are near, in the mean."""
    far_lasts: Duration = Duration(18 * NANOSECONDS)
    """For how long they are far, in the mean."""
    drift: Ratio = Ratio.parse("0")
    """What is lost of the rate in each minute."""
    wave: Ratio = Ratio.parse("0")
    """By how much the rate goes up and down."""
    wave_lasts: Duration = Duration(NANOSECONDS)
    """From one crest to the next."""
    away: Ratio = Ratio.parse("0")
    """Of switches that take turns: share of the turns in which the generator is kept from running
    for a third of the time."""
    gaps: Ratio = Ratio.parse("0")
    """Of switches that take turns: share of a turn in which the generator does not run, up to twice
    that by chance."""
    taken: Ratio = Ratio.parse("0")
    """Of switches that take turns: share of a turn that others take from their CPU in one piece, a
    third more or less by chance."""


@dataclass
class RestlessHost:
    """A restless machine with its clock."""

    settings: Restless
    seed: int
    now_ns: int = 0
    near: bool = True
    until_ns: int = 0
    """When the CPUs are moved next."""
    chance: Chance = field(init=False)
    looks: Chance = field(init=False)

    def __post_init__(self) -> None:
        self.chance = Chance.of(self.seed, "machine")
        self.looks = Chance.of(self.seed, "round trip")
        both = self.settings.near_lasts.ns + self.settings.far_lasts.ns
        self.near = self.chance.share() * both < self.settings.near_lasts.ns
        self.until_ns = self._lasts()

    def pace(self, length_ns: int) -> float:
        """Let so much time pass, and return the share of their rate that switches had in it."""
        middle_ns = self.now_ns + length_ns // 2
        self._move(middle_ns)
        self.now_ns += length_ns
        settings = self.settings
        found = 1.0 if self.near else float(settings.far)
        found *= max(0.1, 1 - float(settings.drift) * middle_ns / MINUTE_NS)
        turn = 2 * math.pi * middle_ns / max(1, settings.wave_lasts.ns)
        found *= 1 + float(settings.wave) * math.sin(turn)
        return found * math.exp(float(settings.noise) * self.chance.wobble())

    def paces(self, length_ns: int) -> list[float]:
        """Let a trial pass, and return the share of its rate that a switch had in each moment."""
        count = max(1, min(MOST_MOMENTS, length_ns // MOMENT_NS))
        return [self.pace(length_ns // count) for _ in range(count)]

    def let_pass(self, ns: int) -> None:
        """Let so much time pass in which nothing is sent."""
        self.now_ns += ns

    def round_trip_ns(self) -> int | None:
        """Return how far the CPUs are from each other now; None where that makes no difference."""
        if float(self.settings.far) == 1:
            return None
        self._move(self.now_ns)
        least, most = NEAR_NS if self.near else FAR_NS
        return least + int(self.looks.share() * (most - least))

    def _move(self, at_ns: int) -> None:
        while at_ns >= self.until_ns:
            self.near = not self.near
            self.until_ns += self._lasts()

    def is_away(self) -> bool:
        """Return whether the generator is kept from running in a turn."""
        share = float(self.settings.away)
        return share > 0 and self.chance.share() < share

    def gap(self) -> float:
        """Return the share of a turn in which the generator is in a gap."""
        share = float(self.settings.gaps)
        return 2 * share * self.chance.share() if share else 0

    def taken(self) -> float:
        """Return the share of a turn that others take from switches."""
        share = float(self.settings.taken)
        return min(0.9, share * (2 + 2 * self.chance.share()) / 3) if share else 0

    def _lasts(self) -> int:
        mean = (self.settings.near_lasts if self.near else self.settings.far_lasts).ns
        return max(1, int(-mean * math.log(1 - self.chance.share())))
