"""Throughput as ETSI GS NFV-TST 009 has it: binary search with loss verification."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vsperf.config.case import CaseSpec
from vsperf.config.counted import Counted
from vsperf.config.method import Goal, GoalName
from vsperf.methods.base import refused
from vsperf.methods.compliance import Findings, too_short
from vsperf.methods.range import TrialDuration
from vsperf.methods.throughput import Throughput
from vsperf.quantities.units import Rate
from vsperf.search.base import Loads
from vsperf.search.tst009 import VerificationRule, VerifiedBinarySearch


class Tst009Search(Throughput):
    """Binary search with loss verification over an array of loads (ETSI GS NFV-TST 009)."""

    summary: ClassVar[str] = "throughput by binary search with loss verification (TST 009)"

    kind: Literal["tst009"]
    goals: dict[GoalName, Goal] = Field(min_length=1)
    duration: TrialDuration
    """Length of a trial."""
    step: Rate
    """Distance of two loads of the array; a percentage is one of the highest load: the line rate,
    or of `max_load` or what the generator can do where that is less."""
    max_repeats: int = Field(ge=0, le=100)
    """max(r): how often a lossy trial is repeated before its loss is believed."""
    loss_threshold: Annotated[int, Field(ge=0), Counted]
    """z: with more frames lost than this, loss is overload and is not verified."""

    def asked(self) -> dict[str, Goal]:
        return self.goals

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the range of loads, with the distance of two of them."""
        found = super().offers(case, generator_cap)
        step = math.floor(self._step_fps(case, found.maximum))
        if step < 1:
            raise refused(
                f"the step {self.step} is less than one frame per second",
                f"at {case.traffic.frame_size} on {case.slowest_link}",
                "give search.step a greater rate, such as 10kfps",
            )
        return replace(found, step=step)

    def _step_fps(self, case: CaseSpec, highest: int) -> Fraction:
        """Return the distance of two loads; a share is one of the highest load of all.

        That is the line rate of real links. A virtual one has a speed in name only, of which half a
        per cent can be more than a quarter of all that ever passes.
        """
        if self.step.unit == "%":
            return self.step.number / 100 * highest
        return self.step.frames_per_second(case.traffic.frame_size, case.slowest_link)

    def search(self, loads: Loads) -> VerifiedBinarySearch:
        rules = {
            name: VerificationRule(goal.loss_ratio.value, self.max_repeats, self.loss_threshold)
            for name, goal in self.goals.items()
        }
        return VerifiedBinarySearch(rules, loads, array_of(loads), self.duration.ns)

    def rfc2544(self) -> Findings:
        """A loss that is verified may turn out to be none."""
        found = Findings()
        too_short(found, self.duration.ns)
        if self.max_repeats:
            found.breaking.append("a lossy trial is repeated and may be disregarded")
        return found

    def tst009(self) -> Findings:
        """The method is the standard's own, as far as it is used."""
        found = Findings()
        too_short(found, self.duration.ns)
        if not self.max_repeats or not self.loss_threshold:
            found.weakening.append("max(r) or z is 0: a plain binary search, no loss verified")
        return found


def array_of(loads: Loads) -> range:
    """Return the array of loads of a TST 009 search: the highest load and all steps below it."""
    assert loads.step is not None
    steps = (loads.maximum - loads.minimum) // loads.step
    return range(loads.maximum - steps * loads.step, loads.maximum + 1, loads.step)
