"""Frames modified by the switch: what may be asked, which rules do it, and who notices if none do.

That real frames really are modified is shown where they are captured: test_ovs_modify.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from config_world import DRIVERS, library, write
from ovs_cases import ovs_case, rules_of
from places import PLACEMENT
from pydantic import ValidationError
from simulated_cases import session, simulated_case, trials
from switch_cases import PVP

from vsperf.config.case import Case, CaseSpec
from vsperf.config.document import Drivers
from vsperf.config.loader import Request, load
from vsperf.config.modify import Modify
from vsperf.config.traffic import TrafficProfile
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.vswitches.ovs.dpdk.driver import DpdkDesign, OvsDpdkSpec, ports_of
from vsperf.drivers.vswitches.sim import SimulatedSwitch, SimulatedSwitchSpec
from vsperf.engine.checks import check_headers, expected, worth_a_look
from vsperf.errors import PathError, SpecError
from vsperf.records.trial import Purpose, Trial

MAC = "02:00:00:00:07:07"
TAGGED = {"frame_size": "128B", "vlans": [100]}
QINQ = {"frame_size": "128B", "vlans": [5, 6]}


def made(modify: dict[str, Any], switch: dict[str, Any] | None = None, **more: Any) -> list[str]:
    """Return the rules by which OVS does it."""
    found = rules_of(ovs_case({"modify": modify, **(switch or {})}, **more))
    return [rule.removeprefix("priority=10,") for rule in found]


@pytest.mark.parametrize(
    ("modify", "traffic", "rule"),
    [
        (
            {"push_vlan": 100},
            {},
            "in_port=1,actions=push_vlan:0x8100,set_field:4196->vlan_vid,output:2",
        ),
        (
            {"push_vlan": 7},
            TAGGED,
            "in_port=1,actions=push_vlan:0x88a8,set_field:4103->vlan_vid,output:2",
        ),
        ({"pop_vlan": True}, TAGGED, "in_port=1,dl_vlan=100,actions=pop_vlan,output:2"),
        ({"pop_vlan": True}, QINQ, "in_port=1,dl_vlan=5,actions=pop_vlan,output:2"),
        (
            {"pop_vlan": True, "push_vlan": 9, "source_mac": MAC},
            TAGGED,
            f"in_port=1,dl_vlan=100,actions=pop_vlan,set_field:{MAC}->eth_src,"
            "push_vlan:0x8100,set_field:4105->vlan_vid,output:2",
        ),
        ({"source_mac": MAC}, {}, f"in_port=1,actions=set_field:{MAC}->eth_src,output:2"),
        ({"destination_mac": MAC}, {}, f"in_port=1,actions=set_field:{MAC}->eth_dst,output:2"),
        (
            {"source_ip": "198.18.7.7", "destination_ip": "198.19.7.7"},
            {},
            "in_port=1,ip,actions=set_field:198.18.7.7->ip_src,set_field:198.19.7.7->ip_dst,"
            "output:2",
        ),
        (
            {"destination_ip": "2001:2:0:7::7"},
            {"frame_size": "128B", "layer3": "ipv6"},
            "in_port=1,ipv6,actions=set_field:2001:2:0:7::7->ipv6_dst,output:2",
        ),
        ({"dscp": 46}, {}, "in_port=1,ip,actions=set_field:46->ip_dscp,output:2"),
        ({"dscp": 0}, {}, "in_port=1,ip,actions=set_field:0->ip_dscp,output:2"),
        ({"ttl": 17}, {}, "in_port=1,ip,actions=set_field:17->nw_ttl,output:2"),
        ({"ttl": "decrement"}, {}, "in_port=1,ip,actions=dec_ttl,output:2"),
    ],
)  # fmt: skip
def test_each_modification_is_a_few_openflow_actions(
    modify: dict[str, Any], traffic: dict[str, Any], rule: str
) -> None:
    assert made(modify, traffic=traffic)[0] == rule


def test_a_match_that_looks_into_ip_already_needs_no_other_word() -> None:
    network = made({"dscp": 46}, {"flows": "network"})
    assert network[0].startswith("in_port=1,ip,nw_src=198.18.0.0/15")
    streams = made({"dscp": 46}, {"flows": "l4"}, traffic={"flows": 2})
    assert streams[0].startswith("in_port=1,udp,nw_src=198.18.0.1")


def test_frames_are_modified_once_on_their_way_and_at_its_end() -> None:
    """Between links and VNF nothing is touched: 3 and 4 are the VNF's ports."""
    assert made({"dscp": 46}, topology=PVP) == [
        "in_port=1,actions=output:3",
        "in_port=3,ip,actions=set_field:46->ip_dscp,output:1",
        "in_port=4,ip,actions=set_field:46->ip_dscp,output:2",
        "in_port=2,actions=output:4",
    ]


def test_nothing_asked_is_nothing_done_and_the_same_case() -> None:
    assert made({}) == made({"pop_vlan": False}) == ["in_port=1,actions=output:2",
                                                     "in_port=2,actions=output:1"]  # fmt: skip
    plain, with_one = Case(ovs_case()), Case(ovs_case({"modify": {"dscp": 46}}))
    assert "modify" not in plain.spec.measured()["vswitch"]
    assert plain.id != with_one.id


def test_the_switch_looks_behind_as_many_tags_as_there_are() -> None:
    def limit(modify: dict[str, Any], traffic: dict[str, Any], **switch: Any) -> str | None:
        case = ovs_case({"modify": modify, **switch}, traffic=traffic)
        spec = case.vswitch
        assert isinstance(spec, OvsDpdkSpec)
        return DpdkDesign(case, spec, PLACEMENT).other_config.get("vlan-limit")

    assert limit({"push_vlan": 7}, TAGGED) == "2"
    assert limit({"dscp": 1}, QINQ) == "2"
    assert limit({}, QINQ, flows="network") == "2"
    assert limit({"push_vlan": 7}, {}) is None
    assert limit({}, QINQ) is None


def test_a_tag_more_is_room_for_longer_frames() -> None:
    def mtu(modify: dict[str, Any]) -> int | None:
        case = ovs_case({"modify": modify}, traffic={"frame_size": "1518B"})
        spec = case.vswitch
        assert isinstance(spec, OvsDpdkSpec)
        return ports_of(case, spec)[0].mtu_request

    assert mtu({"push_vlan": 7}) == 1504
    assert mtu({"dscp": 7}) is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"source_mac": "02:00:00:00:07"}, "is no MAC address"),
        ({"destination_ip": "198.18.7"}, "is no IP address"),
        ({"push_vlan": 4095}, "less than or equal to 4094"),
        ({"dscp": 64}, "less than or equal to 63"),
        ({"ttl": 0}, "greater than or equal to 1"),
        ({"ttl": "increment"}, "decrement"),
        ({"pop_vlan": 1}, "valid boolean"),
    ],
)
def test_what_is_no_modification_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Modify.model_validate(settings)


@pytest.mark.parametrize(
    ("modify", "traffic", "words"),
    [
        ("pop_vlan: true", "", "`vswitch.modify.pop_vlan` takes a VLAN tag away"),
        ("push_vlan: 7", ", vlans: [5, 6]", "`vswitch.modify.push_vlan` would be tag number 3"),
        ("dscp: 46", ", mpls: [16]", "`vswitch.modify.dscp` cannot be set in frames with"),
        ("source_ip: 198.18.7.7", ", layer3: ipv6", "`vswitch.modify.source_ip` is the IPv4"),
        ('destination_ip: "2001:2::7"', "", "`vswitch.modify.destination_ip` is the IPv6"),
        ("dscp: 46", ", replay: {file: /tmp/x.pcap}", "`vswitch.modify.dscp` cannot be done to"),
    ],
)
def test_what_cannot_be_done_to_these_frames_is_told_with_its_place(
    modify: str, traffic: str, words: str, tmp_path: Path
) -> None:
    text = (
        "name: mine\ntopology: p2p\n"
        f"traffic: {{frame_size: 128{traffic}}}\n"
        f"vswitch:\n  modify:\n    {modify}\n"
    )
    write(tmp_path, {"testcases/mine.yaml": text})
    drivers: Drivers = {**DRIVERS, "vswitch": {"sim": SimulatedSwitchSpec}}
    with pytest.raises(SpecError) as refused:
        load(Request(("mine",), testbed="sim"), library(tmp_path, tmp_path), drivers)
    (problem,) = refused.value.problems
    assert problem.what.startswith(words)
    assert problem.why
    assert problem.fix
    assert problem.where is not None
    assert problem.where.line == 6


def looked_at(case: CaseSpec) -> Trial:
    """Return a path check of the simulated testbed."""
    with session(case) as running:
        counts = running.run(TrialRequest(1_000, 100_000_000, headers=True))
    return Trial(
        **dict(counts), index=1, purpose=Purpose.PATH_CHECK, load_fps=1_000,
        duration_ns=100_000_000, started_at="2026-01-01T00:00:00.000+00:00",
    )  # fmt: skip


EVERYTHING: dict[str, Any] = {
    "pop_vlan": True, "source_mac": MAC, "destination_mac": "02:00:00:00:08:08",
    "source_ip": "198.18.7.7", "destination_ip": "198.19.8.8", "dscp": 46, "ttl": "decrement",
    "push_vlan": 200,
}  # fmt: skip


def test_a_switch_that_does_what_it_is_asked_passes_the_path_check() -> None:
    case = simulated_case({"modify": EVERYTHING}, traffic=TAGGED)
    assert check_headers(case, looked_at(case)) == ()
    assert expected(case, "phy0 to phy1") == {
        "vlans": (200,), "mpls": (), "layer3": "ipv4", "source_mac": MAC,
        "destination_mac": "02:00:00:00:08:08", "source_ip": "198.18.7.7",
        "destination_ip": "198.19.8.8", "dscp": 46, "ttl": 63,
    }  # fmt: skip


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_switch_that_forgets_a_modification_ends_in_an_error_and_no_number(name: str) -> None:
    case = simulated_case({"modify": {name: EVERYTHING[name]}, "modifies": False}, traffic=TAGGED)
    with pytest.raises(PathError, match="did not modify the frames") as refused:
        check_headers(case, looked_at(case))
    (problem,) = refused.value.problems
    field = "vlans" if "vlan" in name else name
    assert f"phy0 to phy1: {field} is " in problem.what
    assert problem.why
    assert problem.fix


def test_what_nobody_has_seen_is_not_believed() -> None:
    case = simulated_case({"modify": {"dscp": 46}})
    trial = looked_at(case)
    blind = [way.model_copy(update={"first_headers": ()}) for way in trial.directions]
    with pytest.raises(PathError, match="nobody can tell"):
        check_headers(case, trial.model_copy(update={"directions": tuple(blind)}))


@pytest.mark.parametrize(
    "traffic",
    [TAGGED, QINQ, {"frame_size": "128B", "mpls": [16]}, {"frame_size": "128B", "layer3": "ipv6"}],
)
def test_headers_that_vanish_unasked_are_a_warning(traffic: dict[str, Any]) -> None:
    case = simulated_case(traffic=traffic)
    assert worth_a_look(case)
    trial = looked_at(case)
    assert check_headers(case, trial) == ()
    plain = looked_at(simulated_case())
    (warning,) = check_headers(case, plain)
    assert "other headers than they were sent with" in warning


def test_plain_frames_are_not_looked_at() -> None:
    assert not worth_a_look(simulated_case())
    (trial,) = trials(simulated_case(), 1_000)
    assert all(way.first_headers == () for way in trial.directions)


def test_a_tag_more_is_less_room_on_a_line_of_the_same_speed() -> None:
    """At the line rate of 64 B, every frame of 68 B has to wait for a longer one."""
    switch = {"capacity": "20Mfps", "behaviour": {"kind": "ideal"}}
    case = simulated_case({**switch, "modify": {"push_vlan": 7}}, traffic={"direction": "forward"})
    (trial,) = trials(case, 14_880_952)
    assert trial.directions[0].received_frames == 10**10 // (8 * (68 + 20))
    popped = simulated_case(
        {**switch, "modify": {"pop_vlan": True}},
        traffic={"direction": "forward", "vlans": [5], "frame_size": "68B"},
    )
    (trial,) = trials(popped, 10**10 // (8 * 88))
    assert trial.directions[0].lost_frames == 0


def test_tags_are_counted_on_the_outside_of_a_tunnel() -> None:
    tunnel = {"kind": "vxlan", "id": 1, "vlans": [5]}
    traffic = TrafficProfile.model_validate({"frame_size": "256B", "encapsulation": tunnel})
    assert Modify(pop_vlan=True).tags_of(traffic) == ()
    assert Modify(push_vlan=7).tags_of(traffic) == (7, 5)


def test_a_plan_says_what_a_model_does_to_frames() -> None:
    case = simulated_case({"modify": {"push_vlan": 7, "pop_vlan": True, "source_mac": MAC}})
    (step,) = SimulatedSwitch().plan(case, PLACEMENT).steps
    assert step.action.endswith(
        f"and modifies frames: pop_vlan true, source_mac {MAC}, push_vlan 7"
    )
    (step,) = SimulatedSwitch().plan(simulated_case(), PLACEMENT).steps
    assert "modifies" not in step.action
