"""The bench of a method: the measurer, and nothing else of what is deployed."""

from __future__ import annotations

from dataclasses import dataclass

from vsperf.engine.measurer import Measurer
from vsperf.methods.base import PLAIN, TrialOptions
from vsperf.records.trial import Trial
from vsperf.search.base import Budget, Loads


@dataclass(frozen=True, slots=True)
class MeasuredBench:
    """Trials on what is deployed."""

    measurer: Measurer
    loads: Loads

    @property
    def budget(self) -> Budget:
        """The time of the case."""
        return self.measurer.budget

    @property
    def overhead_ns(self) -> int:
        """What the policy of trials asks for around each."""
        return self.measurer.policy.overhead_ns

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        """Make a trial, repeated until it is valid."""
        return self.measurer.measure(load_fps, duration_ns, options)

    def round_trip_ns(self) -> int | None:
        """Return how far the CPUs of generator and switch were from each other at the last look."""
        return self.measurer.watch.last_round_trip_ns

    def hold(self, ns: int) -> None:
        """Hold the next trial back for so long, and look again."""
        self.measurer.hold(ns)
