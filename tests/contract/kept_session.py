"""How a session of a generator is that several tests send through: as if none had before."""

from __future__ import annotations

from kept import State

from vsperf.drivers.generators.base import GeneratorSession, TrialRequest
from vsperf.errors import VsperfError

PROBE = TrialRequest(load_fps=1_000, duration_ns=20_000_000)
"""A few frames, other than any test sends: what is counted of them can be of no trial before."""


def state_of(session: GeneratorSession) -> State:
    """Return what every test leaves as it was."""
    return {"what a trial shows": trace_in(session) or "that trial alone"}


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
