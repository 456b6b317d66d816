"""Whatever a method answers with can be a criterion, and in the unit that it has there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from bench_models import LOADS, FluidBench, method
from test_method_soak import added_up
from test_method_wake_up import SleepyBench

QUALIFIERS = {"overload_share", "trials_with_loss"}
"""Figures that say what is to be held against another one, and are missing where nothing is."""
GIVEN = 5_000_000
BRIEF = {"throughput_duration": "1s", "throughput_sum": "1s"}
EVENTS = {"restart-switch": 10**9, "kill-switch": 10**9, "reboot-machines": 10**9}
ASKED: Mapping[str, Mapping[str, Any]] = {
    "loss": {},
    "forwarding": {},
    "back2back": {},
    "recovery": {},
    "latency": {"repeats": 2},
    "reset": {"events": list(EVENTS), "repeats": 1},
    "soak": {"duration": "10s"},
    "broadcast": {"duration": "1s", "repeats": 2, **BRIEF},
    "wake_up": {"repeats": 2, **BRIEF},
}


@pytest.mark.parametrize("kind", ASKED)
def test_every_figure_of_a_method_can_be_judged(kind: str) -> None:
    referring = {} if kind in ("loss", "forwarding") else {"throughput": f"{GIVEN}fps"}
    asked = method(kind, **referring, **ASKED[kind])
    bench = (SleepyBench if kind == "wake_up" else FluidBench)(
        GIVEN,
        buffer_frames=4000,
        outages_ns=EVENTS,
        recovery_ns=1_000_000,
        latencies_ns=[10_000] * 600,
        seconds=added_up([0, 3, 4, 0, 0, 5, 0, 0, 0, 0]),
        loads=replace(LOADS, reference=GIVEN if referring else None, maximum=LOADS.maximum - 1),
    )

    figures = asked.run(bench).figures

    known = asked.metrics()
    assert len(figures) > 0
    assert {one.name: one.unit for one in figures if one.name not in QUALIFIERS}.items() <= (
        known.items()
    )
