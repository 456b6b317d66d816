"""A trial before or in the middle of which something is done to the switch, or to the VNFs.

The only place where two things happen at once: the generator sends in a thread, which waits for its
answer and nothing else, while this one acts on the parts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.vswitches.base import ModelledSwitch, RunningSwitch
from vsperf.engine.events import Parts, action_of
from vsperf.errors import ComponentError, DiedError
from vsperf.methods.base import SHARE_BEFORE, TrialOptions
from vsperf.records.trial import Event, TrialCounts, to_vnfs
from vsperf.waits import Aside

CHANGES_A_SECOND = 10
"""Rules are changed so often, as many at a time as it takes."""


Counts = TypeVar("Counts")
Send = Callable[[TrialRequest], TrialCounts]
"""Makes a trial."""


@dataclass(frozen=True, slots=True)
class Happened:
    """What was done in a trial."""

    event: Event | None = None
    rules_changed: int | None = None


NOTHING = Happened()


def run_trial(
    send: Send,
    request: TrialRequest,
    options: TrialOptions,
    parts: Parts,
    before_ns: int,
) -> tuple[TrialCounts, Happened]:
    """Make a trial, and do to the parts what its options asks for.

    Nothing is sent for `before_ns`: learning frames may come first, and a wait after them.
    """
    switch = parts.switch
    if switch is None:
        return send(request), NOTHING
    if isinstance(switch, ModelledSwitch):
        send = _told(send, switch)
    if options.untouched:
        return send(request), NOTHING
    if options.event is not None:
        return _with_event(send, request, options.event, parts, before_ns)
    if options.rules_per_second:
        return _with_changing_rules(send, request, options.rules_per_second, switch)
    return send(request), NOTHING


def _told(send: Send, switch: ModelledSwitch) -> Send:
    """Return what makes a trial and tells a model of it."""

    def send_and_tell(request: TrialRequest) -> TrialCounts:
        counts = send(request)
        switch.carried(counts, request.duration_ns)
        return counts

    return send_and_tell


def prepare(switch: RunningSwitch | None, options: TrialOptions) -> None:
    """Do what must be over before the counters are read that a trial begins with.

    What a switch is still busy with until it has forgotten is counted, too, and no part of it.
    """
    if switch is None or not options.cold:
        return
    try:
        switch.forget_flows()
    except ComponentError as error:
        raise DiedError("the switch does not forget its flows", why=error.with_why) from error


def _with_event(
    send: Send,
    request: TrialRequest,
    name: str,
    parts: Parts,
    before_ns: int,
) -> tuple[TrialCounts, Happened]:
    """Make a trial, and let an event happen when a part of it has passed.

    Nothing happens in one that is over by then.
    """
    action = action_of(name)
    takes_ns = action.away_ns(parts)
    if takes_ns is not None:
        begins_ns = request.duration_ns // SHARE_BEFORE
        event = Event(name=name, began_ns=begins_ns, ended_ns=begins_ns + takes_ns)
        return send(replace(request, event=event)), Happened(event=event)
    acts_ns = before_ns + request.duration_ns // SHARE_BEFORE
    return acted(lambda: send(request), name, parts, acts_ns, before_ns + request.duration_ns)


def acted(
    send: Callable[[], Counts], name: str, parts: Parts, acts_ns: int, ends_ns: int
) -> tuple[Counts, Happened]:
    """Let an event happen while something is sent; not if that is over by then."""
    began_ns = time.monotonic_ns()
    sending = Aside(send)
    sending.over(acts_ns / 1e9)
    acted_ns = time.monotonic_ns()
    if acted_ns - began_ns > ends_ns or sending.over(0.0):
        return sending.returned(), NOTHING  # kept from running for too long: nobody would see it
    try:
        action_of(name).act(parts)
    except ComponentError as error:
        sending.over()  # nobody else may speak to the generator meanwhile
        who = "a VNF" if to_vnfs(name) else "the switch"
        raise DiedError(f"{who} did not come back after {name}", why=error.with_why) from error
    ended_ns = time.monotonic_ns()
    counts = sending.returned()
    return counts, Happened(
        event=Event(name=name, began_ns=acted_ns - began_ns, ended_ns=ended_ns - began_ns)
    )


def _with_changing_rules(
    send: Send, request: TrialRequest, per_second: int, switch: RunningSwitch
) -> tuple[TrialCounts, Happened]:
    """Make a trial, while rules are added and taken out in turn; what was added is out at its end.

    A switch that cannot keep up is not asked for more: what was really changed is counted.
    """
    began = time.monotonic()
    sending = Aside(lambda: send(request))
    done, standing = 0, 0
    try:
        while not sending.over(0.0):
            due = int((time.monotonic() - began) * per_second) - done
            if standing:
                switch.change_rules(-standing)
                done, standing = done + standing, 0
            elif due > 0:
                switch.change_rules(due)
                done, standing = done + due, due
            sending.over(1 / CHANGES_A_SECOND)
        if standing:
            switch.change_rules(-standing)
            done += standing
    except Exception as error:
        sending.over()  # nobody else may speak to the generator meanwhile
        if isinstance(error, ComponentError):
            raise DiedError("the switch does not change its rules", why=error.with_why) from error
        raise
    return sending.returned(), Happened(rules_changed=done)
