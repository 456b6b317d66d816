"""IPVS as the device: what it is told, what is refused, and what is read of the kernel."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from all_wrong import hold_each
from config_world import CHECKOUT
from connection_cases import lines_of, opened_through
from hypothesis import given
from hypothesis import strategies as st
from places import PLACEMENT
from pydantic import ValidationError

from vsperf.config.case import CaseSpec
from vsperf.config.connections import Protocol, answering_of, servers_of
from vsperf.config.loader import Request, load_cases
from vsperf.config.lookup import Library
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.dpvs.layout import DpvsSpec
from vsperf.drivers.vswitches.ipvs.driver import (
    Ipvs,
    Ipvsadm,
    IpvsSpec,
    Table,
    connections_in,
    table_in,
)
from vsperf.errors import ComponentError
from vsperf.plugins import Plugins
from vsperf.records.run import shown

SERVICE, SERVERS = "198.18.255.1:80", ("198.19.0.1:80", "198.19.0.2:80")
TABLE = """\
IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
TCP  C612FF01:0050 rr
  -> C6130002:0050      Masq    1      3          1000
  -> C6130001:0050      Masq    1      4          999
"""
"""As ip_vs_ctl.c of Linux writes it, but for spaces at the ends of lines."""
COUNTED = """\
   Total Incoming Outgoing         Incoming         Outgoing
   Conns  Packets  Packets            Bytes            Bytes
     7D0     2EE0     1F40           123456           ABCDEF

 Conns/s   Pkts/s   Pkts/s          Bytes/s          Bytes/s
       1        2        3                4                5
"""


def opened(
    clients: int = 1, servers: int = 1, protocol: Protocol = "tcp", **settings: Any
) -> CaseSpec:
    case = opened_through("linux-bridge", clients=clients, servers=servers, protocol=protocol)
    vswitch = IpvsSpec.model_validate({"kind": "ipvs", **settings})
    return case.model_copy(update={"vswitch": vswitch})


def plan_of(case: CaseSpec) -> SwitchPlan:
    return Ipvs().plan(case, PLACEMENT)


def told(case: CaseSpec) -> list[str]:
    """Return what IPVS of a case is told, as a plan shows it."""
    (step,) = (step for step in plan_of(case).steps if step.argv is not None)
    return [shown(line) for line in step.lines]


def test_a_plan_shows_how_it_is_told_and_that_clients_call_an_address_of_its_own() -> None:
    plan = plan_of(opened(clients=3))
    (argv,) = (step.argv for step in plan.steps if step.argv is not None)
    assert [shown(word) for word in argv][3:] == ["ipvsadm", "-R"]
    seen = lines_of(plan)
    assert "TAP-0-0 is 198.18.255.1/32, too: whom clients call" in seen
    assert seen[-1] == "ipv4.ip_forward = 1"


def test_servers_are_called_in_turns_and_what_was_told_before_is_forgotten() -> None:
    assert told(opened(servers=2)) == [
        "-C",
        "-A -t 198.18.255.1:80 -s rr",
        "-a -t 198.18.255.1:80 -r 198.19.0.1:80 -m",
        "-a -t 198.18.255.1:80 -r 198.19.0.2:80 -m",
    ]


def test_flows_of_udp_are_forgotten_as_soon_as_is_asked_for() -> None:
    asked = told(opened(protocol="udp", udp_timeout="5s"))
    assert asked[1] == "-A -u 198.18.255.1:80 -s rr"
    assert asked[-1] == "--set 0 0 5"
    assert not any("-t" in line for line in asked)
    with pytest.raises(ValidationError, match="in whole seconds"):
        opened(udp_timeout="1500ms")


def test_servers_that_answer_directly_do_so_as_who_was_called_and_the_kernel_takes_it() -> None:
    case = opened(servers=2, mode="dr")
    assert told(case)[-1] == "-a -t 198.18.255.1:80 -r 198.19.0.2:80 -g"
    assert answering_of(case).ips == ("198.18.255.1",)
    assert {
        "ipv4.conf.all.accept_local = 1",
        "ipv4.conf.all.rp_filter = 0",
        "ipv4.conf.TAP-0-1.accept_local = 1",
        "ipv4.conf.TAP-0-1.rp_filter = 0",
    } <= set(lines_of(plan_of(case)))
    rewritten = opened(servers=2)
    assert answering_of(rewritten) == servers_of(rewritten)
    assert not any("accept_local" in line for line in lines_of(plan_of(rewritten)))


def test_what_is_tried_of_a_kernel_is_what_it_is_told() -> None:
    assert set(Ipvsadm.TRIED.splitlines()) < set(told(opened()))


def test_the_testcases_of_load_balancers_are_for_it_too() -> None:
    def check(made: CaseSpec) -> None:
        assert Ipvs().plan(made, PLACEMENT).endpoints

    named = ("lb_cps", "lb_udp_cps", "lb_cps_flood", "lb_cc", "lb_pps", "lb_udp_pps", "lb_goodput")
    drivers = {**Plugins.load().specs()}
    drivers["vswitch"] = {**drivers["vswitch"], "dpvs": DpvsSpec, "ipvs": IpvsSpec}
    request = Request(named, testbed="local", sets=("vswitch.kind=ipvs",))
    cases = load_cases(request, Library.find({}, CHECKOUT), drivers)
    assert {one.spec.name for one in cases} == set(named)
    hold_each([one.spec for one in cases], check)


# What the kernel tells.


def test_service_servers_and_their_connections_are_read() -> None:
    found = table_in(TABLE)
    assert found == Table(4096, (SERVICE,), {SERVERS[1]: 1003, SERVERS[0]: 1003})
    assert found.missing(SERVICE, SERVERS) is None


def test_what_is_gone_is_named() -> None:
    found = table_in(TABLE)
    assert found.missing(SERVICE, (*SERVERS, "198.19.0.3:80")) == (
        "its server 198.19.0.3:80 is gone"
    )
    without = table_in("".join(TABLE.splitlines(keepends=True)[:3]))
    assert without == Table(4096, (), {})
    assert without.missing(SERVICE, SERVERS) == f"its service {SERVICE} is gone"


def test_connections_are_counted_in_the_numbers_of_the_kernel() -> None:
    assert connections_in(COUNTED) == 2000
    for odd in ("", "Total\nConns\n", "Total\nConns\nmany\n"):
        with pytest.raises(ComponentError, match="cannot be read"):
            connections_in(odd)


@given(st.text())
def test_whatever_the_kernel_says_is_read_or_refused_in_words(text: str) -> None:
    table_in(text)
    with suppress(ComponentError):
        connections_in(text)
