"""Rules of OVS that track connections: what passes, what is rewritten, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from places import PLACEMENT
from switch_cases import PVP, driver_of, switch_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.rules import rule_count, rules
from vsperf.drivers.vswitches.ovs.spec import OvsSettings
from vsperf.errors import UsageError

PORTS = (
    SwitchPort("phy0", 1, "phy0", "dpdkvhostuserclient"),
    SwitchPort("phy1", 2, "phy1", "dpdkvhostuserclient"),
)


def tracking_case(
    servers: int = 3, kind: str = "ovs-dpdk", protocol: str = "tcp", **switch: Any
) -> CaseSpec:
    settings = {"kind": "cps", "clients": 2, "servers": servers, "protocol": protocol}
    return switch_case(kind, switch, search=settings, latency=None)


def written(case: CaseSpec) -> list[str]:
    assert isinstance(case.vswitch, OvsSettings)
    return list(rules(case, case.vswitch, PORTS))


@pytest.mark.parametrize("nat", ["none", "source", "destination"])
def test_only_what_clients_began_and_what_belongs_to_it_passes(nat: str) -> None:
    found = written(tracking_case(nat=nat))
    first, second, *tracked = found
    assert [rule.partition("actions=")[2] for rule in (first, second)] == [
        "ct(table=1,zone=1,nat)"
    ] * 2
    assert "in_port=1" in first and "in_port=2" in second
    begun = [rule for rule in tracked if "+new" in rule]
    assert len(begun) == 1
    assert "in_port=1" in begun[0]
    known = {rule.partition("in_port=")[2] for rule in tracked if "+est" in rule}
    assert known == {"1,actions=output:2", "2,actions=output:1"}


@pytest.mark.parametrize(
    ("nat", "servers", "action"),
    [
        ("none", 3, "ct(commit,zone=1),output:2"),
        ("source", 3, "ct(commit,zone=1,nat(src=198.19.255.254)),output:2"),
        ("destination", 3, "ct(commit,zone=1,nat(dst=198.19.0.1-198.19.0.3)),output:2"),
        ("destination", 1, "ct(commit,zone=1,nat(dst=198.19.0.1)),output:2"),
    ],
)
def test_addresses_are_rewritten_when_a_connection_begins(
    nat: str, servers: int, action: str
) -> None:
    (begun,) = [rule for rule in written(tracking_case(servers, nat=nat)) if "+new" in rule]
    assert begun.partition("actions=")[2] == action
    assert ("nw_dst=198.18.255.1,tp_dst=80" in begun) == (nat == "destination")


@pytest.mark.parametrize("nat", ["none", "source", "destination"])
def test_rules_are_of_the_protocol_that_connections_are_made_by(nat: str) -> None:
    by_udp = written(tracking_case(nat=nat, protocol="udp"))
    by_tcp = written(tracking_case(nat=nat))
    assert [rule.replace(",udp", ",tcp") for rule in by_udp] == by_tcp
    assert all(",udp," in rule for rule in by_udp)


@pytest.mark.parametrize("kind", ["ovs-dpdk", "ovs"])
def test_rules_are_as_many_as_are_counted_when_they_are_in(kind: str) -> None:
    case = tracking_case(kind=kind, nat="source")
    assert isinstance(case.vswitch, OvsSettings)
    assert len(written(case)) == rule_count(case, case.vswitch)
    plan = driver_of(kind).plan(case, PLACEMENT)
    assert any("+trk+new" in line for step in plan.steps for line in step.lines)


def test_without_it_connections_pass_by_the_rules_of_frames() -> None:
    assert not any("ct_state" in rule for rule in written(tracking_case()))


REFUSED: dict[str, tuple[CaseSpec, str]] = {
    "frames": (switch_case("ovs-dpdk", {"nat": "none"}), "opens no connections"),
    "rules of another kind": (tracking_case(nat="none", flows="l4"), "vswitch.flows"),
    "filters": (tracking_case(nat="none", filters=3), "vswitch.filters"),
    "what it changes in frames": (tracking_case(nat="none", modify={"dscp": 3}), "vswitch.modify"),
    "VNFs": (
        tracking_case(nat="none").model_copy(
            update={"topology": switch_case("ovs-dpdk", topology=PVP).topology}
        ),
        "topology pvp",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_with_it_is_refused_with_a_way_out(name: str) -> None:
    case, what = REFUSED[name]
    with pytest.raises(UsageError, match=what) as caught:
        written(case)
    assert caught.value.problems[0].fix
