"""The driver of TestCenter against a Lab Server of our own, through the vendor's own client.

No test runs against a TestCenter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from chassis_cases import (
    SHORT,
    WAYS,
    chassis_case,
    expected,
    fixture_runtime,
    hurry,
    ports_at,
    release,
    see_through,
    told,
)
from places import PLACEMENT, refused, started_generator
from spirent_server import FAULTS, SpirentServer, spirent_server
from vsperf_chassis.spirent.chassis import TO_INSTALL
from vsperf_chassis.spirent.driver import SpirentGenerator, SpirentSpec

from vsperf.config.case import CaseSpec
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.records.flags import Flag

PLACES = ("//192.0.2.8/1/1", "//192.0.2.8/1/2")
ENDPOINTS = ports_at(*PLACES)

__all__ = ["fixture_runtime"]


@pytest.fixture(name="server")
def fixture_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpirentServer]:
    hurry(monkeypatch)
    with spirent_server() as server:
        yield server


def case_of(address: str, traffic: dict[str, Any] | None = None) -> CaseSpec:
    """Return a case whose generator is at an address."""
    generator = SpirentSpec.model_validate({"kind": "spirent", "chassis": address})
    return chassis_case(generator, traffic)


def started(case: CaseSpec) -> AbstractContextManager[Any]:
    return started_generator(SpirentGenerator(), case, ENDPOINTS, WAYS)


def test_a_trial_sends_exactly_what_it_was_asked_to_and_all_is_released(
    server: SpirentServer,
) -> None:
    with started(case_of(server.address)) as session:
        assert set(server.owners) == set(PLACES)
        for _ in range(2):  # each is counted from zero
            counts = session.run(SHORT)
            for way in counts.directions:
                assert way.intended_frames == way.sent_frames == way.received_frames == 100
                assert (way.duplicate_frames, way.reordered_frames) == (0, 0)
                assert way.corrupted_frames is None  # nobody counted that
        assert session.facts()["testcenter"] == "5.16.made.up"
    assert (server.owners, server.sessions) == ({}, {})


def test_what_is_not_looked_at_is_missing_and_never_0(server: SpirentServer) -> None:
    server.fault = "unordered"
    case = case_of(server.address)
    with started(case) as session:
        for way in session.run(SHORT).directions:
            assert (way.received_frames, way.duplicate_frames, way.reordered_frames) == (
                *(100, None, None),
            )


def test_what_is_lost_is_lost(server: SpirentServer) -> None:
    server.fault = "lossy"
    case = case_of(server.address)
    with started(case) as session:
        assert [way.lost_frames for way in session.run(SHORT).directions] == [10, 10]


LIES: dict[str, Flag | str] = {
    "over-count": Flag.RX_EXCEEDS_TX,
    "one-percent-more": Flag.OVERSENT,
    "never-rests": Flag.COUNTERS_MOVING,
    "hang-up": "GeneratorStart",
    "reset": "counters of",
    "never-clears": "does not clear",
    "slow": "still sends",
    "no-results": "has no results",
    "words-for-numbers": "another version",
    "loses-a-port": "lost a port",
}


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "lossy"])
def test_a_liar_gives_a_flag_or_an_error_and_never_a_number(
    server: SpirentServer, fault: str
) -> None:
    case = case_of(server.address)
    with started(case) as session:
        session.run(SHORT)
        server.fault = fault
        see_through(LIES[fault], session, case)
        server.fault = ""
    assert server.sessions == {}


def test_a_port_of_somebody_else_is_left_to_them_by_name(server: SpirentServer) -> None:
    server.owners[PLACES[1]] = "mallory"
    error = refused(ComponentError, started(case_of(server.address)))
    assert "reserved by mallory" in error.with_why
    assert server.owners == {PLACES[1]: "mallory"}


def test_streams_are_built_of_the_vendors_objects(server: SpirentServer) -> None:
    traffic = {"flows": 70_000, "vlans": [7], "frame_size": "128B"}
    case = case_of(server.address, traffic)
    with started(case) as session:
        session.run(SHORT)
        (objects,) = server.sessions.values()
        blocks = [one for handle, one in objects.items() if handle.startswith("streamblock")]
        assert [block["fixedFrameLength"] for block in blocks] == ["128", "128"]
        ips = [one for handle, one in objects.items() if handle.startswith("ipv4:ipv4")]
        assert (ips[0]["sourceAddr"], ips[0]["destAddr"]) == ("198.18.0.1", "198.19.0.1")
        assert [one["id"] for handle, one in objects.items() if "id" in one] == ["7", "7"]
        counted = [one for handle, one in objects.items() if handle.startswith("rangemodifier")]
        first, second = counted[:2]
        assert (first["offsetReference"], first["recycleCount"]) == ("ip.sourceAddr", "35000")
        assert (second["offsetReference"], second["recycleCount"]) == ("ip.destAddr", "2")
        assert (first["repeatCount"], second["repeatCount"]) == ("0", "34999")


def test_it_is_told_what_stands_in_the_golden_conversation(server: SpirentServer) -> None:
    case = case_of(server.address, {"flows": 70_000, "vlans": [7], "frame_size": "128B"})
    with started(case) as session:
        session.run(SHORT)
    assert told(server.heard) == expected("spirent")


def test_a_session_of_a_killed_run_is_ended_by_a_program_and_no_other(
    server: SpirentServer,
) -> None:
    places = dict(enumerate(PLACES))
    port = {f"port{number}": {"location": place} for number, place in places.items()}
    server.sessions = {"vspdead0 - vsperf": port, "their own - mallory": {}}
    server.owners = {PLACES[0]: "vspdead0 - vsperf", PLACES[1]: "their own - mallory"}
    for _ in range(2):  # an undo may be carried out twice
        release("spirent", server.address, "vspdead0", *PLACES)
        assert server.owners == {PLACES[1]: "their own - mallory"}
        assert list(server.sessions) == ["their own - mallory"]


def test_who_is_not_there_is_an_error_and_nothing_stays_to_be_released(runtime: Path) -> None:
    refused(ComponentError, started(case_of("127.0.0.1:1")), "does not do sessions")
    assert not runtime.exists()


def test_a_missing_library_is_said_with_what_installs_it(
    server: SpirentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stcrestclient", None)
    error = refused(
        NotReadyError, started(case_of(server.address)), "stcrestclient is not installed"
    )
    assert error.problems[0].fix == TO_INSTALL


def test_a_place_of_another_vendor_is_refused_in_the_plan() -> None:
    wrong = (ENDPOINTS[0], ENDPOINTS[1].model_copy(update={"address": "0/1"}))
    with pytest.raises(UsageError, match="which TestCenter has not"):
        SpirentGenerator().plan(case_of("192.0.2.9"), wrong, PLACEMENT)
