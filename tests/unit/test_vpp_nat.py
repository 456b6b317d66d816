"""VPP as a NAT and as a load balancer: what it is told, what it counts, and what it forgets."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from all_wrong import hold_each
from config_world import CHECKOUT
from connection_cases import opened_through
from places import PLACEMENT
from pydantic import ValidationError
from switch_cases import PVP
from vpp_cases import vpp_case
from vpp_segment import WrittenSegment

from vsperf.config.case import CaseSpec
from vsperf.config.connections import clients_of, servers_of
from vsperf.config.loader import Request, load_cases
from vsperf.config.lookup import Library
from vsperf.deploy.deployment import Deployment
from vsperf.drivers.generators.base import ConnectionEnds, ConnectsSession
from vsperf.drivers.vswitches.base import ForgetsConnections, KeepsConnections
from vsperf.drivers.vswitches.vpp.driver import Vpp
from vsperf.drivers.vswitches.vpp.layout import ports_of
from vsperf.drivers.vswitches.vpp.nat import emptying
from vsperf.drivers.vswitches.vpp.plan import Design, buffers_of, heap_mb, plugins_of
from vsperf.drivers.vswitches.vpp.reading import Reading, reading, sessions
from vsperf.drivers.vswitches.vpp.running import RunningVpp, switch_counters
from vsperf.drivers.vswitches.vpp.segment import Segment
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.engine.connections import MeasuredConnections
from vsperf.errors import UsageError
from vsperf.methods.connections import ConnectionsAsked
from vsperf.plugins import Plugins

EVERYWHERE = 0xFFFFFFFF
CLIENTS, SERVERS = "198.18.255.254/16", "198.19.255.254/16"
"""VPP's own address in the network of each."""
TRACKED = (
    *("nat_soak", "nat_cps", "nat_pps", "nat_goodput", "nat_udp_cps", "nat_udp_pps"),
    *("nat_reconnect", "lb_udp_cps", "lb_cps", "lb_workers", "lb_cps_flood", "lb_cc", "lb_pps"),
    *("lb_goodput", "lb_udp_pps"),
)


def case(nat: str = "source", **settings: Any) -> CaseSpec:
    asked: dict[str, Any] = {"clients": 2, "servers": 3, **settings}
    return opened_through("vpp", nat=nat, **asked)


def design(made: CaseSpec) -> Design:
    assert isinstance(made.vswitch, VppSpec)
    return Design(made, made.vswitch, PLACEMENT)


def told(made: CaseSpec, message: str) -> list[dict[str, Any]]:
    """Return the fields of all calls of a message, with ports 1 and 2 towards both ends."""
    ports = {"phy0": 1, "phy1": 2}
    calls = (call for call in design(made).forwarding if call.message == message)
    return [call.filled(lambda text: text, ports) for call in calls]


def spec(**settings: Any) -> VppSpec:
    return VppSpec.model_validate({"kind": "vpp", **settings})


def test_vpp_has_an_address_at_both_ends_and_knows_all_hosts_there() -> None:
    made = case()
    addresses = told(made, "sw_interface_add_del_address")
    assert [(one["sw_if_index"], one["prefix"]) for one in addresses] == [
        (1, CLIENTS),
        (2, SERVERS),
    ]
    known = [one["neighbor"] for one in told(made, "ip_neighbor_add_del")]
    assert [(one["sw_if_index"], one["ip_address"], one["mac_address"]) for one in known] == [
        *((1, ip, clients_of(made).mac) for ip in clients_of(made).ips),
        *((2, ip, servers_of(made).mac) for ip in servers_of(made).ips),
    ]


def test_a_nat_gives_clients_its_own_address_towards_the_servers() -> None:
    (pool,) = told(case("source"), "nat44_add_del_address_range")
    assert pool["first_ip_address"] == pool["last_ip_address"] == servers_of(case()).device_ip
    assert pool["vrf_id"] == EVERYWHERE
    sides = told(case("source"), "nat44_interface_add_del_feature")
    assert [(one["sw_if_index"], one["flags"]) for one in sides] == [(1, 32), (2, 0)]


@pytest.mark.parametrize(("protocol", "number"), [("tcp", 6), ("udp", 17)])
def test_a_load_balancer_is_called_at_one_address_for_all_servers(
    protocol: str, number: int
) -> None:
    made = case("destination", protocol=protocol)
    (service,) = told(made, "nat44_add_del_lb_static_mapping")
    assert (service["external_addr"], service["external_port"]) == ("198.18.255.1", 80)
    assert (service["protocol"], service["flags"]) == (number, 4)
    assert service["local_num"] == 3
    assert [one["addr"] for one in service["locals"]] == list(servers_of(made).ips)
    assert {(one["port"], one["probability"]) for one in service["locals"]} == {(80, 1)}
    sides = told(made, "nat44_interface_add_del_feature")
    assert [(one["sw_if_index"], one["flags"]) for one in sides] == [(2, 32), (1, 0)]
    assert told(made, "nat44_add_del_address_range") == []
    assert made.vswitch is not None and getattr(made.vswitch, "shares_out", False)


def test_a_single_server_is_no_list_of_servers() -> None:
    made = case("destination", servers=1)
    assert told(made, "nat44_add_del_lb_static_mapping") == []
    (service,) = told(made, "nat44_add_del_static_mapping_v2")
    assert service["external_ip_address"] == "198.18.255.1"
    assert service["local_ip_address"] == str(servers_of(made).first_ip)
    assert service["external_sw_if_index"] == EVERYWHERE


@pytest.mark.parametrize(
    ("settings", "size", "transitory", "udp"),
    [
        ({}, 64_512, 240, 300),
        ({"sessions": 1_000, "time_wait": "5s", "udp_timeout": "7s"}, 1_000, 5, 7),
    ],
    ids=["as VPP has it", "as asked"],
)
def test_the_table_is_as_large_and_forgets_as_fast_as_asked(
    settings: dict[str, Any], size: int, transitory: int, udp: int
) -> None:
    (made,) = told(case(**settings), "nat44_ed_plugin_enable_disable")
    (times,) = told(case(**settings), "nat_set_timeouts")
    assert (made["enable"], made["sessions"]) == (True, size)
    assert (times["tcp_transitory"], times["udp"]) == (transitory, udp)
    assert times["tcp_established"] == 7440


def test_the_table_is_there_before_what_is_entered_into_it() -> None:
    for nat in ("source", "destination"):
        messages = [call.message for call in design(case(nat)).forwarding]
        begins = messages.index("nat44_ed_plugin_enable_disable")
        entered = [at for at, name in enumerate(messages) if name.startswith(("nat44_", "nat_"))]
        assert min(entered) == begins, nat


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sessions": 10}, "sessions is of a table of connections, and VPP keeps none"),
        ({"time_wait": "5s"}, "time_wait is of a table of connections"),
        ({"nat": "source", "time_wait": "500ms"}, "counted in whole seconds"),
        ({"nat": "source", "forwarding": "ip4"}, "nat=source routes between its two ports"),
        ({"nat": "source", "routes": 5}, "leave forwarding and routes out"),
        ({"nat": "none"}, "Input should be 'source' or 'destination'"),
    ],
)
def test_settings_that_a_table_of_connections_does_not_go_with_are_refused(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        spec(**settings)


def test_frames_that_begin_no_connection_are_refused() -> None:
    with pytest.raises(UsageError, match="opens no connections"):
        Vpp().plan(vpp_case({"nat": "source"}), PLACEMENT)


def test_vnfs_between_both_ends_are_refused() -> None:
    through = vpp_case(topology=PVP).topology
    with pytest.raises(UsageError, match="does not go with topology pvp"):
        Vpp().plan(case().model_copy(update={"topology": through}), PLACEMENT)


def test_more_servers_than_vpp_can_weigh_are_refused() -> None:
    Vpp().plan(case("destination", servers=255), PLACEMENT)
    Vpp().plan(case("source", servers=256), PLACEMENT)
    with pytest.raises(UsageError, match="255 servers at most"):
        Vpp().plan(case("destination", servers=256), PLACEMENT)


def test_its_ports_have_the_addresses_that_both_ends_send_to() -> None:
    """So they are the same when VPP was started anew."""
    made = case()
    assert isinstance(made.vswitch, VppSpec)
    first, second = ports_of(made, made.vswitch)
    assert (first.mac, second.mac) == (servers_of(made).mac, clients_of(made).mac)


def test_memory_and_buffers_grow_with_the_table_and_what_waits_for_a_worker() -> None:
    ports = ports_of(vpp_case(), spec())
    plain, small, large = spec(), spec(nat="source"), spec(nat="source", sessions=4_000_000)
    assert plugins_of(plain, ports) == ("vhost",)
    assert plugins_of(small, ports) == ("vhost", "nat")
    assert heap_mb(plain, ports) == heap_mb(small, ports) == 512
    assert heap_mb(large, ports) > 4_000_000 * 1_000 >> 20
    two = {"workers": 2}
    assert buffers_of(spec(**two, nat="source"), ports) > buffers_of(spec(**two), ports)


def test_a_plan_says_what_becomes_of_connections() -> None:
    for nat, words in (("source", "give clients one address"), ("destination", "choose a server")):
        (step,) = [
            one for one in Vpp().plan(case(nat), PLACEMENT).steps if "connections" in one.action
        ]
        assert words in step.action and step.lines


def test_testcases_of_nats_and_load_balancers_have_vpp_be_one() -> None:
    def check(made: CaseSpec) -> None:
        assert isinstance(made.vswitch, VppSpec)
        assert made.vswitch.nat == ("source" if made.name.startswith("nat") else "destination")
        Vpp().plan(made, PLACEMENT)

    request = Request(TRACKED, testbed="local", sets=("vswitch.kind=vpp",))
    cases = load_cases(request, Library.find({}, CHECKOUT), Plugins.load().specs())
    assert {one.spec.name for one in cases} == set(TRACKED)
    hold_each([one.spec for one in cases], check, lambda made: made.name)


# What it counts.


def counted() -> Segment:
    written = WrittenSegment()
    written.simple("/nat44-ed/total-sessions", [[0], [40], [2]])
    written.simple("/nat44-ed/in2out/slowpath/tcp", [[0, 0, 0], [0, 60, 0], [0, 7, 0]])
    written.simple("/nat44-ed/in2out/fastpath/tcp", [[0, 0, 0], [0, 200, 0], [0, 0, 0]])
    written.simple("/nat44-ed/out2in/slowpath/udp", [[0, 0, 0], [0, 0, 0], [0, 0, 0]])
    written.number("/nat44-ed/max-cfg-sessions", 64_512)
    return Segment(written.memory)


def test_connections_are_counted_by_the_way_on_which_they_began() -> None:
    found = counted().read(reading)
    assert found.translated == {
        "nat44-ed/in2out/slowpath/tcp": 67,
        "nat44-ed/in2out/fastpath/tcp": 200,
    }
    counters = switch_counters((), {}, Reading(errors={"a/b": 1}, translated=found.translated))
    assert counters.reasons == {"a/b": 1, **found.translated}


def test_the_table_of_each_worker_is_counted_and_without_one_nothing_is() -> None:
    assert counted().read(sessions) == 42
    assert Segment(WrittenSegment().memory).read(sessions) is None


# What it forgets.


class Asked:
    """A VPP that notes what it is called for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []

    def call(self, message: str, fields: Mapping[str, Any]) -> Any:
        self.asked.append((message, fields["is_add"]))
        return SimpleNamespace()

    def call_all(self, calls: Any) -> list[Any]:
        return list(calls)


def running(made: CaseSpec, api: Asked) -> RunningVpp:
    found = RunningVpp.__new__(RunningVpp)
    found.design, found.api = design(made), cast(Any, api)
    return found


SERVICE, ADDRESSES = "nat44_add_del_lb_static_mapping", "nat44_add_del_address_range"


def test_connections_are_forgotten_where_there_is_a_table_of_them() -> None:
    """What they pass by is taken away, and given back as it was."""
    for made, asked in (
        (case("destination"), [(SERVICE, False), (SERVICE, True)]),
        (case("source"), [(ADDRESSES, False), (ADDRESSES, True)]),
        (vpp_case(), []),
    ):
        api = Asked()
        running(made, api).forget_connections()
        assert api.asked == asked
    whole = design(case("destination"))
    taken, given = emptying(whole.case, whole.spec)
    assert taken.fields == {**given.fields, "is_add": False}


def test_to_forget_flows_is_to_forget_connections() -> None:
    api = Asked()
    running(case(), api).forget_flows()
    assert [given for _, given in api.asked] == [False, True]


def test_a_table_of_connections_has_no_rules_to_change() -> None:
    made = design(case())
    assert list(made.idle(range(0), add=True)) == []
    with pytest.raises(UsageError, match="no rules that could be changed"):
        list(made.idle(range(5), add=True))


def test_vpp_can_be_asked_what_it_keeps_and_told_to_forget_it() -> None:
    found = running(case(), Asked())
    assert isinstance(found, KeepsConnections) and isinstance(found, ForgetsConnections)


class Forgetful:
    """A switch that is told to forget its connections, and how often."""

    forgotten = 0

    def forget_connections(self) -> None:
        self.forgotten += 1


HELD = ConnectionsAsked(rate_cps=100, connections=10, hold_ns=1)
BY_A_CLOCK = ConnectionsAsked(rate_cps=100, connections=10, request_rps=5, requests_due=5)
OPENED = ConnectionsAsked(rate_cps=100, connections=10)


@pytest.mark.parametrize(
    ("asked", "times"), [(HELD, 1), (BY_A_CLOCK, 1), (OPENED, 0)], ids=["held", "asked", "opened"]
)
def test_a_trial_of_open_connections_begins_on_an_empty_table(
    asked: ConnectionsAsked, times: int
) -> None:
    switch = Forgetful()
    seen: list[int] = []
    generator = SimpleNamespace(connect=lambda request: seen.append(switch.forgotten))
    bench = MeasuredConnections(
        run=cast(Any, None),
        around=cast(Any, None),
        deployment=cast(Deployment, SimpleNamespace(switch=switch, vnfs=())),
        ends=cast(ConnectionEnds, None),
    )
    bench._connect(cast(ConnectsSession, generator), asked)
    assert seen == [times]
