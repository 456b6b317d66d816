"""The kernel as a router with nftables: what it is told, what is refused, what is read of it."""

from __future__ import annotations

from typing import Any

import pytest
from connection_cases import lines_of, opened_through
from hypothesis import given
from hypothesis import strategies as st
from places import PLACEMENT
from pydantic import ValidationError
from switch_cases import switch_case

from vsperf.config.case import CaseSpec
from vsperf.config.connections import servers_of
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.nftables.driver import (
    NO_IDLE_RULES,
    Design,
    Nftables,
    NftablesSpec,
    Tracking,
    counted_in,
    idle_rules,
    sysctls,
    tracking_in,
)
from vsperf.errors import UsageError
from vsperf.records.run import shown

CLIENT, SERVER = "02:00:00:00:00:01", "02:01:00:00:00:01"
FILTER = """\
	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		jump idle
		iifname "TAP-0-0" oifname "TAP-0-1" ct state new counter name "begun" accept
		counter name "refused" drop
	}
"""
OBJECTS = tuple(
    bytes.fromhex(text)
    for text in (
        "0a0001006f746865720000000c000200616e6f746865720008000300000000010c0006000000000000000001"
        "08000500000000001c0004000c00010000000000000000090c0002000000000000000004",
        "0b00010076737065726600000c000200726566757365640008000300000000010c0006000000000000000004"
        "08000500000000011c0004000c00010000000000000000050c0002000000000100000001",
    )
)
"""Two counters, as a kernel told of them: one of others with 4 frames, and ours with 2^32 + 1."""
COUNTED = """\
entries  clashres found new invalid chainlength insert insert_failed drop early_drop
0000000a  00000001 00000000 00000000 00000002 00000003 00000000 00000004 000000ff 00000005
0000000a  00000000 00000000 00000000 00000001 00000000 00000000 00000010 00000001 00000000
"""


def opened(**settings: Any) -> CaseSpec:
    return opened_through("nftables", **settings)


def plan_of(case: CaseSpec) -> SwitchPlan:
    return Nftables().plan(case, PLACEMENT)


def told(case: CaseSpec) -> str:
    """Return the rules that a case's router is told, as a plan shows them."""
    (step,) = (step for step in plan_of(case).steps if step.argv is not None)
    return "".join(f"{shown(line)}\n" for line in step.lines)


def refusal(case: CaseSpec) -> UsageError:
    with pytest.raises(UsageError) as caught:
        Nftables().plan(case, PLACEMENT)
    return caught.value


def test_a_plan_shows_how_it_is_told_and_who_is_behind_its_taps() -> None:
    plan = plan_of(opened(clients=3))
    (argv,) = (step.argv for step in plan.steps if step.argv is not None)
    assert [shown(word) for word in argv][3:] == ["nft", "-f", "-"]
    assert any("have CPU 1 forward" in step.action for step in plan.steps)
    seen = lines_of(plan)
    assert f"198.18.0.1 to 198.18.0.3 are {CLIENT} behind TAP-0-0" in seen
    assert f"198.19.0.1 are {SERVER} behind TAP-0-1" in seen
    assert seen[-1] == "ipv4.ip_forward = 1"


@pytest.mark.parametrize("nat", ["none", "source"])
def test_only_clients_begin_connections(nat: str) -> None:
    assert FILTER in told(opened(nat=nat))


def test_a_firewall_rewrites_nothing() -> None:
    assert "nat" not in told(opened(nat="none"))


def test_servers_see_the_device_in_place_of_the_clients() -> None:
    assert told(opened(nat="source")).endswith(
        "\tchain postrouting {\n"
        "\t\ttype nat hook postrouting priority srcnat; policy accept;\n"
        '\t\toifname "TAP-0-1" snat to 198.19.255.254\n'
        "\t}\n"
        "}\n"
    )


def test_servers_are_called_in_turns_by_an_address_of_the_device_and_by_no_other() -> None:
    rules = told(opened(nat="destination", servers=2))
    assert rules.endswith(
        "\tchain prerouting {\n"
        "\t\ttype nat hook prerouting priority dstnat; policy accept;\n"
        '\t\tiifname "TAP-0-0" ip daddr 198.18.255.1 tcp dport 80 '
        "dnat to numgen inc mod 2 map { 0 : 198.19.0.1, 1 : 198.19.0.2 }\n"
        "\t}\n"
        "}\n"
    )
    assert 'oifname "TAP-0-1" ct state new ct status dnat counter name "begun" accept' in rules


def test_flows_of_udp_are_shared_out_as_connections_are() -> None:
    rules = told(opened(nat="destination", servers=2, protocol="udp"))
    assert "ip daddr 198.18.255.1 udp dport 80 dnat to numgen inc mod 2" in rules
    assert "tcp" not in rules


def test_each_of_256_servers_is_called() -> None:
    case = opened(nat="destination", servers=256)
    assert all(f" : {ip}" in told(case) for ip in servers_of(case).ips)


def test_whether_the_service_is_called_is_told_by_the_settings() -> None:
    def shares_out(nat: str) -> bool:
        return NftablesSpec.model_validate({"kind": "nftables", "nat": nat}).shares_out

    assert [shares_out(nat) for nat in ("none", "source", "destination")] == [False, False, True]


def test_rules_take_the_place_of_those_before_all_at_once() -> None:
    assert told(opened()).startswith("table ip vsperf\ndelete table ip vsperf\ntable ip vsperf {\n")


def test_rules_that_no_frame_matches_have_addresses_that_nobody_has() -> None:
    assert idle_rules(255, 2) == (
        "add rule ip vsperf idle ip daddr 240.0.0.255 drop\n"
        "add rule ip vsperf idle ip daddr 240.0.1.0 drop\n"
    )
    assert NO_IDLE_RULES == "flush chain ip vsperf idle\n"


def test_how_long_an_ended_connection_stays_is_the_kernels_unless_it_is_told() -> None:
    def told_of(**settings: Any) -> dict[str, str]:
        spec = NftablesSpec.model_validate({"kind": "nftables", **settings})
        return dict(sysctls(spec))

    name = "netfilter/nf_conntrack_tcp_timeout_time_wait"
    assert name not in told_of()
    assert told_of(time_wait="2m")[name] == "120"
    both = ("netfilter/nf_conntrack_udp_timeout", "netfilter/nf_conntrack_udp_timeout_stream")
    assert not {*both} & {*told_of()}
    assert [told_of(udp_timeout="5s")[name] for name in both] == ["5", "5"]
    assert told_of(udp_timeout="5s").keys() == told_of().keys() | {*both}
    for setting in ("time_wait", "udp_timeout"):
        for wrong in ("500ms", "1500ms", "0"):
            with pytest.raises(ValidationError, match="in whole seconds"):
                told_of(**{setting: wrong})


def test_frames_that_begin_no_connection_are_not_addressed_to_it() -> None:
    assert "not addressed to it" in str(refusal(switch_case("nftables")).problems[0].why)


def test_a_link_with_a_device_of_its_own_is_refused() -> None:
    on_a_device = switch_case("nftables", links={"phy1": {"switch": "eth1", "generator": "eth2"}})
    on_a_device = on_a_device.model_copy(update={"search": opened().search})
    assert "testbed.links.phy1.switch" in str(refusal(on_a_device).problems[0].fix)


def test_there_is_a_service_where_the_device_chooses_the_server() -> None:
    def service(nat: str) -> str | None:
        case = opened(nat=nat)
        assert isinstance(case.vswitch, NftablesSpec)
        return Design(case, case.vswitch, PLACEMENT).service

    assert service("source") is None
    assert service("destination") == "198.18.255.1:80"


# What the kernel tells.


def test_frames_that_no_rule_let_pass_are_read_from_a_counter_by_its_name() -> None:
    assert counted_in(OBJECTS) == {"another": 4, "refused": (1 << 32) + 1}
    assert counted_in(()) == {}


def test_drops_and_what_explains_them_are_summed_up_over_all_cpus() -> None:
    assert tracking_in(COUNTED) == Tracking(
        {"conntrack drop": 256, "conntrack chain too long": 3},
        {
            "conntrack insert failed": 20,
            "conntrack early drop": 5,
            "conntrack invalid": 3,
            "conntrack clash resolved": 1,
        },
    )


def test_what_a_kernel_does_not_count_is_missing() -> None:
    assert tracking_in("") == Tracking({}, {})
    assert tracking_in("entries drop\n00000001 0000000a\n") == Tracking({"conntrack drop": 10}, {})


@given(st.lists(st.integers(0, 0xFFFFFFFF), max_size=8))
def test_whatever_cpus_count_is_added_up(counted: list[int]) -> None:
    text = "".join(["drop\n", *(f"{one:08x}\n" for one in counted)])
    assert tracking_in(text).drops == {"conntrack drop": sum(counted)}
