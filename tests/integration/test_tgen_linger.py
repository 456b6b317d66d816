"""Frames on their way are waited for; once all are back, only a moment longer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from loopbacks import OPTIONS, witness_dut

from vsperf.trafficgens.tgen.byhand import Stream, at_hand, ways_between

pytestmark = pytest.mark.machine
MS = 1_000_000
FRAMES = 1000
LONG_S = 20
"""So long nobody sleeps by chance."""


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")
    require("tgen-dut")


def trial(folder: Path, *rules: str, **waits: int) -> tuple[dict[str, Any], float]:
    """Return a trial one way through the witness, which follows the rules, and its length [s]."""
    (way, _) = ways_between(2, "both")
    with (
        witness_dut(folder, rules, period=FRAMES) as switch,
        at_hand(switch.devices, OPTIONS) as tgen,
    ):
        tgen.ports()
        tgen.ask("configure", streams=[Stream(64).on(way)])
        began = time.monotonic()
        sending = {"frames": FRAMES, "rate_fps": 20_000, "in_flight": 128}
        found = tgen.ask("trial", 4 * LONG_S, drain_ns=2 * LONG_S * 1000 * MS, **sending, **waits)
        return found, time.monotonic() - began


def test_when_all_frames_are_back_nobody_waits_for_others(tmp_path: Path) -> None:
    found, took_s = trial(tmp_path, quiet_ns=LONG_S * 1000 * MS, linger_ns=50 * MS)
    assert found["settled"]
    assert found["streams"][0]["distinct"] == FRAMES
    assert took_s < LONG_S


def test_without_a_word_about_it_the_wait_is_the_same(tmp_path: Path) -> None:
    found, took_s = trial(tmp_path, quiet_ns=1500 * MS)
    assert found["streams"][0]["distinct"] == FRAMES
    assert took_s > 1.5


@pytest.mark.parametrize("rules", [["drop=7"], ["drop=7", "duplicate=9"]], ids=len)
def test_a_frame_that_is_missing_is_waited_for_and_a_copy_is_none(
    tmp_path: Path, rules: list[str]
) -> None:
    found, took_s = trial(tmp_path, *rules, quiet_ns=1500 * MS, linger_ns=1 * MS)
    (stream,) = found["streams"]
    assert (stream["distinct"], stream["duplicates"]) == (FRAMES - 1, len(rules) - 1)
    assert found["settled"]
    assert took_s > 1.5
