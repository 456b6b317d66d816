"""The speed of the TSC, by which every rate and every time of tgen is, over a session's trials.

tgen measures it against the kernel's raw clock when it starts, and anew in each trial. A machine
that was moved to another processor, or paused with one clock going on, has rates that do not hold.
A guest may have measured it wrongly, and whoever pauses a VM may stop it; from inside neither can
be seen, so that of tgen in a guest is held against the host's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vsperf.errors import ComponentError

LEAST_NS = 100_000_000
"""Of sending: shorter trials say too little of a clock."""
WITHIN_NS = 100_000
"""More than two clocks can be apart that are read one after the other, at both ends of a trial."""
ATTEMPTS = 5
"""The shortest of them says most: the answer came at some moment between question and answer."""
MOST_PPM = 1000
"""What a clock may be off by. One whose speed was told or measured well is far below."""
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One moment on both clocks."""

    here_ns: int
    there_ns: int
    within_ns: int
    """How far the two may be from being one moment."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the guest's clock went beside that of the host, between two readings."""

    over_ns: int
    ahead_ns: int
    """Negative where it is behind."""
    within_ns: int

    @classmethod
    def between(cls, before: Reading, after: Reading) -> Drift:
        """Return what lies between two readings."""
        over_ns = after.here_ns - before.here_ns
        ahead_ns = after.there_ns - before.there_ns - over_ns
        return cls(over_ns, ahead_ns, before.within_ns + after.within_ns)

    @property
    def problem(self) -> str | None:
        """Say what is wrong with such a clock; None where nothing is known to be."""
        surely_ns = abs(self.ahead_ns) - self.within_ns
        if surely_ns * MILLION <= self.over_ns * MOST_PPM:
            return None
        off, over, within = (
            f"{time_ns / MILLION:.1f} ms"
            for time_ns in (abs(self.ahead_ns), self.over_ns, self.within_ns)
        )
        way = "fast" if self.ahead_ns > 0 else "slow"
        return f"its clock was {off} {way} over {over} of the host's (within {within})"

    def facts(self) -> dict[str, Any]:
        """Return it for the record, in millionths."""
        return {
            "over_ns": self.over_ns,
            "ahead_ppm": round(self.ahead_ns * MILLION / max(1, self.over_ns)),
            "within_ppm": -(-self.within_ns * MILLION // max(1, self.over_ns)),
        }


def read_clock(
    ask: Callable[[], Mapping[str, Any]],
    tsc_hz: int,
    now_ns: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
) -> Reading:
    """Return one moment on both clocks."""
    readings = []
    for _ in range(ATTEMPTS):
        asked_ns = now_ns()
        there = int(ask()["tsc"])
        took_ns = now_ns() - asked_ns
        readings.append(
            Reading(
                here_ns=asked_ns + took_ns // 2,
                there_ns=there * 1_000_000_000 // tsc_hz,
                within_ns=took_ns // 2 + 1,
            )
        )
    return min(readings, key=lambda reading: reading.within_ns)


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
        known = {"hz": self.hz, "hz_dpdk": self.hz_dpdk, "most_off_ppm": self.most_off_ppm}
        return {name: value for name, value in known.items() if value is not None}
