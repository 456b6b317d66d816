"""Ports that fail at what tgen asks: it says so, or goes on without, and makes up nothing."""

from __future__ import annotations

from pathlib import Path

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
