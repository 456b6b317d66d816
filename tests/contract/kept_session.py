"""A session of a generator that several tests send through, each of which gets it clean."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

import pytest

from vsperf.errors import VsperfError
from vsperf.trafficgens.base import GeneratorSession, TrialRequest

PROBE = TrialRequest(load_fps=1_000, duration_ns=20_000_000)
"""A few frames, other than any test sends: what is counted of them can be of no trial before."""


class KeptSession:
    """A session that stands from one test to the next, and is seen to be clean between them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._session: GeneratorSession | None = None
        self._user = ""

    def handed_to(
        self, user: str, start: Callable[[], AbstractContextManager[GeneratorSession]]
    ) -> GeneratorSession:
        """Return what stands already, or is started now; fail where the last user left a trace."""
        if self._session is not None and (trace := trace_in(self._session)):
            self.take_down()
            pytest.fail(f"{self._user} left the generator so that {trace}", pytrace=False)
        if self._session is None:
            self._session = self._stack.enter_context(start())
        self._user = user
        return self._session

    def take_down(self) -> None:
        """Make room for a test that needs a session of its own, or none."""
        self._session = None
        self._stack.close()


def trace_in(session: GeneratorSession) -> str | None:
    """Return what a trial shows of those before it, in words; a generator refuses a second one."""
    if failure := session.failure():
        return f"it does not work any more: {failure}"
    try:
        ways = session.run(PROBE).directions
    except VsperfError as error:
        return f"it takes no trial: {error}"
    for way in ways:
        if way.intended_frames != PROBE.frames or way.sent_frames > PROBE.frames:
            return f"a trial of {PROBE.frames} frames has sent {way.sent_frames} {way.name}"
        if way.received_frames > way.sent_frames:
            return f"{way.received_frames} of {way.sent_frames} frames were received {way.name}"
    return None
