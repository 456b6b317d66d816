"""A tgen on a ring to itself that the tests of a module share, each of which gets it clean.

Only tests that leave it as they found it share it: whoever freezes or ends it has one of his own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import Require
from kept import Kept, State, keeping
from loopbacks import OPTIONS

from vsperf.drivers.generators.tgen.byhand import Stream, at_hand, directions_between
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.errors import ComponentError

PROBE = 7
"""Frames of the trial that shows whether anything is left of those before."""


@pytest.fixture(name="kept_tgen", scope="module")
def fixture_kept_tgen(require: Require) -> Iterator[Kept[Tgen]]:
    """One tgen with a ring for a module: it takes half a second to start."""
    require("tgen")
    with keeping(lambda _: at_hand(["net_ring0"], OPTIONS), state_of) as kept:
        # Started here, it is none of what a test is asked about that leaves something behind.
        kept.lent("its start")
        yield kept


@pytest.fixture(name="ring")
def fixture_ring(kept_tgen: Kept[Tgen], request: pytest.FixtureRequest) -> Tgen:
    """The tgen with its ring, in which nothing of another test is left."""
    return kept_tgen.lent(request.node.name)


def state_of(tgen: Tgen) -> State:
    """Return what every test leaves as it was."""
    return {"what a trial shows": trace_in(tgen) or "that trial alone"}


def trace_in(tgen: Tgen) -> str | None:
    """Return what a trial shows of those before it, in words."""
    try:
        if (state := tgen.ask("hello")["state"]) != "idle":
            return f"it is in a {state}"
        tgen.listen(lambda event: None)
        (way,) = directions_between(1, "both")
        tgen.ask("configure", streams=[Stream(64).on(way)])
        found = tgen.ask("trial", 30, frames=PROBE, linger_ns=1)
    except ComponentError as error:
        return f"it does not answer: {error}"
    (stream,), (port,) = found["streams"], found["ports"]
    counted = {name: stream[name] for name in ("sent", "received", "distinct")}
    others = {name: port[name] for name in ("foreign", "stale", "corrupted")}
    if set(counted.values()) == {PROBE} and set(others.values()) == {0}:
        return None
    return f"a trial of {PROBE} frames counts {counted | others}"
