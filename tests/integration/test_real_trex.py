"""A real TRex: what it says, how exactly it counts, and what it leaves behind.

Of frames in its stateless mode, and of connections in its stateful one.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from cable import fixture_cables
from conftest import Require
from places import started_generator
from real_runs import Place, fixture_calibrations, fixture_place
from simulated_cases import WAYS
from trex_cases import ends, packet_socket, stateful_case, trex_case, trex_install
from trex_conversation import GOLDEN, TRAFFIC, listening, recorded, talk
from trex_server import COUNTERS

from vsperf.config.case import CaseSpec
from vsperf.config.connections import clients_of, servers_of
from vsperf.drivers.generators.base import (
    ConnectionEnd,
    ConnectionEnds,
    ConnectionsRequest,
    TrialRequest,
)
from vsperf.drivers.generators.streams import UDP_NUMBER
from vsperf.drivers.generators.trex.driver import TrexGenerator
from vsperf.drivers.generators.trex.stateful import StatefulSession
from vsperf.errors import ExitCode
from vsperf.methods.connections import ConnectionsAsked
from vsperf.records.connections import ConnectionCounts
from vsperf.records.run import Endpoint

pytestmark = pytest.mark.machine
__all__ = ["fixture_cables", "fixture_calibrations", "fixture_place"]
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
        {"flows": 1000, "layer3": "ipv6", "vlans": [5], "frame_size": "88B"},
    ],
    ids=["mix", "ip", "port", "mac", "ipv6"],
)
def test_frames_of_all_kinds_are_as_many_as_were_asked_for(traffic: dict[str, object]) -> None:
    case = trex_case(traffic=traffic)
    request = TrialRequest(load_fps=3_000, duration_ns=500_000_000)
    with started_generator(TrexGenerator(), case, ends("vscable0"), WAYS["both"]) as session:
        for way in session.run(request).directions:
            assert way.sent_frames == way.received_frames == way.intended_frames == 1_500
            assert way.foreign_frames == 0


def test_each_flow_of_ipv6_has_a_checksum_that_is_right() -> None:
    """Also of those that the server counts up, with nobody there to compute it for them."""
    traffic = {"flows": 300, "vary": "ip", "layer3": "ipv6", "frame_size": "84B"}
    everything = 0x0003
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as wire,
        started_generator(
            TrexGenerator(), trex_case(traffic=traffic), ends("vscable0"), WAYS["forward"]
        ) as session,
    ):
        wire.bind(("vscable0g", everything))
        wire.setblocking(False)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        session.run(TrialRequest(load_fps=1_000, duration_ns=300_000_000))
        frames = list(iter(lambda: _waiting(wire), b""))
    ours = [frame for frame in frames if frame[12:14] == b"\x86\xdd" and frame[20] == UDP_NUMBER]
    assert len({frame[22:54] for frame in ours}) == 300
    assert {_sum_of_udp(frame) for frame in ours} == {0xFFFF}


def _waiting(wire: socket.socket) -> bytes:
    with suppress(BlockingIOError):
        return wire.recv(2048)
    return b""


def _sum_of_udp(frame: bytes) -> int:
    """Add up the words of addresses, length, protocol and datagram; all ones if it is right."""
    length = int.from_bytes(frame[18:20])
    whole = frame[22:54] + length.to_bytes(4) + UDP_NUMBER.to_bytes(4) + frame[54 : 54 + length]
    total: int = sum(struct.unpack(f"!{len(whole) // 2}H", whole))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


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


# Connections.


CALMLY = ConnectionsAsked(rate_cps=500, connections=1_000, response_bytes=1024)
BRIEF = (
    "--vswitch=ovs",
    "--set=search.duration=2s",
    "--set=search.resolution=50%",
    "--set=search.max_rate=1000",
    "--set=trial.stretch_tolerance=100%",
)


def made_by(session: StatefulSession, case: CaseSpec, asked: ConnectionsAsked) -> ConnectionCounts:
    """Open connections between both ends of a cable."""
    clients, servers = clients_of(case), servers_of(case)
    joined = ConnectionEnds(
        ConnectionEnd(clients, servers.mac),
        ConnectionEnd(servers, clients.mac),
        str(servers.first_ip),
        servers.addresses,
    )
    return session.connect(ConnectionsRequest(asked, joined)).balanced()


@pytest.mark.parametrize(
    "more",
    [{}, {"requests": 3}, {"request_bytes": 1460, "response_bytes": 20_000}],
    ids=["one", "several", "long"],
)
def test_each_connection_on_a_cable_comes_to_its_end_at_both_ends(more: dict[str, Any]) -> None:
    """… in the second trial as in the first, so its counters begin at zero."""
    case = stateful_case(clients=4, servers=3, real=True)
    asked = replace(CALMLY, **more)
    with started_generator(TrexGenerator(), case, ends("vscable0"), WAYS["forward"]) as session:
        for _ in range(2):
            made = made_by(session, case, asked)
            assert made.client is not None and made.server is not None
            assert made.client.completed == made.client.intended == 1_000
            assert made.server.closed == made.server.accepted == 1_000
            answers = asked.requests * asked.connections
            assert made.client.requests == made.client.responses == answers
            assert made.server.requests == answers
            assert made.client.response_bytes == answers * asked.response_bytes
            assert made.settled


def test_connections_that_are_held_are_open_at_the_same_time() -> None:
    case = stateful_case(real=True)
    held = replace(CALMLY, connections=500, hold_ns=4_000_000_000)
    with started_generator(TrexGenerator(), case, ends("vscable0"), WAYS["forward"]) as session:
        made = made_by(session, case, held)
    assert made.client is not None
    assert made.client.completed == made.client.most_established == 500


def test_where_nobody_answers_each_connection_is_given_up_as_such() -> None:
    """Ports on two cables, at whose other ends nobody is."""
    case = stateful_case(real=True)
    apart = tuple(
        Endpoint(link=f"phy{number}", kind="vdev", address=packet_socket(number, device))
        for number, device in enumerate(("vscable0s", "vscable1s"))
    )
    asked = replace(CALMLY, connections=500)
    with started_generator(TrexGenerator(), case, apart, WAYS["forward"]) as session:
        made = made_by(session, case, asked)
    assert made.client is not None and made.server is not None
    assert made.client.answered == made.client.completed == made.server.accepted == 0
    assert made.client.failed == {"no_answer": 500}
    assert made.client.repeated_syns > 0


def test_what_it_is_too_slow_for_it_does_not_begin_later() -> None:
    """Each is a dozen frames for its one CPU: so many in so little time nobody makes with that."""
    case = stateful_case(clients=16, real=True)
    asked = replace(CALMLY, rate_cps=9_000_000, connections=90_000)
    with started_generator(TrexGenerator(), case, ends("vscable0"), WAYS["forward"]) as session:
        client = made_by(session, case, asked).client
    assert client is not None
    assert 0 < client.launched < client.intended


def test_it_counts_by_the_names_that_units_have_it_count_by() -> None:
    case = stateful_case(real=True)
    with started_generator(TrexGenerator(), case, ends("vscable0"), WAYS["forward"]) as session:
        made_by(session, case, replace(CALMLY, connections=10))
        assert set(COUNTERS) <= {*session.server.numbers, "-"}


@pytest.mark.needs("ovs", "tgen")
def test_it_is_held_against_tgen_in_one_run(place: Place) -> None:
    both = f"--set=generator=[tgen, {{kind: trex, install: {trex_install()}}}]"
    ended = place.until_decided("run", "nat_cps", both, *BRIEF)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    cases = {case.planned.driver("generator"): case for case in place.records().cases()}
    assert set(cases) == {"tgen", "trex"}
    for case in cases.values():
        made = [one.client for one in case.connections if one.client is not None]
        assert sum(client.completed for client in made) > 0
        assert all(client.launched == client.intended - client.unsent for client in made)


@pytest.mark.needs("ovs")
def test_nothing_is_left_of_a_killed_run_that_opened_connections(place: Place) -> None:
    alone = f"--set=generator={{kind: trex, install: {trex_install()}}}"
    run = place.start("run", "nat_cps", alone, *BRIEF, "--set=search.duration=20s")
    run.wait_for("ConnectionsStarted")
    run.send(signal.SIGKILL)
    run.process.wait()
    assert place("clean").code == ExitCode.OK
    assert place.traces() == []
