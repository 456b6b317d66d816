"""`pacing`: how evenly a generator sends, as the kernel sees its frames leave; in a trial apart.

The generator has no part in it. It puts its frames on a device of the kernel, and the kernel notes
when each of them passes; vsperf reads the times when the trial is over, and holds them against the
schedule that was asked for.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.counted import Counted
from vsperf.config.wiring import load_shares
from vsperf.drivers.collectors.base import COMPONENT, OwnTrialsSpec, Seat, own_trials_text, refuse
from vsperf.errors import NotReadyError
from vsperf.host.frame_stamps import Stamping, stamping
from vsperf.quantities.units import NANOSECONDS, Duration
from vsperf.records.run import OF_THE_KERNEL, Endpoint, Placement, Step
from vsperf.records.series import Nature, Note, Quantity, Sample, Value
from vsperf.records.trial import Direction, Trial

PACKET_SOCKET = "net_af_packet"
"""DPDK's driver of ports that send by a packet socket."""
BYPASS = "qdisc_bypass"
"""Its argument; unless it is 0, the kernel shows to nobody what is sent."""
PERCENTILES = (1, 50, 99, 99.9)
LEAST_FRAMES = 100
"""Fewer have no distribution."""
FIX = "choose ports of the kernel, such as --vswitch ovs, or --set collect=none"


class PacingSpec(OwnTrialsSpec):
    """Settings of `pacing`."""

    kind: Literal["pacing"]
    duration: Duration = Duration(2 * NANOSECONDS)
    """Length of a trial of its own."""
    frames: Annotated[int, Field(ge=LEAST_FRAMES, le=32_000_000), Counted] = 1_000_000
    """Most frames of a direction whose times it has room for; 64 bytes of memory each."""


def pace(times_ns: Sequence[int], rate_fps: Fraction) -> dict[str, Value]:
    """Return how frames kept a rate that pass at these times, which are in order.

    The schedule is the one that fits best: nobody knows when the generator meant to begin.
    """
    gap_ns = float(NANOSECONDS / rate_fps)
    first, count = times_ns[0], len(times_ns)
    gaps = sorted(after - before for before, after in pairwise(times_ns))
    off = sorted(abs(gap - gap_ns) for gap in gaps)
    late = [at - first - number * gap_ns for number, at in enumerate(times_ns)]
    middle = math.fsum(late) / count
    seen_fps = (count - 1) * NANOSECONDS / max(1, times_ns[-1] - first)
    return {
        "rate_fps": seen_fps,
        "rate_off_ppm": (seen_fps / float(rate_fps) - 1) * 1e6,
        "gap_off_p50_ns": _rank(off, 50),
        "gap_off_p99_ns": _rank(off, 99),
        "late_rms_ns": math.sqrt(math.fsum((one - middle) ** 2 for one in late) / count),
        "late_max_ns": max(abs(one - middle) for one in late),
        "gap_min_ns": gaps[0],
        **{f"gap_p{percent:g}_ns": _rank(gaps, percent) for percent in PERCENTILES},
        "gap_max_ns": gaps[-1],
        "close_gaps": 100 * sum(2 * gap < gap_ns for gap in gaps) / len(gaps),
    }


def _rank(ordered: Sequence[Value], percent: float) -> Value:
    """Return the least value that so many percent are not above."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


QUANTITIES = {
    "seen_frames": ("1", "test frames that it saw leave the generator"),
    "missed_frames": ("1", "those that it had no room for; then it tells no more"),
    "rate_fps": ("fps", "the mean rate, from the first frame to the last"),
    "rate_off_ppm": ("ppm", "how much faster that is than the rate asked for"),
    "gap_off_p50_ns": ("ns", "half of the gaps differ from the intended one by no more"),
    "gap_off_p99_ns": ("ns", "99 % of the gaps differ from the intended one by no more"),
    "late_rms_ns": ("ns", "how far frames are from the even schedule that fits best: RMS"),
    "late_max_ns": ("ns", "the farthest of them"),
    "gap_min_ns": ("ns", "the shortest gap between two frames"),
    **{f"gap_p{one:g}_ns": ("ns", f"{one:g} % of the gaps are no longer") for one in PERCENTILES},
    "gap_max_ns": ("ns", "the longest gap"),
    "close_gaps": ("%", "gaps shorter than half of the intended one"),
}
TOTALS = ("seen_frames", "missed_frames")


@dataclass
class RunningMonitor:
    """Sockets where the frames of each direction leave the generator."""

    seat: Seat
    sockets: tuple[Stamping, ...]
    at_ns: int = 0
    """When the trial was over."""

    def begin(self, trial: int) -> None:
        """Have the kernel note times from now on."""
        for one in self.sockets:
            one.begin()

    def end(self, trial: int) -> None:
        """Read nothing yet: what times mean depends on what the generator was asked for."""
        self.at_ns = time.time_ns()

    def hear(self, trial: Trial) -> None:
        """Hold what was seen against the trial."""
        case = self.seat.case
        shares = load_shares(case.topology, case.traffic)
        for one, way, share in zip(self.sockets, trial.directions, shares, strict=False):
            self._tell(one, way, trial, trial.load_fps * share)

    def _tell(self, one: Stamping, way: Direction, trial: Trial, rate_fps: Fraction) -> None:
        found = one.read()
        seen = len(found.times_ns)
        values: dict[str, Value] = {"seen_frames": seen, "missed_frames": found.missed}
        why = doubt(seen, found.missed, way.sent_frames)
        if why is None:
            values |= pace(found.times_ns, rate_fps)
        else:
            text = f"nothing is told of the pace from {way.name}: {why}"
            self.seat.file.append(Note(trial=trial.index, text=text))
        sample = Sample(trial=trial.index, at_ns=self.at_ns, of=way.name, values=values)
        self.seat.file.append(sample)


def doubt(seen: int, missed: int, sent: int) -> str | None:
    """Return why times do not tell a pace; None where they are those of all frames."""
    if missed:
        return f"there was no room for {missed} of {seen + missed} frames; raise `frames`"
    if seen != sent:
        return f"{seen} frames were seen, and the generator counted {sent}"
    return f"{seen} frames are too few" if seen < LEAST_FRAMES else None


@dataclass(frozen=True, slots=True)
class View:
    """Where frames can be seen as they leave the generator."""

    device: str
    network: str
    sent: bool
    """Whether the device sends them; otherwise they come in by it, from a program behind it."""

    @classmethod
    def of(cls, endpoint: Endpoint) -> View | None:
        """Return where that is; None where the kernel does not see them."""
        if endpoint.kind in OF_THE_KERNEL:
            network, device = endpoint.located
            return cls(device, network, sent=endpoint.kind == "packet")
        driver, *words = endpoint.address.split(",")
        given = dict(word.partition("=")[::2] for word in words)
        if not driver.startswith(PACKET_SOCKET) or given.get(BYPASS, "1") != "0":
            return None
        return cls(given["iface"], "", sent=True)


class PacingMonitor:
    """Sees the frames of a generator leave, and tells how evenly they came."""

    kind: ClassVar[str] = "pacing"
    summary: ClassVar[str] = "how evenly a generator sends, seen by the kernel; in a trial apart"
    Spec: ClassVar[type[DriverSpec]] = PacingSpec

    def heavy(self, settings: DriverSpec) -> bool:
        return True

    def disturbs(self, settings: DriverSpec) -> str:
        return (
            "heavy: the generator waits while the kernel notes the time of each frame; it has "
            f"{own_trials_text(settings)}"
        )

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        return tuple(
            Quantity(
                name=name,
                unit=unit,
                nature=Nature.TOTAL if name in TOTALS else Nature.GAUGE,
                meaning=meaning,
            )
            for name, (unit, meaning) in QUANTITIES.items()
        )

    def plan(self, settings: DriverSpec, name: str, placement: Placement) -> tuple[Step, ...]:
        action = (
            f"{name}: after the search, have the kernel note when each frame leaves the generator, "
            f"in {own_trials_text(settings)}"
        )
        return (Step(component=COMPONENT, action=action),)

    def fits(self, case: CaseSpec, entries: tuple[Endpoint, ...]) -> None:
        """Refuse frames that nobody sees, or that are not to come evenly."""
        for endpoint in entries:
            if View.of(endpoint) is None:
                raise refuse(self.kind, _unseen(endpoint), FIX)
        if len({endpoint.link for endpoint in entries}) < len(entries):
            why = "frames of several directions leave by one port, each with a pace of its own"
            raise refuse(self.kind, why, "--set topology=p2p")
        if not case.traffic.evenly:
            why = "the frames are to come in bursts, or as they do in a file, and not evenly"
            raise refuse(self.kind, why, "--set traffic.bursts=null")
        if case.traffic.destination != "unicast" or case.traffic.broadcast_every:
            why = "it takes frames for everybody, or for a group, for those that teach a switch"
            raise refuse(self.kind, why, "--set traffic.destination=unicast")

    def require(self, case: CaseSpec, settings: DriverSpec) -> None:
        try:
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
        except OSError as error:
            raise NotReadyError(
                "the collector pacing cannot look at devices of the kernel",
                why=f"a packet socket: {error.strerror}",
                fix="run vsperf with sudo, or take it out of `collect`",
            ) from error

    def facts(self, settings: DriverSpec) -> dict[str, Any]:
        return {"clock": "CLOCK_REALTIME of the kernel"}

    @contextmanager
    def start(self, settings: DriverSpec, seat: Seat) -> Iterator[RunningMonitor]:
        assert isinstance(settings, PacingSpec)
        views = [view for entry in seat.parts.entries if (view := View.of(entry)) is not None]
        with ExitStack() as stack:
            made = (
                stamping(one.device, one.network, sent=one.sent, frames=settings.frames)
                for one in views
            )
            yield RunningMonitor(seat, tuple(stack.enter_context(one) for one in made))


def _unseen(endpoint: Endpoint) -> str:
    """Say why the kernel sees nothing of what is sent at a port."""
    if endpoint.address.startswith(PACKET_SOCKET):
        return (
            f"the port of {endpoint.link} sends past the kernel's queues, where nobody looks; its "
            f"device in testbed.links.{endpoint.link}.generator needs {BYPASS}=0"
        )
    what = endpoint.address.partition(",")[0] if endpoint.kind == "vdev" else endpoint.kind
    return f"the port of {endpoint.link} is {what}, whose frames pass no device of the kernel"
