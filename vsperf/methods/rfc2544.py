"""Throughput as RFC 2544 section 26.1 has it: plain bisection on full-length trials."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from vsperf.config.method import Goal, GoalName
from vsperf.methods.compliance import Findings, too_short
from vsperf.methods.range import TrialDuration
from vsperf.methods.throughput import Throughput
from vsperf.quantities.units import Ratio
from vsperf.search.base import Loads
from vsperf.search.classify import DurationRule
from vsperf.search.rfc2544 import Bisection


class Rfc2544Search(Throughput):
    """Plain bisection on full-length trials: RFC 2544 section 26.1 to the letter."""

    summary: ClassVar[str] = "throughput by bisection on full-length trials (RFC 2544, 26.1)"
    trusts_single_trials: ClassVar[bool] = True

    kind: Literal["rfc2544"]
    goals: dict[GoalName, Goal] = Field(min_length=1)
    duration: TrialDuration
    """Length of a trial; the standard asks for 60 s."""
    resolution: Ratio
    """Width of the final interval, as a share of the highest load."""
    verify_upper: int = Field(default=2, ge=0, le=10)
    """Repeats at the upper bound, to tell overload from accident."""

    def asked(self) -> dict[str, Goal]:
        return self.goals

    def search(self, loads: Loads) -> Bisection:
        ns = self.duration.ns
        rules = {
            name: DurationRule(goal.loss_ratio.value, Fraction(0), ns, ns)
            for name, goal in self.goals.items()
        }
        step = max(1, math.floor(self.resolution.value * loads.maximum))
        return Bisection(rules, loads, ns, step, self.verify_upper)

    def rfc2544(self) -> Findings:
        """The method is the standard's own."""
        found = Findings()
        too_short(found, self.duration.ns)
        return found
