"""A real TRex: what it says, how exactly it counts, and what it leaves behind."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from cable import fixture_cables
from conftest import Require
from places import started_generator
from simulated_cases import WAYS
from trex_cases import ends, trex_case
from trex_conversation import GOLDEN, TRAFFIC, listening, recorded, talk

from vsperf.trafficgens.base import TrialRequest
from vsperf.trafficgens.trex.driver import TrexGenerator

pytestmark = pytest.mark.machine
__all__ = ["fixture_cables"]
ANEW = "VSPERF_RECORD_TREX"
"""Set, the recorded conversation is replaced by the one with the server of this test."""


@pytest.fixture(autouse=True)
def _needs_trex(require: Require, cables: None) -> Iterator[None]:
    require("trex")
    yield


def test_the_recorded_conversation_is_what_a_real_server_says() -> None:
    case = trex_case(traffic=TRAFFIC)
    with (
        listening() as conversation,
        started_generator(TrexGenerator(), case, ends("vscable0"), WAYS["both"]) as session,
    ):
        talk(session)
    if os.environ.get(ANEW):
        conversation.write(GOLDEN)
    kept = recorded()
    assert conversation.questions == kept.questions
    known, found = kept.forms(), conversation.forms()
    assert set(found) == set(known)
    for method in ("get_version", "api_sync_v2", "get_port_stats", "ping"):
        assert found[method] == known[method]


@pytest.mark.parametrize(
    "traffic",
    [
        {"imix": "7a4d1g", "frame_size": None},
        {"flows": 100_000, "vary": "ip"},
        {"flows": 1000, "vary": "port", "vlans": [5, 6], "frame_size": "72B"},
        {"flows": 1000, "vary": "mac", "destination": "broadcast"},
    ],
    ids=["mix", "ip", "port", "mac"],
)
def test_frames_of_all_kinds_are_as_many_as_were_asked_for(traffic: dict[str, object]) -> None:
    case = trex_case(traffic=traffic)
    request = TrialRequest(load_fps=3_000, duration_ns=500_000_000)
    with started_generator(TrexGenerator(), case, ends("vscable0"), WAYS["both"]) as session:
        for way in session.run(request).directions:
            assert way.sent_frames == way.received_frames == way.intended_frames == 1_500
            assert way.foreign_frames == 0


def test_learning_frames_are_taken_and_not_counted() -> None:
    case = trex_case()
    taught = case.trial.model_copy(update={"learning": True})
    with started_generator(
        TrexGenerator(), case.model_copy(update={"trial": taught}), ends("vscable0"), WAYS["both"]
    ) as session:
        for way in session.run(TrialRequest(1_000, 200_000_000)).directions:
            assert way.sent_frames == way.received_frames == 200
            assert way.foreign_frames == 0


def test_what_its_own_ports_had_no_room_for_it_counts() -> None:
    """On a cable nobody else can lose a frame; so the account closes, whatever was lost."""
    with started_generator(TrexGenerator(), trex_case(), ends("vscable0"), WAYS["both"]) as session:
        counts = session.run(TrialRequest(load_fps=300_000, duration_ns=300_000_000))
    missing = sum(way.sent_frames - way.received_frames for way in counts.directions)
    assert counts.generator is not None
    assert counts.generator.missed_frames == missing
