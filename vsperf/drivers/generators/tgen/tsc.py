"""The speed of the TSC, by which every rate and every time of tgen is, over a session's trials.

tgen measures it against the kernel's raw clock when it starts, and anew in each trial. A machine
that was moved to another processor, or paused with one clock going on, has rates that do not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vsperf.drivers.generators.tgen.guest_clock import MILLION, Drift
from vsperf.errors import ComponentError

LEAST_NS = 100_000_000
"""Of sending: shorter trials say too little of a clock."""
WITHIN_NS = 100_000
"""More than two clocks can be apart that are read one after the other, at both ends of a trial."""


@dataclass
class Tsc:
    """What is known of it."""

    hz: int | None = None
    """As tgen measured it at its start."""
    hz_dpdk: int | None = None
    """As DPDK has it, which may be rounded to 10 MHz."""
    most_off_ppm: float | None = None
    """The most that a trial's own measurement differed from the first; None before there is one."""

    @classmethod
    def of(cls, hello: Mapping[str, Any]) -> Tsc:
        """Return it as tgen says at the beginning."""
        return cls(hello.get("tsc_hz"), hello.get("tsc_hz_dpdk"))

    def hear(self, result: Mapping[str, Any], *, refuse: bool = True) -> None:
        """Note the speed over a trial; raise `ComponentError` where its times cannot be right."""
        hz, meanwhile = result.get("tsc_hz"), result.get("tsc_hz_meanwhile")
        over_ns = result.get("elapsed_ns", 0)
        if not hz or not meanwhile or over_ns < LEAST_NS:
            return
        off = meanwhile - hz
        self.most_off_ppm = max(self.most_off_ppm or 0.0, round(abs(off) * MILLION / hz, 3))
        problem = Drift(over_ns, over_ns * off // hz, WITHIN_NS).problem
        if problem is not None and refuse:
            raise ComponentError(
                f"no rate and no time of tgen holds: {problem}",
                why=f"the TSC had {hz} Hz when tgen started, and {meanwhile} Hz in the trial",
                fix="see what moved or paused the machine, and run again",
            )

    def facts(self) -> dict[str, Any]:
        """Return it for the record."""
        known = {"hz": self.hz, "hz_dpdk": self.hz_dpdk, "most_off_ppm": self.most_off_ppm}
        return {name: value for name, value in known.items() if value is not None}
