"""Connections by UDP: what is asked for, what is told of them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from connection_models import Device, held, packets, rate
from pydantic import ValidationError
from search_models import case_of

from vsperf.cli.connections_view import segments_table
from vsperf.config.abilities import Ability
from vsperf.methods.connection_search import ConnectionSearch
from vsperf.methods.connections import ConnectionsAsked
from vsperf.records.result import Figure


def figures(method: ConnectionSearch, device: Device) -> dict[str, Figure]:
    return {one.name: one for one in method.play(device).figures}


def test_a_flood_is_of_tcp() -> None:
    with pytest.raises(ValidationError, match="syn_flood is of TCP, and protocol is udp"):
        rate(protocol="udp", syn_flood="5k")


def test_flows_of_udp_are_asked_for_and_told_without_a_handshake() -> None:
    method, device = rate(protocol="udp"), Device(rate=10_000)
    found = figures(method, device)
    assert {one.protocol for one in device.made} == {"udp"}
    assert method.checking().protocol == "udp"
    assert {*found} == {"connection_rate", "first_response_p99", "repeated_datagrams"}
    assert {*found} == {*method.metrics()} - {"connection_rate_clean"}
    assert (
        "datagrams were sent again, as no response had come" in found["repeated_datagrams"].reason
    )
    assert rate().checking().protocol == "tcp"


def test_flows_are_held_like_connections() -> None:
    asked = held(protocol="udp").trial_at(5_000)
    assert (asked.protocol, asked.connections) == ("udp", 5_000)
    assert asked.hold_ns > 0


def test_messages_are_as_long_as_their_protocol_makes_them() -> None:
    case = case_of("mlr")

    def refused(**settings: Any) -> list[tuple[str, str | None]]:
        found = rate(**settings).contradictions(case.traffic.frame_size, case.slowest_link)
        return [(one.path, one.fix) for one in found]

    assert refused(request=47, response=77) == [
        ("request", "--set search.request=48"),
        ("response", "--set search.response=78"),
    ]
    assert refused(request=48, response=65_536) == []
    assert refused(protocol="udp", request=4, response=1460) == []
    assert refused(protocol="udp", response=1461) == [("response", "--set search.response=1460")]


def test_requests_go_over_flows_of_udp_where_that_is_asked_for() -> None:
    method = packets(protocol="udp")
    assert method.trial_at(30_000).protocol == "udp"
    found = figures(method, Device(requests=50_000))
    assert {"response_p99", "repeated_datagrams"} < {*found}
    assert "handshake_p99" not in found


def test_a_generator_is_asked_for_flows_or_for_connections() -> None:
    assert rate().asks_generator == {Ability.CONNECTIONS}
    assert rate(protocol="udp").asks_generator == {Ability.UDP_FLOWS}


def test_what_both_ends_counted_is_told_as_what_it_was() -> None:
    def title(**asked: Any) -> str:
        one = Device().connect(ConnectionsAsked(rate_cps=1_000, connections=1_000, **asked))
        return segments_table(one).title

    assert title() == "segments in trial #1"
    assert title(protocol="udp") == "datagrams in trial #1"
