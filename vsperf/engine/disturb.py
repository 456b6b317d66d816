"""A trial in the middle of which something is done to the switch.

The only place where two things happen at once: the generator sends in a thread, which waits for its
answer and nothing else, while this one acts on the switch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from vsperf.errors import ComponentError, DiedError
from vsperf.record.trial import Event, TrialCounts
from vsperf.spec.search import SwitchEvent
from vsperf.trafficgens.base import GeneratorSession, TrialRequest

SHARE_BEFORE = 4
"""The event comes after one part in so many of the trial."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What is done in the middle of each trial of a search, and how."""

    name: SwitchEvent
    act: Callable[[], None]


@dataclass
class _Sending:
    """A trial in a thread of its own; it dies with the program, and holds nobody up."""

    generator: GeneratorSession
    request: TrialRequest
    counts: TrialCounts | None = None
    error: Exception | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._send, daemon=True)
        self.thread.start()

    def _send(self) -> None:
        try:
            self.counts = self.generator.run(self.request)
        except Exception as error:  # handed to whoever asks for the result
            self.error = error

    def result(self) -> TrialCounts:
        self.thread.join()
        if self.error is not None:
            raise self.error
        assert self.counts is not None  # a thread ends with one or the other
        return self.counts


def run_disturbed(
    generator: GeneratorSession, request: TrialRequest, disturbance: Disturbance, before_ns: int
) -> tuple[TrialCounts, Event]:
    """Make a trial, and disturb it when a quarter of it has passed.

    Nothing is sent for `before_ns`: learning frames may come first, and a wait after them.
    """
    began_ns = time.monotonic_ns()
    sending = _Sending(generator, request)
    sending.thread.join((before_ns + request.duration_ns // SHARE_BEFORE) / 1e9)
    acted_ns = time.monotonic_ns()
    if sending.thread.is_alive():
        try:
            disturbance.act()
        except ComponentError as error:
            sending.thread.join()  # nobody else may speak to the generator meanwhile
            raise DiedError(
                f"the switch did not come back after {disturbance.name}", why=error.with_why
            ) from error
    ended_ns = time.monotonic_ns()
    counts = sending.result()
    return counts, Event(
        name=disturbance.name, began_ns=acted_ns - began_ns, ended_ns=ended_ns - began_ns
    )
