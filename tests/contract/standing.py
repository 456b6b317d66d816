"""A switch that stands with a generator at its ports: what is sent through it, and asked of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from vsperf.deploy.deployment import Deployment
from vsperf.host.procfs import MARK, marked_below
from vsperf.host.workspace import Workspace
from vsperf.record.trial import TrialCounts
from vsperf.trafficgens.base import TrialRequest

LIGHT = TrialRequest(load_fps=1_000, duration_ns=500_000_000)
"""What any switch can carry on any machine."""
ATTEMPTS = 5
"""Others may keep both from running; a switch that loses frames does it each time."""
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


def sent_and_arrived(counts: TrialCounts) -> list[tuple[int, int]]:
    return [(way.sent_frames, way.good_frames) for way in counts.directions]


def forwards(standing: Standing) -> None:
    """See that all frames of a trial arrive; on a machine that others use, of one of several."""
    seen = []
    for _ in range(ATTEMPTS):
        seen.append(sent_and_arrived(standing.send()))
        if all(sent == arrived > 0 for sent, arrived in seen[-1]):
            return  # what a busy generator did not send, no switch can lose
    pytest.fail(f"frames (sent, arrived) in {ATTEMPTS} trials: {seen}")


def failure_of(standing: Standing) -> str:
    """Wait until the switch has noticed that it failed."""
    deadline = time.monotonic() + NOTICED_S
    while (found := standing.parts.switch.failure()) is None:
        assert time.monotonic() < deadline, "nobody noticed"
        time.sleep(0.02)
    return found


@contextmanager
def struck(pid: int, number: signal.Signals) -> Iterator[None]:
    """Send a program a signal; who is only stopped goes on afterwards."""
    os.kill(pid, number)
    try:
        yield
    finally:
        if number == signal.SIGSTOP:
            os.kill(pid, signal.SIGCONT)


class Kept:
    """A deployment that several tests send through: none of them changes what it is."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._standing: Standing | None = None

    def standing(self, deployed: Callable[[], AbstractContextManager[Standing]]) -> Standing:
        """Return what stands already, or is deployed now."""
        if self._standing is None:
            self._standing = self._stack.enter_context(deployed())
        return self._standing

    def take_down(self) -> None:
        """Make room for a test that needs a deployment of its own, or none."""
        self._standing = None
        self._stack.close()
