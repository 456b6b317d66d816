"""The kernel's IPVS with tgen at both of its ports: what passes, is counted, and what is left."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Literal

import pytest
from hop_cases import CONNECTIONS, SERVERS, Between, between, briefly, completed, inwards

from vsperf.config.connections import Protocol
from vsperf.drivers.vswitches.ipvs.driver import RunningIpvs, table

pytestmark = [pytest.mark.machine, pytest.mark.thorough, pytest.mark.needs("ipvs", "tgen")]

Mode = Literal["nat", "dr"]


def ipvs_between(mode: Mode, **settings: str) -> AbstractContextManager[Between[RunningIpvs]]:
    return between("ipvs", RunningIpvs, mode=mode, **settings)


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("mode", ["nat", "dr"])
def test_its_own_counts_are_those_of_both_ends(mode: Mode, protocol: Protocol) -> None:
    with ipvs_between(mode, protocol=protocol) as parts:
        before = parts.device.counters()
        made = parts.made(replace(parts.calls(), protocol=protocol))
        growth, kept = parts.device.counters().since(before), parts.device.kept()
        shares = table(parts.device.network).servers
        assert parts.device.failure() is None
    assert completed(made) == CONNECTIONS
    assert made.client is not None and made.client.failed == {}
    assert growth.connections is not None
    assert growth.connections.all_counts == (CONNECTIONS, CONNECTIONS)
    assert kept.entries == CONNECTIONS, "those that are over are remembered"
    assert len(shares) == SERVERS
    assert max(shares.values()) - min(shares.values()) <= 1
    assert made.client_segments is not None and made.server_segments is not None
    taken = {port.link: port.received_frames for port in growth.ports}
    assert taken["phy0"] >= made.client_segments.segments_sent
    assert taken["phy1"] >= made.server_segments.segments_sent
    assert growth.dropped_frames == 0


def test_a_service_that_is_gone_is_missed_and_comes_again_by_a_restart() -> None:
    with ipvs_between("nat") as parts:
        parts.device.program.read(parts.device.network, "-C\n")
        assert parts.device.failure() == "its service 198.18.255.1:80 is gone"
        shut = parts.made(briefly(parts.calls()))
        parts.device.restart(kill=False)
        assert parts.device.failure() is None
        assert completed(parts.made(parts.calls())) == CONNECTIONS
    assert shut.client is not None and shut.client.completed == 0


def test_what_does_not_call_its_service_is_no_connection_of_its() -> None:
    with ipvs_between("nat") as parts:
        before = parts.device.counters()
        parts.made(inwards(briefly(parts.calls())))
        growth = parts.device.counters().since(before)
    assert growth.connections is not None
    assert growth.connections.all_counts == (0, 0)
