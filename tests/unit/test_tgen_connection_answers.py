"""Connections as tgen is asked for them, and what real answers of it tell."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from simulated_cases import simulated_case

from vsperf.config.connections import End
from vsperf.drivers.generators.base import ConnectionEnd, ConnectionEnds, ConnectionsRequest
from vsperf.drivers.generators.tgen.connections import (
    ClientEnd,
    Connections,
    ServerEnd,
    asked_of,
    made_of,
    port_behind,
)
from vsperf.drivers.generators.tgen.driver import TgenSession
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.errors import ComponentError
from vsperf.methods.connections import ConnectionsAsked
from vsperf.records.connections import ConnectionCounts

SECOND_NS = 1_000_000_000
GOLDEN = Path(__file__).parents[1] / "golden" / "tgen"
BOTH = Connections(ClientEnd(), ServerEnd(), duration_ns=2_000_000_000, rate_cps=1000)


def answer(name: str) -> dict[str, Any]:
    """Return what a real tgen answered once."""
    found: dict[str, Any] = json.loads((GOLDEN / f"connections_{name}.json").read_text())
    return found


def test_what_nobody_chose_is_left_to_tgen() -> None:
    message = BOTH.message()
    assert message["client"] == {"port": 0}
    assert message["server"] == {"port": 1}
    assert message["rate_cps"] == 1000
    assert "connections" not in message
    assert "slot_ns" not in message
    alone = Connections(None, ServerEnd(ip="198.19.0.1"), duration_ns=7).message()
    assert "client" not in alone
    assert "rate_cps" not in alone


def test_the_last_connection_has_time_for_all_that_it_may_have_to_do() -> None:
    assert BOTH.drain_ns == 3 * (8 + 5) * 1_000_000_000
    held = replace(BOTH, hold_ns=60_000_000_000, requests=3, pause_ns=1_000_000_000)
    assert held.drain_ns == (5 * 13 + 60 + 2) * 1_000_000_000
    assert held.patience_s() > held.drain_ns / 1e9 + 6
    counted = replace(BOTH, duration_ns=None, connections=30_000)
    assert counted.patience_s() > 30


@pytest.mark.parametrize("hold_s", [0, 59, 61, 401, 3600])
def test_no_server_loses_its_patience_with_a_connection_that_is_held(hold_s: int) -> None:
    held = replace(BOTH, hold_ns=hold_s * 1_000_000_000)
    assert held.message()["idle_ns"] > held.hold_ns + held.patience_ns


def wanted_of(**asked: Any) -> ConnectionsRequest:
    ends = ConnectionEnds(
        ConnectionEnd(End("phy0", "02:00:00:00:00:01", IPv4Address("198.18.0.1"), 16), "mac"),
        ConnectionEnd(End("phy1", "02:00:00:00:00:02", IPv4Address("198.19.0.1"), 4), "mac"),
        "198.19.0.1",
        4,
    )
    return ConnectionsRequest(ConnectionsAsked(**asked), ends)


def request(**asked: Any) -> Connections:
    return asked_of(wanted_of(**asked), {"phy0": 0, "phy1": 1}, grace_ns=7)


def test_a_rate_is_asked_for_in_its_own_time_and_what_is_open_in_as_much_as_it_takes() -> None:
    rate = {"rate_cps": 1_000, "connections": 1_000}
    assert request(**rate).duration_ns == SECOND_NS + 7
    for of_open_ones in ({"hold_ns": 1}, {"request_rps": 9, "requests_due": 9}):
        wanted = request(**rate, **of_open_ones)
        assert wanted.duration_ns is not None and wanted.duration_ns > 10 * SECOND_NS


def test_requests_by_a_clock_are_told_in_number_rate_and_time() -> None:
    by_clock = request(rate_cps=1_000, connections=50, request_rps=400, requests_due=800)
    assert by_clock.message()["asking"] == {
        "rate_rps": 400, "requests": 800, "duration_ns": 2 * SECOND_NS + 7,
    }  # fmt: skip
    assert by_clock.patience_s() > 3 * 2
    assert "asking" not in request(rate_cps=1, connections=1).message()


def test_messages_of_udp_are_what_tgen_makes_of_them() -> None:
    message = request(rate_cps=1, connections=1, protocol="udp").message()
    assert message["protocol"] == "udp"
    assert "content" not in message


def ended(launched: int) -> ConnectionCounts:
    """Return what an answer tells of so many connections that were launched."""
    made = made_of(answer("sound"))
    assert made.client is not None
    client = made.client.model_copy(update={"launched": launched})
    return made.model_copy(update={"client": client})


def test_ports_go_on_behind_those_of_the_trial_before_and_round() -> None:
    first = request(rate_cps=1_000, connections=1_000)
    assert (
        first.message()["client"] | {"begin_port": 1024, "port_count": 63}
        == (first.message()["client"])
    )
    assert port_behind(first, ended(1_000)) == 1024 + 63
    assert port_behind(first, ended(17)) == 1024 + 2, "what was not launched has taken none"
    assert port_behind(first, ended(5_000)) == 1024 + 63, "they were taken again"
    assert port_behind(first, None) == 1024 + 63, "who does not tell may have taken all"
    later = replace(first, client=replace(first.client or ClientEnd(), begin_port=65_500))
    assert port_behind(later, ended(1_000)) == 1024 + 27


def test_where_ports_began_is_told_by_who_began_with_them() -> None:
    sound = answer("sound")
    assert made_of(sound).begin_port is None, "it did not tell then"
    sound["client"]["begin_port"] = 2_000
    assert made_of(sound).begin_port == 2_000


def test_each_trial_begins_behind_the_ports_of_the_one_before_even_where_that_failed() -> None:
    """What is between may still know them."""
    begun: list[int] = []

    def ask(verb: str, patience_s: float, **message: Any) -> dict[str, Any]:
        assert verb == "connections"
        assert patience_s > 0
        begun.append(message["client"]["begin_port"])
        if len(begun) == 2:
            raise ComponentError("tgen has died")
        said = answer("sound")
        said["client"]["begin_port"] = begun[-1]
        return said

    told = SimpleNamespace(hello={"verbs": ["connections"]}, ask=ask)
    spec, policy = TgenSpec(kind="tgen"), simulated_case().trial
    numbers = {"phy0": 0, "phy1": 1}
    session = TgenSession(cast("Tgen", told), spec, policy, (), numbers=numbers)
    wanted = wanted_of(rate_cps=1_000, connections=2_000)
    first = session.connect(wanted)
    with pytest.raises(ComponentError, match="tgen has died"):
        session.connect(wanted)
    last = session.connect(wanted)
    assert begun == [1024, 1024 + 125, 1024 + 250]
    assert (first.begin_port, last.begin_port) == (1024, 1024 + 250)


def test_a_flood_is_told_with_whether_it_is_answered() -> None:
    flooded = request(rate_cps=1, connections=1, flood_fps=70, flood_answered=True)
    assert flooded.message()["flood"] == {"rate_fps": 70, "answered": True}
    assert "flood" not in request(rate_cps=1, connections=1).message()


def test_an_answer_tells_what_became_of_each_connection() -> None:
    made = made_of(answer("sound"))
    assert made.settled
    assert made.client is not None
    assert made.client.completed == made.client.intended == 2000
    assert made.client.failed == {}
    assert made.client.responses == 4000
    assert made.server is not None
    assert made.server.closed == 2000
    assert made.client_segments is not None
    assert made.server_segments is not None
    assert made.client_segments.segments_sent == made.server_segments.segments_received == 10_000
    assert made.times is not None
    assert made.times.handshake is not None
    assert made.slots is not None
    assert sum(made.slots.launched) == sum(made.slots.completed) == 2000
    assert made.launching_ns is not None
    assert made.completing_ns is not None
    assert 0 < made.launching_ns <= made.completing_ns <= made.elapsed_ns
    assert made.busy_ppm > 0


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("refused", {"refused": 100}),
        ("silent", {"no_answer": 100}),
        ("cut_short", {"unfinished": 100}),
    ],
)
def test_failures_are_told_by_cause(name: str, failed: dict[str, int]) -> None:
    made = made_of(answer(name))
    assert made.client is not None
    assert made.client.failed == failed
    assert made.client.completed == 0
    assert made.settled == (name != "cut_short")


def test_a_server_alone_has_no_accounts_of_a_client() -> None:
    made = made_of(answer("server"))
    assert made.client is None
    assert made.times is None
    assert made.server is not None
    assert made.slots is None


def test_where_nothing_was_answered_there_are_no_times() -> None:
    times = made_of(answer("silent")).times
    assert times is not None
    assert made_of(answer("silent")).completing_ns is None
    assert times.handshake is times.first_response is times.response is None


@pytest.mark.parametrize(
    ("end", "key"),
    [
        ("client", "intended"),
        ("client", "launched"),
        ("client", "answered"),
        ("client", "completed"),
        ("client", "reset"),
        ("client", "no_answer"),
        ("server", "accepted"),
        ("server", "closed"),
        ("server", "left"),
    ],
)
def test_accounts_that_do_not_add_up_are_no_answer(end: str, key: str) -> None:
    wrong = deepcopy(answer("sound"))
    wrong[end][key] += 1
    with pytest.raises(ComponentError, match="adds up to"):
        made_of(wrong)


def test_an_answer_that_lacks_something_says_what() -> None:
    wrong = answer("sound")
    del wrong["client"]["misanswered"]
    with pytest.raises(ComponentError, match="misanswered"):
        made_of(wrong)
