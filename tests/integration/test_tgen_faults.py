"""Ports that fail at what tgen asks: it says so, or goes on without, and makes up nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from loopbacks import OPTIONS
from preloads import preload

from vsperf.errors import ComponentError
from vsperf.trafficgens.tgen.byhand import Sending, Stream, at_hand, trial, ways_between

pytestmark = pytest.mark.machine

RING = ("net_ring0",)
WAYS = ways_between(1, "both")


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")
    require("tgen-dut")


def test_a_port_that_takes_only_frames_for_itself_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="promiscuous")
    with pytest.raises(ComponentError) as failed, at_hand(RING, OPTIONS):
        pytest.fail("a tgen was given")
    assert "port 0 does not take frames for others" in str(failed.value.problems[0].why)


@pytest.mark.parametrize("fault", ["stats", "mtu"])
def test_a_port_that_cannot_count_or_keeps_its_mtu_is_used_as_it_is(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT=fault)
    with at_hand(RING, OPTIONS) as tgen:
        (port,) = tgen.ports()
        for _ in range(2):
            sending = Sending("10000", frames=1000)
            result = trial(tgen, WAYS, Stream(), sending, lambda event: None)
            assert result["streams"][0]["distinct"] == 1000
            (counted,) = result["ports"]
            assert counted["missed"] == counted["device_errors"] == counted["no_buffers"] == 0
    assert port["mtu"] == 1500


def sent_past(full_ms: str, tmp_path: Path, patch: pytest.MonkeyPatch, **sending: Any) -> Any:
    """Return the stream of a trial on a port that takes nothing for so long."""
    preload("faults", tmp_path, patch, TGEN_FAULT="full", TGEN_FULL=full_ms)
    with at_hand(RING, OPTIONS) as tgen:
        return trial(tgen, WAYS, Stream(), Sending(**sending), lambda event: None)["streams"][0]


def test_what_a_full_port_held_up_is_sent_once_it_takes_frames_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sent_past("20-40", tmp_path, monkeypatch, rate_fps="20000", frames=4000)
    assert (found["sent"], found["unsent"], found["refused"]) == (4000, 0, 0)


def test_what_was_due_while_the_port_was_full_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The port is full from the middle on. What a stall before it held up is not its doing: a fifth
    is left for that, 200 ms.
    """
    half = {"rate_fps": "2000", "frames": 4000, "duration_ns": 2_000_000_000}
    found = sent_past("1000-100000", tmp_path, monkeypatch, **half)
    assert 0 < found["sent"] < 3000
    assert found["unsent"] == 4000 - found["sent"]
    assert found["unsent"] * 4 // 5 <= found["refused"] <= found["unsent"]


def test_a_port_that_was_full_for_a_moment_is_not_to_blame_for_a_slow_generator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand times more is asked for than can be sent; the port is full for a last moment."""
    much = {"rate_fps": "10000000000", "frames": 10**9, "duration_ns": 100_000_000}
    found = sent_past("95-100", tmp_path, monkeypatch, **much)
    assert found["unsent"] > 9 * 10**8
    assert 0 < found["refused"] <= found["unsent"] // 5
