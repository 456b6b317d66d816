"""The kernel's router that tracks connections: its rules, its plan, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from places import PLACEMENT
from pydantic import ValidationError
from switch_cases import PVP, switch_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.nftables.driver import Nftables
from vsperf.drivers.vswitches.nftables.plan import Design, timeouts
from vsperf.drivers.vswitches.nftables.spec import NftablesSpec
from vsperf.errors import UsageError
from vsperf.records.run import Placement

DEVICES = {"phy0": "tap0", "phy1": "tap1"}


def router_case(servers: int = 2, **switch: Any) -> CaseSpec:
    settings = {"kind": "cps", "clients": 2, "servers": servers}
    return switch_case("nftables", switch, search=settings, latency=None)


def design(case: CaseSpec) -> Design:
    assert isinstance(case.vswitch, NftablesSpec)
    return Design(case, case.vswitch, PLACEMENT)


def rules(idle: int = 0, **switch: Any) -> str:
    return design(router_case(**switch)).rules(DEVICES, idle)


@pytest.mark.parametrize("nat", ["none", "source", "destination"])
def test_what_did_not_begin_at_the_clients_side_is_dropped(nat: str) -> None:
    found = rules(nat=nat)
    assert "hook forward priority filter; policy drop;" in found
    known, begun = [line for line in found.splitlines() if line.endswith("accept")]
    assert known == "ct state established,related accept"
    assert begun.startswith('iifname "tap0" oifname "tap1" ct state new')
    assert ("ct status dnat" in begun) == (nat == "destination")


def test_clients_get_the_routers_address_towards_servers() -> None:
    assert 'oifname "tap1" snat to 198.19.255.254' in rules(nat="source")
    assert "dnat" not in rules(nat="source")


def test_one_address_is_called_for_all_servers_which_take_turns() -> None:
    found = rules(nat="destination", servers=3)
    turns = "numgen inc mod 3 map { 0 : 198.19.0.1, 1 : 198.19.0.2, 2 : 198.19.0.3 }"
    assert f"ip daddr 198.18.255.1 tcp dport 80 dnat to {turns}" in found
    assert "dnat to 198.19.0.1\n" in rules(nat="destination", servers=1)
    assert "snat" not in found


def test_a_firewall_leaves_addresses_as_they_are() -> None:
    assert "nat to" not in rules(nat="none")


def test_who_is_called_follows_from_what_the_router_does() -> None:
    shared = {nat: NftablesSpec.model_validate({"kind": "nftables", "nat": nat}).shares_out
              for nat in ("none", "source", "destination")}  # fmt: skip
    assert shared == {"none": False, "source": False, "destination": True}


def test_rules_replace_all_others_at_once() -> None:
    first, second, third = rules().splitlines()[:3]
    assert (first, second, third) == (
        "table ip vsperf", "delete table ip vsperf", "table ip vsperf {",
    )  # fmt: skip


def test_rules_that_no_packet_matches_come_before_all_others() -> None:
    found = rules(idle=300).splitlines()
    idle = [line for line in found if line.startswith("ip saddr 203.0.")]
    assert len(idle) == len(set(idle)) == 300
    assert found.index(idle[-1]) < found.index("ct state established,related accept")


def test_the_kernels_timeouts_stay_unless_one_is_given() -> None:
    assert timeouts(NftablesSpec.model_validate({"kind": "nftables"})) == {}
    given = NftablesSpec.model_validate({"kind": "nftables", "time_wait": "7s"})
    assert timeouts(given) == {"nf_conntrack_tcp_timeout_time_wait": 7}


@pytest.mark.parametrize("given", ["1500ms", "0s", "10ms"])
def test_what_the_kernel_cannot_count_is_refused(given: str) -> None:
    with pytest.raises(ValidationError, match="whole seconds"):
        NftablesSpec.model_validate({"kind": "nftables", "time_wait": given})


def test_a_plan_shows_taps_addresses_rules_and_where_the_generator_finds_its_ports() -> None:
    plan = Nftables().plan(router_case(time_wait="7s"), PLACEMENT)
    lines = [line for step in plan.steps for line in step.lines]
    assert any("198.18.255.254/16" in line for line in lines)
    assert "net.netfilter.nf_conntrack_tcp_timeout_time_wait = 7" in lines
    assert any("snat to" in line for line in lines)
    assert [(one.link, one.kind) for one in plan.endpoints] == [("phy0", "tap"), ("phy1", "tap")]


def test_each_port_has_an_address_of_its_own() -> None:
    clients, servers = design(router_case()).ports
    assert (clients.link, servers.link) == ("phy0", "phy1")
    assert clients.mac != servers.mac
    assert clients.end.ips == ("198.18.0.1", "198.18.0.2")


REFUSED: dict[str, tuple[CaseSpec, Placement, str]] = {
    "frames": (switch_case("nftables"), PLACEMENT, "sends frames that have no route"),
    "no CPU": (router_case(), Placement(), "no CPU was found"),
    "VNFs": (
        router_case().model_copy(
            update={"topology": switch_case("nftables", topology=PVP).topology}
        ),
        PLACEMENT,
        "has no ports for vm1",
    ),
    "a device": (
        switch_case(
            "nftables",
            links={"phy0": {"switch": "0000:01:00.0", "generator": "0000:01:00.1"}},
            search={"kind": "cps"},
            latency=None,
        ),
        PLACEMENT,
        "testbed link phy0 has a device",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_router_cannot_do_is_refused_with_a_way_out(name: str) -> None:
    case, placement, what = REFUSED[name]
    with pytest.raises(UsageError, match=what) as caught:
        Nftables().plan(case, placement)
    assert caught.value.problems[0].fix
