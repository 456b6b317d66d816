"""What is recorded of each second of a long trial.

The only place where anything is read while frames are sent: some files of the kernel and answers of
the switch, once a second. That takes a few milliseconds of a CPU that may be the generator's, and
is why a search does without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vsperf.drivers.vswitches.base import RunningSwitch
from vsperf.errors import ComponentError
from vsperf.host.files import Roots
from vsperf.host.threads import Look, Thread
from vsperf.methods.base import OnSecond
from vsperf.records.switch import SwitchCounters
from vsperf.records.trial import Sample, Second


@dataclass
class Seconds:
    """Makes a second of each sample, and hands it on."""

    switch: RunningSwitch | None
    polling_threads: Callable[[], tuple[Thread, ...]]
    hand_on: tuple[OnSecond, ...]
    _counters: SwitchCounters | None = None
    _look: Look = field(default_factory=lambda: Look({}))

    def __post_init__(self) -> None:
        """Look once, for the first second to be told from what was before."""
        self._counters, self._look = self._counted(), Look.at(self.polling_threads(), Roots())

    def __call__(self, sample: Sample) -> None:
        """Take a sample, and look at the rest."""
        counters, look = self._counted(), Look.at(self._look.threads, Roots())
        growth = None
        if counters is not None and self._counters is not None:
            growth = counters.since(self._counters)
        second = Second(sample=sample, switch=growth, threads=look.since(self._look))
        self._counters, self._look = counters, look
        for told in self.hand_on:
            told(second)

    def _counted(self) -> SwitchCounters | None:
        try:
            return None if self.switch is None else self.switch.counters()
        except ComponentError:
            return None  # whether it has died, whoever watches the trial finds out
