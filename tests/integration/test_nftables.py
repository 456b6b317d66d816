"""The kernel as a router with nftables, for real: what passes it, what does not, what is left."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from connection_cases import opened_through
from hop_cases import (
    CLIENTS,
    CONNECTIONS,
    SECOND_NS,
    SERVERS,
    Between,
    between,
    briefly,
    completed,
    inwards,
)
from switch_cases import started

from vsperf.config.connections import Protocol
from vsperf.drivers.generators.base import ConnectionEnd, ConnectionEnds, ConnectionsRequest
from vsperf.drivers.vswitches.nftables.driver import (
    IPV4_FAMILY,
    NESTED,
    NETFILTER,
    TABLE,
    RunningRouter,
)
from vsperf.errors import ComponentError, DiedError
from vsperf.host.dead import dead_deployments
from vsperf.host.netlink import attributes, dump
from vsperf.host.netns import FOLDER, entering, within
from vsperf.methods.connections import ConnectionsAsked

pytestmark = [pytest.mark.machine, pytest.mark.needs("nftables", "tgen")]

Nat = Literal["none", "source", "destination"]
GET_CONNECTIONS = 1 << 8 | 1
ANSWER, ADDRESSES, SOURCE, DESTINATION = 2, 1, 1, 2
"""Attributes of a connection, as the kernel tells of it."""
KILLED = """
import os, pathlib, signal, sys
sys.path[:0] = sys.argv[2:]
from connection_cases import opened_through
from places import PLACEMENT
from switch_cases import driver_of
from vsperf.host.workspace import workspace
case = opened_through("nftables", real=True)
driver = driver_of("nftables")
plan = driver.plan(case, PLACEMENT)
with workspace("a run", pathlib.Path(sys.argv[1])) as place:
    with driver.start(case, plan, PLACEMENT, place):
        print(place.name, place.short_name, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def nat_between(nat: Nat, **settings: str) -> AbstractContextManager[Between[RunningRouter]]:
    return between("nftables", RunningRouter, nat=nat, **settings)


def nft(router: RunningRouter, *words: str) -> None:
    argv = [*entering(router.network), router.nft.path, *words]
    subprocess.run(argv, check=True, capture_output=True)


def answers(network: str) -> Counter[tuple[str, str]]:
    """Return from which address to which one answers go, of all connections in the table."""
    found = Counter[tuple[str, str]]()
    for message in within(network, lambda: [*dump(NETFILTER, GET_CONNECTIONS, IPV4_FAMILY)]):
        known = nested(message[len(IPV4_FAMILY) :])
        addresses = nested(nested(known[ANSWER])[ADDRESSES])
        found[socket.inet_ntoa(addresses[SOURCE]), socket.inet_ntoa(addresses[DESTINATION])] += 1
    return found


def nested(content: bytes) -> dict[int, bytes]:
    return {kind & ~NESTED: value for kind, value in attributes(content)}


@pytest.mark.everyday
@pytest.mark.parametrize(
    "nat", ["source", "destination", pytest.param("none", marks=pytest.mark.thorough)]
)
def test_connections_pass_are_tracked_and_are_forgotten(nat: Nat) -> None:
    with nat_between(nat) as parts:
        before = parts.device.counters()
        made = parts.made(parts.calls())
        growth = parts.device.counters().since(before)
        assert parts.device.failure() is None
        answered = answers(parts.device.network)
        assert parts.device.netfilter.connections() == answered.total()
        parts.device.forget_flows()
        assert parts.device.netfilter.connections() == 0
    assert completed(made) == CONNECTIONS
    assert made.client is not None and made.client.failed == {}
    assert answered.total() == CONNECTIONS
    shares = Counter[str]()
    for (server, _), count in answered.items():
        shares[server] += count
    assert set(shares) == set(parts.servers.ips)
    told = {to for _, to in answered}
    assert told == ({parts.servers.device_ip} if nat == "source" else set(parts.clients.ips))
    if nat == "destination":
        assert max(shares.values()) - min(shares.values()) <= 1
    assert growth.dropped_frames == 0
    assert growth.connections is not None
    again = made.client.repeated_syns
    assert CONNECTIONS <= growth.connections.accepted <= CONNECTIONS + again
    assert {port.link for port in growth.ports} == {"phy0", "phy1"}
    assert made.client_segments is not None and made.server_segments is not None
    taken = {port.link: port.received_frames for port in growth.ports}
    assert taken["phy0"] >= made.client_segments.segments_sent
    assert taken["phy1"] >= made.server_segments.segments_sent


@pytest.mark.parametrize("nat", ["source", "destination", "none"])
def test_flows_of_udp_pass_are_tracked_and_each_is_one(nat: Nat) -> None:
    with nat_between(nat, protocol="udp", udp_timeout="120s") as parts:
        before = parts.device.counters()
        made = parts.made(replace(parts.calls(), protocol="udp"))
        growth = parts.device.counters().since(before)
        answered = answers(parts.device.network)
        facts = parts.device.facts()["connection_tracking"]
    assert completed(made) == CONNECTIONS
    assert made.client is not None and made.client.failed == {}
    assert answered.total() == CONNECTIONS
    assert {server for server, _ in answered} == set(parts.servers.ips)
    assert growth.dropped_frames == 0
    assert (facts["udp_timeout"], facts["udp_timeout_stream"]) == (120, 120)


def test_a_flow_that_is_forgotten_while_it_is_held_is_seen_by_what_no_longer_passes() -> None:
    with nat_between("none", protocol="udp", udp_timeout="3s") as parts:
        calls = replace(parts.calls(), protocol="udp", connections=20, patience_ns=2 * SECOND_NS)
        known = parts.made(replace(calls, hold_ns=SECOND_NS // 10))
        before = parts.device.counters()
        forgotten = parts.made(replace(calls, hold_ns=8 * SECOND_NS))
        growth = parts.device.counters().since(before)
    assert completed(known) == 20
    assert forgotten.client is not None
    assert forgotten.client.failed == {"no_response": 20}
    assert growth.drops["no rule lets it pass"] == 20


def test_who_asks_a_port_at_which_nobody_is_hears_so_through_a_nat() -> None:
    """The kernel takes what ICMP quotes back to the client's own address and port."""
    with nat_between("source", protocol="udp") as parts:
        calls = replace(briefly(parts.calls()), protocol="udp", repeat_ns=5 * SECOND_NS)
        assert calls.client is not None
        made = parts.made(replace(calls, client=replace(calls.client, target_port=81)))
    assert made.client is not None
    assert made.client.failed == {"refused": 20}


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_trial_meets_no_connection_of_the_one_before(protocol: Protocol) -> None:
    """The router still knows those: if a port came again, there would be fewer entries."""
    with nat_between("none", protocol=protocol, udp_timeout="120s", time_wait="120s") as parts:
        case_ends = ConnectionEnds(
            ConnectionEnd(parts.clients, parts.device.next_hops()[parts.clients.link]),
            ConnectionEnd(parts.servers, parts.device.next_hops()[parts.servers.link]),
            str(parts.servers.first_ip),
            parts.servers.addresses,
        )
        asked = ConnectionsAsked(500, CONNECTIONS, protocol, response_bytes=128)
        made = [parts.session.connect(ConnectionsRequest(asked, case_ends)) for _ in range(2)]
        entries = parts.device.netfilter.connections()
    assert [completed(one) for one in made] == [CONNECTIONS] * 2
    assert entries == 2 * CONNECTIONS
    assert [one.begin_port for one in made] == [1024, 1024 + CONNECTIONS // CLIENTS]


@pytest.mark.everyday
def test_where_its_rules_let_nothing_pass_no_connection_is_answered() -> None:
    with nat_between("source") as parts:
        stop = f"insert rule ip {TABLE} forward counter name refused drop"
        nft(parts.device, *stop.split())
        before = parts.device.counters()
        refused = parts.made(briefly(parts.calls()))
        growth = parts.device.counters().since(before)
        parts.device.restart(kill=False)
        again = parts.made(parts.calls())
        nft(parts.device, "delete", "table", "ip", TABLE)
        assert parts.device.failure() == "its rules of nftables are gone"
    assert refused.client is not None
    assert refused.client.failed == {"no_answer": 20}
    assert growth.drops["no rule lets it pass"] == 20
    assert completed(again) == CONNECTIONS


def test_connections_that_a_wrong_rule_resets_are_told_as_reset() -> None:
    """SYNs and what answers them pass; whatever clients say next is refused by a reset."""
    with nat_between("source") as parts:
        wrong = "tcp dport 80 tcp flags & (syn | ack) == ack reject with tcp reset"
        nft(parts.device, *f"insert rule ip {TABLE} forward {wrong}".split())
        made = parts.made(briefly(parts.calls()))
    assert made.client is not None
    assert made.client.answered == made.client.launched == 20
    assert made.client.failed == {"reset": 20}


def test_a_connection_for_which_there_is_no_port_is_counted_as_dropped() -> None:
    """The device is left two ports of its address, for each address of a server."""
    with nat_between("source") as parts:
        few = f"{parts.servers.device_ip}:5000-5001"
        nft(parts.device, "flush", "chain", "ip", TABLE, "postrouting")
        rule = ("meta", "l4proto", "tcp", "snat", "to", few)
        nft(parts.device, "add", "rule", "ip", TABLE, "postrouting", *rule)
        before = parts.device.counters()
        patiently = replace(briefly(parts.calls()), repeat_ns=2 * SECOND_NS)
        made = parts.made(replace(patiently, hold_ns=5 * SECOND_NS))
        growth = parts.device.counters().since(before)
    assert completed(made) == 2 * SERVERS
    assert made.client is not None
    assert made.client.failed == {"no_answer": 20 - 2 * SERVERS}
    assert growth.drops["conntrack drop"] == growth.dropped_frames == 20 - 2 * SERVERS
    assert growth.reasons["conntrack insert failed"] == 20 - 2 * SERVERS


def test_who_is_behind_the_last_link_cannot_begin_a_connection() -> None:
    with nat_between("none") as parts:
        before = parts.device.counters()
        made = parts.made(inwards(briefly(parts.calls())))
        growth = parts.device.counters().since(before)
    assert made.client is not None and made.server is not None
    assert made.client.failed == {"no_answer": 20}
    assert made.server.accepted == 0
    assert growth.drops["no rule lets it pass"] == 20


def test_rules_that_no_frame_matches_come_and_go() -> None:
    with started(opened_through("nftables", real=True)) as (running, _):
        for _ in range(2):
            running.change_rules(100)
        assert listed(running).count("240.0.0.") == 200
        running.change_rules(-200)
        assert listed(running).count("240.0.0.") == 0
        assert "snat to 198.19.255.254" in listed(running)


def listed(running: RunningRouter) -> str:
    done = subprocess.run(running.access()[0].split(), capture_output=True, text=True, check=True)
    return done.stdout


def test_what_it_is_and_how_it_tracks_connections_is_told() -> None:
    case = opened_through("nftables", real=True, nat="destination", time_wait="7s")
    with started(case) as (running, place):
        facts = running.facts()
        hops = running.next_hops()
        for command in running.access():
            assert subprocess.run(command.split(), capture_output=True, check=True).stdout
    assert facts["network"] == place.name
    assert facts["nft"].startswith("nftables v")
    assert facts["service"] == "198.18.255.1:80"
    tracking = facts["connection_tracking"]
    assert tracking["tcp_timeout_time_wait"] == 7
    assert tracking["max"] > 0
    assert tracking["count"] == 0
    assert {port["place"]: port["mac"] for port in facts["ports"]} == hops
    assert len(set(hops.values())) == 2


def test_a_tap_that_nobody_holds_and_one_that_is_gone_are_named() -> None:
    with started(opened_through("nftables", real=True)) as (running, _):
        with pytest.raises(ComponentError, match="port phy1 of the router did not come up"):
            running.await_ports(("phy1",), 0.1)
        running.hop.talk.remove(running.hop.devices["phy1"])
        assert running.failure() == "the tap of phy1 is gone"
        with pytest.raises(DiedError) as died:
            running.await_ports(("phy1",), 0.1)
        assert "the tap of phy1 is gone" in died.value.with_why
        with pytest.raises(ComponentError, match="the tap of phy1 is gone"):
            running.counters()


@pytest.mark.everyday
def test_what_a_killed_run_made_is_removed_by_cleaning(tmp_path: Path) -> None:
    root = tmp_path / "run"
    argv = [sys.executable, "-c", KILLED, str(root), *sys.path]
    killed = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    network, short = killed.stdout.split()
    assert (FOLDER / network).exists()
    (dead,) = dead_deployments((root,))
    assert any(f"remove the network namespace {network}" in step for step in dead.steps())
    assert dead.take_down() == ()
    assert not (FOLDER / network).exists()
    assert not [*Path("/sys/class/net").glob(f"{short}*")]
