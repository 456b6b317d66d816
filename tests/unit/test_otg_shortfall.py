"""Which flows are named for a rate that was not reached, and how."""

from __future__ import annotations

from typing import Any

from otg_documents import config, flow

from vsperf.otg.config import Place, read_config
from vsperf.otg.flows import Flow
from vsperf.otg.shortfall import fell_short

PLACES = {"p1": Place(0, None), "p2": Place(1, None)}
SECOND = 1_000_000_000


def one(**changes: Any) -> Flow:
    """Return a flow of a million frames a second."""
    content = config(flow(rate={"pps": 1_000_000}, **changes))
    (found,) = read_config(content, PLACES).flows
    return found


def said(
    sender: Flow, sent: int, elapsed_ns: int, sending_ns: int = 0, paused_ns: int = 0
) -> tuple[str, ...]:
    streams = [{"sent": sent, "sending_ns": sending_ns}]
    workers = [{"paused_ns": paused_ns}]
    return fell_short((sender,), {"elapsed_ns": elapsed_ns, "streams": streams, "workers": workers})


ENDLESS = one(duration={"choice": "continuous", "continuous": {}})
TIMED = one(duration={"choice": "fixed_seconds", "fixed_seconds": {"seconds": 0.5}})
COUNTED = one(duration={"choice": "fixed_packets", "fixed_packets": {"packets": 1_000_000}})


def test_one_that_kept_its_rate_is_not_named() -> None:
    assert said(ENDLESS, 999_990, SECOND) == ()
    assert said(TIMED, 500_000, SECOND, SECOND // 2) == ()
    assert said(COUNTED, 1_000_000, 5 * SECOND, SECOND) == ()
    assert said(COUNTED, 400_000, SECOND * 4 // 10) == ()  # stopped early


def test_what_was_due_is_said_beside_what_has_left() -> None:
    (note,) = said(ENDLESS, 335_064, SECOND * 682 // 1000)
    assert note.startswith("flow 'f': 335064 of the 682000 frames that were due have left (49.1 %)")
    (note,) = said(TIMED, 400_000, 9 * SECOND)  # others went on
    assert "400000 of the 500000 frames" in note


def test_all_of_them_left_too_late() -> None:
    (note,) = said(COUNTED, 1_000_000, 2 * SECOND, 2 * SECOND)
    assert "its 1000000 frames left within 2.000 s, and not within 1.000 s" in note


def test_a_machine_that_was_away_is_named() -> None:
    (note,) = said(ENDLESS, 500_000, SECOND, paused_ns=SECOND // 2)
    assert note.endswith("; the machine kept tgen from running for 0.500 s")
