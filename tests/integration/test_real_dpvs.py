"""The real DPVS with tgen at both of its ports: what passes, is counted, and what is left.

`VSPERF_DPVS` names the folder that it was built or installed in.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal

import pytest
from dpvs_cases import dpvs_install
from hop_cases import CONNECTIONS, SERVERS, Between, between, briefly, completed, inwards
from real_runs import Place, fixture_calibrations, fixture_place

from vsperf.config.connections import Protocol
from vsperf.drivers.vswitches.dpvs.driver import RunningDpvs
from vsperf.errors import ComponentError, ExitCode

pytestmark = [pytest.mark.machine, pytest.mark.thorough, pytest.mark.needs("dpvs", "tgen")]
__all__ = ["fixture_calibrations", "fixture_place"]

Mode = Literal["fnat", "nat", "dr"]
MODES: tuple[Mode, ...] = ("fnat", "nat", "dr")
LINKS = ("phy0", "phy1")
PATIENCE_S = 60.0
FEW = (
    "--set=vswitch.hugepages=false",
    "--set=generator.hugepages=false",
    "--set=search.duration=2s",
    "--set=search.resolution=50%",
    "--set=search.max_rate=1000",
    "--set=trial.stretch_tolerance=100%",
)


def dpvs_between(**settings: Any) -> AbstractContextManager[Between[RunningDpvs]]:
    own = {"install": dpvs_install(), "hugepages": False, **settings}
    return between("dpvs", RunningDpvs, **own)


def restarted_in_between(parts: Between[RunningDpvs], *, kill: bool) -> None:
    assert completed(parts.made(parts.calls())) == CONNECTIONS
    parts.device.restart(kill=kill)
    parts.device.await_ports(LINKS, PATIENCE_S)
    assert parts.device.kept().entries == 0
    assert completed(parts.made(parts.calls())) == CONNECTIONS


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("mode", MODES)
def test_its_own_counts_are_those_of_both_ends(mode: Mode, protocol: Protocol) -> None:
    with dpvs_between(mode=mode, protocol=protocol, time_wait="60s") as parts:
        before = parts.device.counters()
        made = parts.made(replace(parts.calls(), protocol=protocol))
        after, kept = parts.device.counters(), parts.device.kept()
        assert parts.device.failure() is None
    assert before is not None and after is not None
    growth = after.since(before)
    assert completed(made) == CONNECTIONS
    assert made.client is not None and made.client.failed == {}
    assert growth.connections is not None
    assert growth.connections.all_counts == (CONNECTIONS, CONNECTIONS)
    assert kept.entries == CONNECTIONS, "those that are over are remembered"
    assert kept.memory_bytes
    assert made.client_segments is not None and made.server_segments is not None
    from_clients = made.client_segments.segments_sent
    from_servers = made.server_segments.segments_sent
    taken = {port.link: port.received_frames for port in growth.ports}
    assert taken["phy0"] >= from_clients and taken["phy1"] >= from_servers
    assert growth.reasons["service packets in"] >= from_clients
    by_it = growth.reasons.get("service packets out", 0)
    assert by_it >= from_servers if mode != "dr" else by_it == 0
    assert growth.dropped_frames == 0
    assert sum(pmd.frames for pmd in growth.pmds) >= from_clients + from_servers


def test_connections_are_shared_out_evenly() -> None:
    with dpvs_between() as parts:
        assert completed(parts.made(parts.calls())) == CONNECTIONS
        said = parts.device.talk.say(("ipvsadm", "-ln", "--stats", "--exact"))
    rows = [line.split() for line in said.splitlines() if line.lstrip().startswith("-> 198.")]
    counts = [int(row[2]) for row in rows]
    assert len(counts) == SERVERS
    assert max(counts) - min(counts) <= 1


def test_several_addresses_of_its_own_are_taken_in_turns() -> None:
    with dpvs_between(local_addresses=4) as parts:
        assert completed(parts.made(parts.calls())) == CONNECTIONS
        said = parts.device.talk.say(("dpip", "-s", "addr", "show"))
    assert said.count("sa_used") == 4


@pytest.mark.parametrize("mode", ["fnat", "nat"])
def test_who_is_behind_the_last_link_cannot_begin_a_connection(mode: Mode) -> None:
    with dpvs_between(mode=mode) as parts:
        made = parts.made(inwards(briefly(parts.calls())))
    assert made.client is not None and made.server is not None
    assert made.client.failed == {"no_answer": 20}
    assert made.server.accepted == 0


@pytest.mark.parametrize("kill", [False, True], ids=["kindly", "killed"])
def test_one_that_was_restarted_shares_out_again_and_knows_no_connection(kill: bool) -> None:
    with dpvs_between(ports="packet") as parts:
        restarted_in_between(parts, kill=kill)


@pytest.mark.parametrize("kill", [False, True], ids=["kindly", "killed"])
def test_in_shared_memory_it_is_restarted_too_or_says_that_it_wants_rss(kill: bool) -> None:
    """Only a build does it that was changed to do without."""
    try:
        with dpvs_between(ports="virtio-user") as parts:
            restarted_in_between(parts, kill=kill)
    except ComponentError as error:
        assert "RSS" in str(error.with_why)


def test_two_workers_share_what_comes_in() -> None:
    with dpvs_between(workers=2) as parts:
        before = parts.device.counters()
        assert completed(parts.made(parts.calls())) == CONNECTIONS
        after = parts.device.counters()
    assert before is not None and after is not None
    assert all(pmd.frames for pmd in after.since(before).pmds), "one of them had nothing to do"


def test_what_it_is_is_told() -> None:
    with dpvs_between(mode="nat", time_wait="5s") as parts:
        facts = parts.device.facts()
        assert {port["place"]: port["mac"] for port in facts["ports"]} == dict(parts.hops)
    assert facts["mode"] == "nat"
    assert any("time_wait 5" in line for line in facts["configuration"])


def test_a_search_from_the_command_line_finds_a_rate_and_leaves_nothing(place: Place) -> None:
    words = ("--vswitch=dpvs", f"--set=vswitch.install={dpvs_install()}")
    ended = place("run", "lb_cps", *words, *FEW)
    assert ended.code in {ExitCode.OK, ExitCode.INVALID_RESULT}, ended.said
    (case,) = place.records().cases()
    good = [one for one in case.connections if one.client is not None and one.client.completed]
    assert good, ended.said
    for one in good:
        assert one.client is not None and one.switch is not None
        assert one.switch.connections is not None
        assert one.switch.connections.accepted >= one.client.completed
    assert place.traces() == []
