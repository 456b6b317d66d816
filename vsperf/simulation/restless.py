"""A machine whose speed changes by itself, as shared ones do, under switches that take turns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vsperf.simulation.chance import Chance
from vsperf.spec.base import Spec
from vsperf.units import NANOSECONDS, Duration, Ratio

MINUTE_NS = 60 * NANOSECONDS


class Restless(Spec):
    """What a machine does to all switches alike; nothing unless it is set."""

    noise: Ratio = Ratio.parse("0")
    """Standard deviation of the rate between turns."""
    far: Ratio = Ratio.parse("100%")
    """What is left of the rate while a hypervisor has the CPUs far from each other."""
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
    """Share of the turns in which the generator is kept from running for a third of the time."""
    gaps: Ratio = Ratio.parse("0")
    """Share of a turn in which the generator does not run, up to twice that by chance."""
    taken: Ratio = Ratio.parse("0")
    """Share of a turn that others take from the CPU of the switches in one piece, a third more or
    less by chance."""


@dataclass
class Machine:
    """A restless machine with its clock."""

    settings: Restless
    seed: int
    now_ns: int = 0
    near: bool = True
    until_ns: int = 0
    """When the CPUs are moved next."""
    chance: Chance = field(init=False)

    def __post_init__(self) -> None:
        self.chance = Chance.of(self.seed, "machine")
        both = self.settings.near_lasts.ns + self.settings.far_lasts.ns
        self.near = self.chance.share() * both < self.settings.near_lasts.ns
        self.until_ns = self._lasts()

    def pace(self, length_ns: int) -> float:
        """Let so much time pass, and return the share of their rate that switches had in it."""
        middle_ns = self.now_ns + length_ns // 2
        while middle_ns >= self.until_ns:
            self.near = not self.near
            self.until_ns += self._lasts()
        self.now_ns += length_ns
        settings = self.settings
        found = 1.0 if self.near else float(settings.far)
        found *= max(0.1, 1 - float(settings.drift) * middle_ns / MINUTE_NS)
        turn = 2 * math.pi * middle_ns / max(1, settings.wave_lasts.ns)
        found *= 1 + float(settings.wave) * math.sin(turn)
        return found * math.exp(float(settings.noise) * self.chance.wobble())

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
