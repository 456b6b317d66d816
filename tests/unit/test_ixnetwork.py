"""The driver of IxNetwork against an API server of our own.

No test runs against an IxNetwork. The names of what is sent are held against those in the vendor's
library, which are kept in `tests/golden/chassis/ixnetwork-names.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from chassis_cases import (
    FOLDER,
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
from ixnetwork_server import FAULTS, KEY, IxnetworkServer, ixnetwork_server
from places import PLACEMENT, refused, started_generator
from vsperf_chassis.ixnetwork import chassis
from vsperf_chassis.ixnetwork.driver import IxnetworkGenerator, IxnetworkSpec

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.records.flags import Flag

PLACES = ("192.0.2.8/1/1", "192.0.2.8/1/2")
ENDPOINTS = ports_at(*PLACES)

__all__ = ["fixture_runtime"]


@pytest.fixture(name="key")
def fixture_key(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    return file


@pytest.fixture(name="server")
def fixture_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[IxnetworkServer]:
    hurry(monkeypatch)
    for name in ("LINK_S", "VIEW_S"):
        monkeypatch.setattr(chassis, name, 0.1)
    with ixnetwork_server() as server:
        yield server


def case_of(
    address: str, key: Path | None = None, traffic: dict[str, Any] | None = None
) -> CaseSpec:
    """Return a case whose generator is at an address."""
    settings = {"kind": "ixnetwork", "chassis": address, "tls": "none"}
    if key is not None:
        settings["password_file"] = str(key)
    return chassis_case(IxnetworkSpec.model_validate(settings), traffic)


def started(case: CaseSpec) -> AbstractContextManager[Any]:
    return started_generator(IxnetworkGenerator(), case, ENDPOINTS, WAYS)


def test_a_trial_sends_exactly_what_it_was_asked_to_and_all_is_released(
    server: IxnetworkServer, key: Path
) -> None:
    case = case_of(server.address, key)
    with started(case) as session:
        assert set(server.owners) == set(PLACES)
        for _ in range(2):  # each is counted from zero
            counts = session.run(SHORT)
            for way in counts.directions:
                assert way.intended_frames == way.sent_frames == way.received_frames == 100
                # nobody counted these
                assert (way.duplicate_frames, way.reordered_frames) == (None, None)
                assert way.corrupted_frames is None
        assert session.facts()["ixnetwork"] == "10.00.made.up"
    assert (server.owners, server.sessions) == ({}, {})


def test_what_is_lost_is_lost(server: IxnetworkServer, key: Path) -> None:
    server.fault = "lossy"
    case = case_of(server.address, key)
    with started(case) as session:
        assert [way.lost_frames for way in session.run(SHORT).directions] == [10, 10]


LIES: dict[str, Flag | str] = {
    "over-count": Flag.RX_EXCEEDS_TX,
    "one-percent-more": Flag.OVERSENT,
    "never-rests": Flag.COUNTERS_MOVING,
    "hang-up": "startstatelesstrafficblocking",
    "reset": "counters of",
    "never-clears": "does not clear",
    "slow": "still sends",
    "no-table": "shows no Traffic Item Statistics",
    "never-ready": "shows no Traffic Item Statistics",
    "words-for-numbers": "cannot be read",
    "empty-cells": "cannot be read",
    "loses-a-port": "owned by mallory",
    "fewer-applied": "of 100 frames",
    "over-subscribed": "cannot send",
    "operation-fails": "no licence for this",
    "another-version": "another version",
}


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "lossy"])
def test_a_liar_gives_a_flag_or_an_error_and_never_a_number(
    server: IxnetworkServer, key: Path, fault: str
) -> None:
    case = case_of(server.address, key)
    with started(case) as session:
        session.run(SHORT)
        server.fault = fault
        see_through(LIES[fault], session, case)
        server.fault = ""
    assert server.sessions == {}


def test_a_port_of_somebody_else_is_left_to_them_by_name(
    server: IxnetworkServer, key: Path
) -> None:
    server.owners[PLACES[1]] = "mallory"
    error = refused(NotReadyError, started(case_of(server.address, key)))
    assert "owned by mallory" in error.with_why
    assert (server.owners, server.sessions) == ({PLACES[1]: "mallory"}, {})


def test_a_port_without_a_link_is_said_before_anything_is_sent(
    server: IxnetworkServer, key: Path
) -> None:
    server.fault = "no-link"
    refused(NotReadyError, started(case_of(server.address, key)), "of IxNetwork has no link")
    assert (server.owners, server.sessions) == ({}, {})


def test_a_wrong_key_is_said_without_showing_it_and_nothing_stays_to_be_released(
    server: IxnetworkServer, key: Path, runtime: Path
) -> None:
    key.write_text("not this one\n")
    error = refused(ComponentError, started(case_of(server.address, key)))
    assert "401: not authorized" in error.with_why
    assert "not this one" not in error.with_why
    assert not runtime.exists()


def test_a_session_of_a_killed_run_is_ended_by_a_program_and_no_other(
    server: IxnetworkServer, key: Path
) -> None:
    dead, theirs = server.begin("vspdead0"), server.begin("their own")
    for number, (session, place) in enumerate(zip((dead, theirs), PLACES, strict=True)):
        server.sessions[session][1][f"vport/{number}"] = {"id": number, "name": place}
        server.owners[place] = session
    held = ("ixnetwork", f"http://{server.address}", "vspdead0", *PLACES)
    for _ in range(2):  # an undo may be carried out twice
        release(f"--password-file={key}", *held)
        assert (list(server.sessions), server.owners) == ([theirs], {PLACES[1]: theirs})


class TestPlan:
    """What is refused before anything is reserved."""

    def test_a_place_of_another_vendor_is_refused(self) -> None:
        wrong = (ENDPOINTS[0], ENDPOINTS[1].model_copy(update={"address": "0/1"}))
        with pytest.raises(UsageError, match="which IxNetwork has not"):
            IxnetworkGenerator().plan(case_of("192.0.2.9"), wrong, PLACEMENT)

    def test_flows_that_take_two_fields_are_refused(self) -> None:
        case = case_of("192.0.2.9", traffic={"flows": 70_000})
        with pytest.raises(UsageError, match="70k flows that differ by ip"):
            IxnetworkGenerator().plan(case, ENDPOINTS, PLACEMENT)

    def test_it_says_which_ports_of_which_server_it_will_reserve(self) -> None:
        steps = IxnetworkGenerator().plan(case_of("192.0.2.9"), ENDPOINTS, PLACEMENT)
        assert "192.0.2.8/1/1 (phy0), 192.0.2.8/1/2 (phy1)" in steps[0].action
        assert "http://192.0.2.9" in steps[0].action
        assert "is seen when it is 7 s late" in steps[1].action

    def test_copies_of_frames_pass_for_frames_and_that_is_declared(self) -> None:
        assert not IxnetworkGenerator().capabilities(case_of("192.0.2.9")).can(Ability.NUMBERED)


class TestNames:
    """Each name that is sent is in the vendor's library, and each choice one of theirs."""

    @pytest.fixture
    def heard(self, server: IxnetworkServer, key: Path) -> list[str]:
        traffic = {"flows": 1_000, "vlans": [7, 9], "frame_size": "128B"}
        case = case_of(server.address, key, traffic)
        with started(case) as session:
            session.run(SHORT)
            session.facts()
        return server.heard

    def test_they_are_those_of_the_golden_conversation(self, heard: list[str]) -> None:
        assert told(heard) == expected("ixnetwork")

    def test_they_are_the_vendors(self, heard: list[str]) -> None:
        names = json.loads((FOLDER / "ixnetwork-names.json").read_text())
        seen = 0
        for line in heard:
            method, path, *content = line.split(" ", 2)
            found = re.fullmatch(r"/api/v1/sessions/\d+/ixnetwork/([^?]*)(\?.*)?", path)
            if not found or method == "GET":
                continue
            where, _, operation = found[1].partition("operations/")
            parts = [one for one in where.split("/") if one and not one.isdigit()]
            kind = names[parts[-1] if parts else "ixnetwork"]
            if operation:
                assert operation in kind["operations"], line
            else:
                for name, value in json.loads(content[0]).items():
                    assert name in kind["attributes"], line
                    assert value in kind["choices"].get(name, [value]), line
            seen += 1
        assert seen > 30

    def test_what_is_read_is_the_vendors(self) -> None:
        names = json.loads((FOLDER / "ixnetwork-names.json").read_text())
        for kind, attribute, *words in (
            ("vport", "connectionState", chassis.LINK_UP, chassis.LINK_DOWN, chassis.TAKEN),
            ("vport", "connectionStatus"),
            ("traffic", "state", chassis.STOPPED),
            ("highLevelStream", "appliedPacketCount"),
            ("highLevelStream", "overSubscribed"),
            ("protocolTemplate", "stackTypeId"),
            ("field", "fieldTypeId"),
            ("view", "caption"),
            *(("data", name) for name in ("columnCaptions", "isReady", "pageValues")),
            ("globals", "buildNumber"),
            ("chassis", "state", chassis.READY),
        ):
            assert attribute in names[kind]["attributes"], attribute
            assert set(words) <= set(names[kind]["choices"].get(attribute, ())), attribute
