"""Frames on their way: never more than the ring that they come back by has room for."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Require
from freezing import frozen_soon
from loopbacks import OPTIONS, witness_dut
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.trafficgens.tgen.byhand import Stream, at_hand, ways_between
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine
__all__ = ["fixture_kept_tgen", "fixture_ring"]


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")
    require("tgen-dut")


def test_no_more_frames_are_on_their_way_than_may_be(ring: Tgen) -> None:
    ring.ask("configure", streams=[Stream(64).on(way) for way in ways_between(1, "both")])
    full_polls = []
    for bound in (0, 8):
        found = ring.ask("trial", 60, frames=100_000, in_flight=bound)
        assert found["streams"][0]["distinct"] == 100_000
        full_polls.append(found["ports"][0]["receive_full_polls"])
    assert full_polls[0] > 0
    assert full_polls[1] == 0, "a look never finds more than are on their way"


def test_frames_that_never_come_back_hold_others_for_a_tenth_of_a_second(tmp_path: Path) -> None:
    with at_hand([f"net_pcap0,tx_pcap={tmp_path / 'sent.pcap'}"], OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream(64).on(way) for way in ways_between(1, "both")])
        sending = {"frames": 1000, "rate_fps": 100_000, "in_flight": 400}
        found = tgen.ask("trial", 60, quiet_ns=1_000_000, drain_ns=1_000_000, **sending)
    (stream,), (port,) = found["streams"], found["ports"]
    assert (stream["sent"], stream["lost"]) == (1000, 1000)
    assert port["held_back"] > 0
    assert stream["sending_ns"] >= 200_000_000, "a tenth of a second after 400, and after 800"


def test_frames_without_a_mark_are_not_waited_for(tmp_path: Path, ring: Tgen) -> None:
    """When they arrive nobody knows which they are, so nobody knows what is on its way."""
    acknowledgement = Ether() / IP(src="10.1.2.3", dst="10.3.2.1") / TCP(flags="A")
    wrpcap(str(file := tmp_path / "acknowledgements.pcap"), [acknowledgement] * 3)
    ring.ask("configure", streams=[{"replay": str(file)}])
    found = ring.ask("trial", 60, frames=3000, rate_fps=100_000, in_flight=400)
    (stream,), (port,) = found["streams"], found["ports"]
    assert stream["sent"] == stream["unmarked_received"] == 3000
    assert port["held_back"] == 0


def test_who_finds_more_than_half_a_ring_was_behind_for_so_long(tmp_path: Path) -> None:
    """While tgen is frozen, more comes due at the witness than the ring of 1024 has room for."""
    frozen_s = 0.3
    sending = {"frames": 400_000, "rate_fps": 200_000, "in_flight": 0}
    patience = {"quiet_ns": 500_000_000, "drain_ns": 3_000_000_000}
    with (
        witness_dut(tmp_path, delay_ns=(20_000_000, 0)) as switch,
        at_hand(switch.devices, OPTIONS) as tgen,
    ):
        tgen.ports()
        tgen.ask("configure", streams=[Stream(64).on(way) for way in ways_between(2, "both")[:1]])
        with frozen_soon(tgen.process.pid, 1.0, frozen_s):  # of 2 s, so surely in their midst
            found = tgen.ask("trial", 60, **sending, **patience)
    (stream,), (nothing, arrived) = found["streams"], found["ports"]
    assert stream["distinct"] == stream["sent"] == 400_000, "the witness keeps what finds no room"
    assert arrived["receive_behind_ns"] > frozen_s * 1_000_000_000 / 2
    assert nothing["receive_behind_ns"] == 0, "where nothing comes"


def test_a_backlog_that_the_ring_has_room_for_is_none(tmp_path: Path) -> None:
    """While tgen is frozen, all that the witness has delayed gathers in its ring of 1024."""
    streams = [Stream(64).on(way) for way in ways_between(2, "both")[:1]]
    sending = {"frames": 800_000, "rate_fps": 800_000, "in_flight": 900}
    with (
        witness_dut(tmp_path, delay_ns=(1_000_000, 0)) as switch,
        at_hand(switch.devices, OPTIONS) as tgen,
    ):
        tgen.ports()
        tgen.ask("configure", streams=streams)
        with frozen_soon(tgen.process.pid, 0.4, 0.05):
            found = tgen.ask("trial", 60, **sending)
    arrived = found["ports"][1]
    assert arrived["receive_full_polls"] > 0
    assert arrived["receive_behind_ns"] == 0
