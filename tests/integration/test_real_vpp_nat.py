"""The real VPP as a NAT and a load balancer: what passes, is counted, and finds no room."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal

import pytest
from connection_cases import opened_through
from hop_cases import CONNECTIONS, SECOND_NS, Between, between, briefly, completed, inwards
from real_runs import Place, fixture_calibrations, fixture_place
from switch_cases import started
from vpp_cases import vpp_install, vpp_words

from vsperf.config.connections import Protocol
from vsperf.drivers.vswitches.vpp.running import RunningVpp
from vsperf.errors import ExitCode
from vsperf.records.switch import SwitchCounters

pytestmark = [pytest.mark.machine, pytest.mark.thorough, pytest.mark.needs("vpp", "tgen")]
__all__ = ["fixture_calibrations", "fixture_place"]

Nat = Literal["source", "destination"]
BEGINS: dict[Nat, tuple[str, str]] = {
    "source": ("in2out", "out2in"),
    "destination": ("out2in", "in2out"),
}
"""The way of what clients send through its table, and that of the answers."""
PATIENCE_S = 20.0
ROOM = 10
SMALL = 300
"""Connections that the table of a run has room for."""
HELD = (
    "--set=search.rate=500",
    "--set=search.min_connections=100",
    "--set=search.max_connections=1000",
    "--set=search.resolution=50%",
    "--set=search.attempts=1",
    "--set=trial.stretch_tolerance=100%",
)


def nat_between(nat: Nat, **settings: Any) -> AbstractContextManager[Between[RunningVpp]]:
    own = {"install": vpp_install(), "hugepages": False, "nat": nat}
    return between("vpp", RunningVpp, **own, **settings)


def passed(growth: SwitchCounters, way: str, protocol: Protocol) -> int:
    """Return the frames that were looked up in the table, by its own count."""
    paths = (f"nat44-ed/{way}/{path}/{protocol}" for path in ("slowpath", "fastpath"))
    return sum(growth.reasons.get(path, 0) for path in paths)


def too_many(growth: SwitchCounters) -> int:
    """Return the frames for which the table had no room."""
    words = {"sessions", "exceeded"}
    return sum(count for name, count in growth.reasons.items() if all(w in name for w in words))


def users(device: RunningVpp) -> dict[str, int]:
    """Return how many connections there are by the address inside, as VPP lists them."""
    found = device.api.dump("nat44_user_dump")
    return {str(one.ip_address): one.nsessions + one.nstaticsessions for one in found}


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("nat", ["source", "destination"])
def test_connections_pass_are_counted_and_are_forgotten(nat: Nat, protocol: Protocol) -> None:
    forth, back = BEGINS[nat]
    with nat_between(nat, protocol=protocol) as parts:
        before = parts.device.counters()
        made = parts.made(replace(parts.calls(), protocol=protocol))
        growth = parts.device.counters().since(before)
        assert parts.device.failure() is None
        kept, inside = parts.device.kept(), users(parts.device)
        parts.device.forget_connections()
        forgotten = parts.device.kept()
    assert completed(made) == CONNECTIONS
    assert made.client is not None and made.client.failed == {}
    assert growth.reasons[f"nat44-ed/{forth}/slowpath/{protocol}"] == CONNECTIONS
    assert kept.entries == sum(inside.values()) == CONNECTIONS
    assert kept.memory_bytes
    assert set(inside) == set((parts.clients if nat == "source" else parts.servers).ips)
    assert forgotten.entries == 0
    assert growth.dropped_frames == 0
    assert made.client_segments is not None and made.server_segments is not None
    taken = {port.link: port.received_frames for port in growth.ports}
    sent = made.client_segments.segments_sent, made.server_segments.segments_sent
    for link, way, segments in zip(("phy0", "phy1"), (forth, back), sent, strict=True):
        assert segments <= passed(growth, way, protocol) <= taken[link]


@pytest.mark.parametrize("nat", ["source", "destination"])
def test_connections_beyond_the_table_have_no_answer_until_it_is_emptied(nat: Nat) -> None:
    with nat_between(nat, sessions=ROOM) as parts:
        few = replace(briefly(parts.calls()), repeat_ns=2 * SECOND_NS, hold_ns=5 * SECOND_NS)
        before = parts.device.counters()
        made = parts.made(few)
        growth = parts.device.counters().since(before)
        full = parts.device.kept().entries
        parts.device.forget_connections()
        again = parts.made(few)
    assert completed(made) == completed(again) == full == ROOM
    assert made.client is not None
    assert made.client.failed == {"no_answer": 20 - ROOM}
    assert too_many(growth) == growth.dropped_frames == 20 - ROOM


@pytest.mark.parametrize("nat", ["source", "destination"])
def test_who_is_behind_the_last_link_cannot_begin_a_connection(nat: Nat) -> None:
    with nat_between(nat) as parts:
        before = parts.device.counters()
        made = parts.made(inwards(briefly(parts.calls())))
        growth = parts.device.counters().since(before)
    assert made.client is not None and made.server is not None
    assert made.client.failed == {"no_answer": 20}
    assert made.server.accepted == 0
    assert growth.dropped_frames == 20


def test_a_single_server_is_called_by_the_address_of_the_device() -> None:
    case = opened_through("vpp", install=vpp_install(), hugepages=False, nat="destination")
    with started(case) as (running, _):
        (mapping,) = running.api.dump("nat44_static_mapping_dump")
    assert str(mapping.external_ip_address) == "198.18.255.1"
    assert (mapping.protocol, mapping.external_port, mapping.local_port) == (6, 80, 80)


@pytest.mark.parametrize("nat", ["source", "destination"])
def test_a_vpp_that_was_killed_is_a_nat_again_and_knows_no_connection(nat: Nat) -> None:
    with nat_between(nat) as parts:
        assert completed(parts.made(parts.calls())) == CONNECTIONS
        parts.device.restart(kill=True)
        parts.device.await_ports(("phy0", "phy1"), PATIENCE_S)
        assert parts.device.kept().entries == 0
        assert completed(parts.made(parts.calls())) == CONNECTIONS


def test_what_it_is_and_how_it_tracks_connections_is_told() -> None:
    settings = {"sessions": 1_000, "time_wait": "7s", "udp_timeout": "9s"}
    with nat_between("destination", **settings) as parts:
        facts = parts.device.facts()
        assert "nat_plugin.so" in facts["plugins"]
        assert {port["name"]: port["mac"] for port in facts["ports"]} == parts.hops
    tracking = facts["connection_tracking"]
    assert (tracking["nat"], tracking["sessions"]) == ("destination", 1_000)
    assert (tracking["tcp_transitory_timeout"], tracking["udp_timeout"]) == (7, 9)


def test_a_search_ends_at_the_room_that_the_table_has(place: Place) -> None:
    """After a trial that filled it, others begin on an empty one."""
    ended = place("run", "lb_cc", *vpp_words(), *HELD, f"--set=vswitch.sessions={SMALL}")
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    (case,) = place.records().cases()
    held = [one for one in case.connections if one.purpose == "search" and one.client is not None]
    beyond = [number for number, one in enumerate(held) if one.asked > SMALL]
    assert beyond, "none asked for more than there is room for"
    for one in held:
        assert one.client is not None and one.client.most_established is not None
        assert one.client.most_established <= SMALL
    later = held[beyond[0] + 1 :]
    assert later and all(one.client is not None and one.client.completed for one in later)
