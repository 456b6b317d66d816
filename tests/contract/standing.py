"""A switch that stands with a generator at its ports: what is sent through it, and asked of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kept import State
from ovs_traffic import frames_in

from vsperf.deploy.deployment import PORTS_S, Deployment
from vsperf.drivers.generators.base import TrialRequest
from vsperf.host.procfs import MARK, marked_below
from vsperf.host.workspace import Workspace
from vsperf.records.trial import TrialCounts

LIGHT = TrialRequest(load_fps=1_000, duration_ns=200_000_000)
"""What any switch can carry on any machine: 200 frames each way, for which every ring has room,
whoever does not run meanwhile."""
GENERATORS = ("tgen",)
"""Programs of a deployment that are not the switch's."""
NOTICED_S = 20.0
"""Time in which a switch that stopped must be found out; a daemon may be asked for 5 s, and the
machine be busy."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A switch with a generator at its ports."""

    parts: Deployment
    place: Workspace

    def send(self, request: TrialRequest = LIGHT) -> TrialCounts:
        return self.parts.generator.run(request)

    def programs(self) -> dict[str, int]:
        """Return the programs of the switch: their names, and their numbers."""
        found = {}
        for pid in marked_below(f"{self.place.name}/"):
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            mark = next(one for one in environ if one.startswith(f"{MARK}=".encode()))
            found[mark.decode().rpartition("/")[2]] = pid
        return {name: pid for name, pid in found.items() if name not in GENERATORS}

    def state(self, links: tuple[str, ...]) -> State:
        """Return what every test leaves as it was: it works, and nothing is under way in it."""
        self.parts.switch.await_ports(links, PORTS_S)
        counted, rested = (self._counted() for _ in range(2))
        return {
            "its failure": self.parts.switch.failure(),
            "its programs": sorted(self.programs()),
            "whether it rests": counted == rested,
        }

    def _counted(self) -> list[int | None]:
        counters = self.parts.switch.counters()
        return [] if counters is None else frames_in(counters)


def sent_and_arrived(counts: TrialCounts) -> list[tuple[int, int]]:
    return [(way.sent_frames, way.good_frames) for way in counts.directions]


def forwards(standing: Standing) -> None:
    """See that all frames of a trial arrive."""
    # What a busy generator did not send, no switch can lose.
    ways = sent_and_arrived(standing.send())
    assert ways and all(sent == arrived > 0 for sent, arrived in ways), f"sent, arrived: {ways}"


def failure_of(standing: Standing) -> str:
    """Wait until the switch has noticed that it failed."""
    deadline = time.monotonic() + NOTICED_S
    while (found := standing.parts.switch.failure()) is None:
        assert time.monotonic() < deadline, "nobody noticed"
        time.sleep(0.02)
    return found


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Keep a program from running for a while."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
