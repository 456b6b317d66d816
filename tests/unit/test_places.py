"""Places at the ends of links: what goes with them, what is planned, and whose names they bear."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from config_world import planned, plans, see_refused
from exchanges import device
from simulated_cases import simulated_case

from vsperf.cli.main import run_cli
from vsperf.config.guest import AskedPlace
from vsperf.config.places import is_silent
from vsperf.deploy.exchanging import program_needs
from vsperf.deploy.places import (
    Place,
    Places,
    Seen,
    UserSpace,
    forget_paths,
    forgets_paths,
    require_room_in_host,
)
from vsperf.drivers.programs.wrk.driver import WrkSpec
from vsperf.errors import NotReadyError
from vsperf.host import veth, veths
from vsperf.host.netns import path_of
from vsperf.host.offloads import COMMANDS, HIGH, LOW, SETTINGS, against, speed_bps, speed_in
from vsperf.host.places import short_name
from vsperf.host.procfs import listens
from vsperf.host.undo import RemoveNetwork, RemoveVeth
from vsperf.host.undo_base import Reach
from vsperf.host.veths import FarEnd, handed
from vsperf.records.exchange import SERVERS
from vsperf.records.run import Endpoint

if TYPE_CHECKING:
    from vsperf.deploy.running import How
    from vsperf.drivers.vswitches.base import RunningSwitch
    from vsperf.host.workspace import Workspace

STREAM = "places_tcp_stream"
BRIDGE = ("--vswitch", "linux-bridge")
REFUSED: dict[str, tuple[tuple[str, ...], *tuple[str, ...]]] = {
    "no program": (
        (*BRIDGE, "--set", "program=null"),
        "the method stream has programs exchange data, and no `program` is given",
        "--set program.kind=iperf3",
    ),
    "a switch without such ports": (
        ("--vswitch", "testpmd"),
        "vswitch testpmd has no ports that a place can be joined to",
        "--set vswitch.kind=linux-bridge",
    ),
    "offloads of a switch that has none": (
        ("--vswitch", "ovs", "--set", "search.offloads=on"),
        "`search.offloads` is on, and vswitch ovs takes no frames",
        "--set search.offloads=off",
    ),
    "offloads of a switch whose packet sockets have none": (
        ("--vswitch", "ovs-dpdk", "--set", "search.offloads=on"),
        "`search.offloads` is on, and vswitch ovs-dpdk takes no frames",
        "--set search.offloads=off",
    ),
    "packets that OVS reads from no device out of its sight": (
        (
            *("--vswitch", "ovs", "--set", "vswitch.ports=internal"),
            *("--set", "traffic.frame_size=9018"),
        ),
        "packets of 9000 bytes do not pass a port of the kind internal",
        "--set vswitch.ports=packet",
    ),
    "pairs of devices of a bridge, which they have anyway": (
        ("--vswitch", "linux-bridge", "--set", "vswitch.ports=pair"),
        "vswitch.ports=pair says how a generator is joined",
        "leave vswitch.ports out",
    ),
    "internal ports of the kernel's datapath": (
        ("--vswitch", "ovs", "--set", "vswitch.datapath=kernel", "--set", "vswitch.ports=internal"),
        "in the kernel, ports are `packet`",
    ),
    "XDP sockets of the kernel's datapath": (
        ("--vswitch", "ovs", "--set", "vswitch.datapath=kernel", "--set", "vswitch.ports=afxdp"),
        "in the kernel, ports are `packet`",
    ),
    "rules for single streams": (
        ("--vswitch", "ovs", "--set", "vswitch.flows=l4"),
        "rules for single streams let no program through",
        "--set vswitch.flows=port",
    ),
    "turns of milliseconds": (
        ("--vswitch", "ovs,ovs-dpdk", "--set", "search.kind=paired"),
        "the method paired sends frames in turns, and no programs exchange data",
        "a stream of TCP comes to no rate in them",
        "such as the testcase's own",
        "--vswitch A,B --repeat 4`, and then `vsperf compare latest --by vswitch`",
    ),
    "frames of the generator": (
        (*BRIDGE, "--set", "traffic.flows=10", "--set", "traffic.vlans=[5]"),
        "`traffic.flows` says nothing to programs",
        "`traffic.vlans` says nothing to programs",
        "leave traffic.flows out",
    ),
    "frames that no packet fits": (
        (*BRIDGE, "--set", "traffic.frame_size=64"),
        "`search.kind` is stream, and traffic.frame_size is 64B",
        "--set traffic.frame_size=1518B",
    ),
    "vnfs": (
        (*BRIDGE, "--set", "topology=pvp"),
        "programs run at the ends of links",
        "--set topology=p2p",
    ),
    "a look at the generator's ports": (
        (*BRIDGE, "--set", "collect=pacing"),
        "the collector pacing has nothing to collect here",
        "the method stream has programs send, and no generator has ports",
        "--set collect=none",
    ),
    "parts of the cache": (
        (*BRIDGE, "--set", "cache.switch=2 ways"),
        "`cache` and the method stream do not go together, so far",
        "--set cache=null",
    ),
    "a model": (
        ("--testbed", "sim"),
        "testbed sim is simulated, and the method stream has programs exchange data",
        "or this on a testbed that is real: --testbed local",
    ),
    "the host at both ends": (
        (*BRIDGE, "--set", "places.phy0.kind=host", "--set", "places.phy1.kind=host"),
        "`places` has the host at phy0, phy1",
        "it would speak with itself",
        "--set places.phy1=null",
    ),
    "a host with the memory of a guest": (
        (*BRIDGE, "--set", "places.phy1={kind: host, memory: 512}"),
        "`places.phy1.memory` says nothing to the host",
        "--set places.phy1.kind=vm",
    ),
    "a port of a program's own, of a switch that has none": (
        (*BRIDGE, "--set", "places.phy1.kind=user-space"),
        "vswitch linux-bridge has no ports that a program can have to itself",
        "--set vswitch.kind=ovs-dpdk",
    ),
    "a port of a program's own, and the kernel's stack": (
        ("--vswitch", "ovs-dpdk", "--set", "places.phy1.kind=user-space"),
        "`places` has phy1 in user space, and no program there has a stack of its own",
        "--set program.stack=user-space",
    ),
    "the memory of a guest for a program": (
        ("--vswitch", "ovs-dpdk", "--set", "places.phy1={kind: user-space, memory: 512}"),
        "`places.phy1.memory` says nothing to a program in user space",
    ),
    "a datagram of too many bytes": (
        (*BRIDGE, "--set", "search.protocol=udp", "--set", "search.write=128KiB"),
        "a datagram holds 65,507 bytes at most",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_with_places_is_refused_with_a_way_out(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words, *wanted = REFUSED[name]
    see_refused(capfd, STREAM, words, wanted)


def test_the_testcases_of_places_need_no_option_on_the_default_testbed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run_cli(["plan", "places_*", "--json"]) == 0
    planned = json.loads(capfd.readouterr().out)
    assert len(planned) >= 8
    kinds = {(case["spec"]["name"], case["spec"]["vswitch"]["kind"]) for case in planned}
    others = {name for name, kind in kinds if kind != "ovs-dpdk"}
    about_two = {"places_ovs_datapaths", "places_ovs_daemons", "places_guests_datapaths"}
    assert others == about_two, "which are about two switches"


@pytest.mark.parametrize("switch", ["linux-bridge", "ovs", "ovs-dpdk"])
def test_the_host_is_a_place_by_a_device_that_bears_the_name_of_the_deployment(
    switch: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (case,) = plans(capfd, STREAM, "--vswitch", switch, "--set", "places.phy1.kind=host")
    near, far = case["plan"]["endpoints"]
    assert (near["link"], far["link"], far["kind"]) == ("phy0", "phy1", "place")
    assert near["address"].endswith("-phy0/eth0")
    network, _, device = far["address"].partition("/")
    assert network == "", "that of the host has no name"
    assert re.search(r"TAP\W*-h-1$", device)
    actions = [step["action"] for step in case["plan"]["steps"]]
    wanted = "make a place at the end of phy1, in the network of the host: 198.19.0.1"
    assert any(action.startswith(wanted) for action in actions), actions


OWN_STACK = (*BRIDGE, "--set", "program.stack=user-space")
"""Of the server of `places_http`."""


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("--set", "search.instances=2"), "search.instances"),
        (("--set", "search.workers=2"), "search.workers"),
        (("--set", "search.keepalive=off"), "search.keepalive"),
        (("--set", "search.offloads=on"), "search.offloads"),
        (("--set", "search.pinning=apart"), "search.pinning"),
        (("--set", "traffic.direction=both"), "traffic.direction"),
        (("--set", "places.phy1.kind=host"), "places"),
    ],
)
def test_a_server_with_a_stack_of_its_own_has_one_client_and_a_silent_kernel(
    words: tuple[str, ...], path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    wanted = f"`{path}` does not go with a server that has a stack of its own"
    see_refused(capfd, "places_http", [*OWN_STACK, *words], [wanted, "program.stack=kernel"])


def test_a_server_that_polls_has_a_cpu_and_the_kernel_is_silent_where_it_is(
    capfd: pytest.CaptureFixture[str],
) -> None:
    (case,) = plans(capfd, "places_http", *OWN_STACK)
    server, client = [one for one in case["plan"]["steps"] if one["component"] == "program"][-2:]
    assert any("serve_user_space.py" in word for word in server["argv"])
    assert client["argv"][0] == "wrk"
    spec = WrkSpec.model_validate({"kind": "wrk", "stack": "user-space"})
    forward = simulated_case().traffic.model_copy(update={"direction": "forward"})
    one = simulated_case().model_copy(update={"program": spec, "traffic": forward})
    assert [link for link in one.topology.links if is_silent(one, link)] == ["phy1"]
    plain = one.model_copy(update={"program": WrkSpec.model_validate({"kind": "wrk"})})
    assert not any(is_silent(plain, link) for link in plain.topology.links)
    (need,) = (need for need in program_needs(one) if need.role == SERVERS)
    assert need.busy


OWN_PORT = (
    *("--vswitch", "ovs-dpdk", "--set", "program.stack=user-space"),
    *("--set", "places.phy1.kind=user-space"),
)
"""A server of `places_http` that has a port of the switch to itself."""


@pytest.mark.parametrize(
    ("ports", "kind", "words"),
    [
        ("vhost-user-client", "dpdkvhostuserclient", "queue_size=1024,server=1"),
        ("vhost-user", "dpdkvhostuser", "queue_size=1024"),
    ],
)
def test_a_server_with_a_stack_of_its_own_can_have_a_port_of_the_switch_to_itself(
    ports: str, kind: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (case,) = plans(capfd, "places_http", *OWN_PORT, "--set", f"vswitch.ports={ports}")
    client, server = case["plan"]["endpoints"]
    assert (client["kind"], server["kind"]) == ("place", ports)
    steps = case["plan"]["steps"]
    actions = [step["action"] for step in steps]
    assert sum("pair of devices" in action for action in actions) == 1, "that of the client"
    own = "make a place at the end of phy1, for the stack of its server, which has the port"
    assert any(action.startswith(own) for action in actions), actions
    assert f"type={kind}" in json.dumps(steps)
    (argv,) = (step["argv"] for step in steps if "start the server" in step["action"])
    assert f"net_virtio_user0,path={server['address']},{words}" in argv


def test_who_asks_is_in_a_network_of_the_kernel(capfd: pytest.CaptureFixture[str]) -> None:
    words = (*OWN_PORT[:-1], "places.phy0.kind=user-space")
    wanted = ["`places` has phy0 in user space, and no program there has a stack of its own"]
    see_refused(capfd, "places_http", words, wanted)


class Waited:
    """A switch that notes which ports were waited for."""

    def __init__(self) -> None:
        self.ports: list[tuple[str, ...]] = []

    def await_ports(self, ports: tuple[str, ...], patience_s: float) -> None:
        self.ports.append(ports)


def test_a_port_whose_other_end_comes_with_a_server_is_waited_for_in_each_exchange() -> None:

    def waited(**asked: AskedPlace) -> list[tuple[str, ...]]:
        switch = Waited()
        places = Places(simulated_case().model_copy(update={"places": asked}), {})
        places.await_ports(cast("RunningSwitch", switch), 1)
        places.prepare()
        places.prepare()
        return switch.ports

    assert waited() == [("phy0", "phy1")]
    assert waited(phy1=AskedPlace(kind="user-space")) == [("phy0",), ("phy1",), ("phy1",)]


@pytest.mark.parametrize("kind", ["vhost-user-client", "vhost-user"])
def test_a_socket_that_a_killed_server_left_is_in_nobodys_way_and_that_of_the_switch_stays(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (left := tmp_path / "phy1.sock").touch()
    place = UserSpace(
        "phy1", "x-phy1", "198.19.0.1", Endpoint(link="phy1", kind=kind, address=str(left))
    )
    monkeypatch.setattr("vsperf.deploy.places.started", lambda *asked: nullcontext(asked))
    with place.running(("tgen",), cast("How", None), cast("Workspace", None)):
        assert left.exists() is (kind == "vhost-user")


def test_who_has_no_device_counts_nothing_and_says_nothing_of_offloads() -> None:
    case, port = simulated_case(), Endpoint(link="phy1", kind="vhost-user", address="/x")
    places = Places(case, {"phy1": UserSpace("phy1", "x-phy1", "198.19.0.1", port)})
    places.join(offloads=False)
    assert (places.counts(), places.seen()) == ((), ())
    told = places.facts()["phy1"]
    assert (told["port"], told["offloads"]) == ("vhost-user", None)


def test_ovs_opens_its_end_of_a_pair_by_xdp_sockets_where_it_is_told_so(
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = ("--vswitch", "ovs", "--set", "vswitch.ports=afxdp")
    (case,) = plans(capfd, STREAM, *words)
    steps = json.dumps(case["plan"]["steps"])
    assert steps.count("type=afxdp") == 2
    assert "type=system" not in steps
    assert [one["address"] for one in case["plan"]["endpoints"]] == [
        "NAME-phy0/eth0",
        "NAME-phy1/eth0",
    ]
    assert {"pmd", "switch main"} <= set(case["plan"]["placement"]["cpus"]), "its threads poll"
    see_refused(capfd, "phy2phy_tput", words, ["vswitch.ports=afxdp is for places"])


@pytest.mark.parametrize("ports", ["internal", "tap"])
def test_a_place_is_given_the_device_of_a_port_whose_other_end_ovs_holds(
    ports: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("--vswitch", "ovs", "--set", f"vswitch.ports={ports}")
    more = ("--set", "places.phy1.kind=host", "--set", "search.offloads=[off,on]")
    off, on = plans(capfd, STREAM, *words, *more)
    near, far = off["plan"]["endpoints"]
    assert near["address"] == "NAME-phy0/eth0"
    assert re.search(r"^/TAP\W*-h-1$", far["address"]), "in the host's network by its name there"
    actions = [step["action"] for step in off["plan"]["steps"] if step["component"] == "vswitch"]
    assert not [action for action in actions if "pair of devices" in action]
    made = next(at for at, action in enumerate(actions) if action.startswith("add the bridge"))
    assert actions[made + 1 : made + 3] == [
        f"give TAP-0-{number}, whose other end it holds, to the place at phy{number}"
        for number in (0, 1)
    ]
    lines = {name: json.dumps(case["plan"]["steps"]) for name, case in (("off", off), ("on", on))}
    assert lines["off"].count(f"type={ports}") == 2
    assert "userspace-tso-enable=true" in lines["on"], "else it takes no frame that is longer"
    assert "userspace-tso-enable" not in lines["off"]


def test_an_internal_port_is_for_places(capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--vswitch", "ovs", "--set", "vswitch.ports=internal")
    wanted = ["vswitch.ports=internal is for places", "--set vswitch.ports=tap"]
    see_refused(capfd, "phy2phy_tput", words, wanted)


def test_a_device_is_given_away_and_named_in_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Named before, OVS would not see it leave; named afterwards, nobody would find it there."""
    asked: list[dict[str, Any]] = []
    talking = SimpleNamespace(link=lambda verb, **words: asked.append(words))
    monkeypatch.setattr(veths, "routes", lambda: nullcontext(talking))
    monkeypatch.setattr(socket, "if_nametoindex", {"vsp-0-1": 7}.__getitem__)
    far = FarEnd("", "vsp-h-1", "02:00:00:00:00:01", 1500)
    handed("vsp-0-1", far=far)
    (words,) = asked
    assert words.pop("net_ns_fd") > 0
    assert words == {"index": 7, "ifname": "vsp-h-1", "address": far.mac, "mtu": far.mtu}


def test_a_device_that_goes_while_it_is_removed_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def refusing() -> Iterator[Any]:
        yield SimpleNamespace(link=lambda verb, **words: None)
        raise OSError(errno.ENODEV, "No such device")

    monkeypatch.setattr(veth, "routes", refusing)
    monkeypatch.setattr(socket, "if_nametoindex", lambda name: 7)
    ends: dict[bool, AbstractContextManager[object]] = {
        False: nullcontext(),
        True: pytest.raises(OSError, match="No such device"),
    }
    for after, refused in ends.items():
        looks = iter((True, after))
        monkeypatch.setattr(veth, "is_there", lambda name, looks=looks: next(looks))
        with refused:
            veth.remove_veth("vsp-h-1")


def test_a_host_that_knows_addresses_of_places_is_none() -> None:
    require_room_in_host("phy1", lambda network: ())
    with pytest.raises(NotReadyError, match="cannot be the place at phy1") as refused:
        require_room_in_host("phy1", lambda network: ("198.18.7.0/24",))
    (problem,) = refused.value.problems
    assert "198.18.0.0/15" in (problem.why or "") and "198.18.7.0/24" in (problem.why or "")
    assert "--set places.phy1=null" in (problem.fix or "")


def test_a_network_without_a_name_is_that_of_the_program() -> None:
    assert path_of("").stat().st_ino == Path("/proc/self/ns/net").stat().st_ino
    assert path_of("other") == Path("/run/netns/other")


@pytest.mark.parametrize("switch", ["linux-bridge", "ovs", "ovs-dpdk"])
def test_one_place_exchanges_data_with_as_many_others_as_its_topology_has(
    switch: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("--vswitch", switch, "--set", "topology=star3")
    forward, reverse = plans(capfd, "places_star_stream", *words)
    for case, ways in ((forward, ("0 1", "0 2", "0 3")), (reverse, ("1 0", "2 0", "3 0"))):
        plan = case["plan"]
        assert [one["link"] for one in plan["endpoints"]] == ["phy0", "phy1", "phy2", "phy3"]
        told = [tuple(way) for way in plan["directions"]]
        assert told == [tuple(f"phy{end}" for end in way.split()) for way in ways]
        servers = [step for step in plan["steps"] if "start the server" in step["action"]]
        assert len(servers) == 3


@pytest.mark.parametrize("switch", ["linux-bridge", "ovs", "ovs-dpdk"])
def test_a_plan_names_places_programs_and_cpus_and_no_generator(
    switch: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (case,) = plans(capfd, "places_tcp_stream", "--vswitch", switch, "--set", "search.instances=2")
    plan = case["plan"]
    assert [(one["link"], one["kind"], one["address"]) for one in plan["endpoints"]] == [
        ("phy0", "place", "NAME-phy0/eth0"),
        ("phy1", "place", "NAME-phy1/eth0"),
    ]
    assert set(plan["placement"]["cpus"]) >= {"clients", "servers", "pmd"}
    assert "generator" not in plan["placement"]["cpus"]
    steps = [step for step in plan["steps"] if step["component"] == "program"]
    assert [step["action"].partition(" at ")[0] for step in steps] == [
        "start the server of instance 1",
        "start the server of instance 2",
        "start the client of instance 1",
        "start the client of instance 2",
    ]
    ports = [step["argv"][step["argv"].index("--port") + 1] for step in steps]
    assert ports == ["11001", "11002", "11001", "11002"]


def test_a_plan_has_what_runs_and_looks_beside_programs_before_them(
    capfd: pytest.CaptureFixture[str],
) -> None:
    beside = ("--set", "noise.kind=stress", "--set", "noise.near=same-cpu")
    words = (*BRIDGE, *beside, "--set", "noise.to=generator", "--set", "collect=proc")
    (case,) = plans(capfd, "places_tcp_stream", *words)
    placement = case["plan"]["placement"]["cpus"]
    assert placement["noise"] == placement["clients"]
    parts = [step["component"] for step in case["plan"]["steps"]]
    assert [one for one in parts if one in ("noise", "collector", "program")] == [
        *("noise", "collector", "program", "program"),
    ]


def test_offloads_and_instances_may_be_lists_that_make_cases(
    capfd: pytest.CaptureFixture[str],
) -> None:
    lists = ("--set", "search.offloads=[on,off]", "--set", "search.instances=[1,4]")
    code, said = planned(capfd, STREAM, *BRIDGE, *lists)
    assert code == 0, said
    for label in ("1instances-offloads-on", "4instances-offloads-off"):
        assert f"places_tcp_stream-1518B-{label}: stream" in said
    twice = ("--set", "search.offloads=[on,on]")
    see_refused(capfd, STREAM, [*BRIDGE, *twice], ["`search.offloads` holds"])


def test_whether_both_ends_share_a_cpu_may_be_a_list_that_makes_cases(
    capfd: pytest.CaptureFixture[str],
) -> None:
    made = plans(capfd, STREAM, *BRIDGE, "--set", "search.pinning=[same,apart]")
    cases = {case["spec"]["search"]["pinning"]: case for case in made}
    cpus = {name: case["plan"]["placement"]["cpus"] for name, case in cases.items()}
    assert cpus["same"]["clients"] == cpus["same"]["servers"]
    assert cpus["apart"]["clients"] != cpus["apart"]["servers"]
    assert cases["apart"]["case"] != cases["same"]["case"]
    twice = ("--set", "search.pinning=apart", "--set", "search.server_cpus=1")
    see_refused(capfd, STREAM, [*BRIDGE, *twice], ["these say by number where programs run"])


def test_a_plan_of_requests_of_http_names_the_files_of_each_server(
    capfd: pytest.CaptureFixture[str],
) -> None:
    (case,) = plans(capfd, "places_http", *BRIDGE, "--set", "search.workers=2")
    steps = [step for step in case["plan"]["steps"] if step["component"] == "program"]
    assert [step["action"].partition(" at ")[0] for step in steps] == [
        "write nginx-11001.conf, told.lua for instance 1",
        "start the server of instance 1",
        "start the client of instance 1",
    ]
    assert [step["argv"][:1] for step in steps[1:]] == [["nginx"], ["wrk"]]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--program", "iperf3"), "the program iperf3 knows no http-rr"),
        (("--set", "search.rate=1000"), "the program wrk knows no http-open"),
        (
            ("--program", "h2load", "--set", "search.keepalive=off"),
            "the program h2load knows no http-crr",
        ),
    ],
)
def test_what_a_program_does_not_exchange_is_refused(
    words: tuple[str, ...], wanted: str, capfd: pytest.CaptureFixture[str]
) -> None:
    more = ("--set", "search.connections=20")
    see_refused(capfd, "places_http", [*BRIDGE, *more, *words], [wanted])


OFF = dict.fromkeys(COMMANDS, False)
ON = dict.fromkeys(COMMANDS, True)


def test_a_device_that_does_not_take_over_what_offloads_are_to_be_is_named_with_what() -> None:
    assert against(OFF, on=False) == against(ON, on=True) == ()
    assert against({**OFF, "rx checksum": True, "scatter-gather": True}, on=False) == ()
    assert against({**OFF, "tcp segmentation": True}, on=False) == ("tcp segmentation",)
    assert against(ON, on=False)[:2] == ("tx checksum", "tcp segmentation")
    assert against({**ON, "receive coalescing": False}, on=True) == ()
    assert against(OFF, on=True) == ("tx checksum", "tcp segmentation")


def test_what_a_device_did_is_what_it_counted_between_two_looks_or_nothing() -> None:
    phy1 = Place("phy1", "NAME-phy1", "eth0", "198.19.0.2")
    places = Places(simulated_case(), {"phy1": phy1}, speeds_bps={"phy1": 10**10})
    before, after = (
        (Seen(at_ns, device("phy1", count, frames=count // 100)),)
        for at_ns, count in ((5_000, 1_000), (9_000, 4_000))
    )
    (found,) = places.used([before, after])
    assert (found.length_ns, found.speed_bps) == (4_000, 10**10)
    assert (found.counts.received_bytes, found.counts.received_frames) == (3_000, 30)
    assert places.used([before]) == places.used([]) == ()


def test_the_speed_of_a_device_is_told_in_two_halves_or_not_at_all() -> None:
    for low, high, speed in (
        (10_000, 0, 10_000_000_000),
        (0x86A0, 1, 100_000_000_000),
        (0xFFFF, 0xFFFF, None),
        (0xFFFF, 0, None),
        (0, 0, None),
    ):
        told = [0] * 18
        told[LOW], told[HIGH] = low, high
        assert speed_in(SETTINGS.pack(*told)) == speed
    assert speed_bps("no-such-device") is None


def test_no_connection_begins_with_what_one_before_it_learned_and_else_the_record_says_so(
    tmp_path: Path,
) -> None:
    setting, nowhere = tmp_path / "tcp_no_metrics_save", tmp_path / "not there" / "at all"
    setting.write_text("0\n")
    assert not forgets_paths(setting)
    forget_paths(setting)
    assert forgets_paths(setting)
    forget_paths(nowhere)
    assert not forgets_paths(nowhere)


def test_a_plan_of_latency_under_load_has_the_probe_before_streams_in_each_direction(
    capfd: pytest.CaptureFixture[str],
) -> None:
    (case,) = plans(capfd, "places_latency_under_load", *BRIDGE, "--set", "search.instances=1")
    steps = [step for step in case["plan"]["steps"] if step["component"] == "program"]
    assert [step["action"].partition(" on CPU ")[0] for step in steps] == [
        "start the server of probe at phy1",
        "start the server of instance 1 at phy1",
        "start the server of instance 2 at phy0",
        "start the client of probe at phy0",
        "start the client of instance 1 at phy0",
        "start the client of instance 2 at phy1",
    ]
    assert [step["argv"][0] for step in steps] == ["irtt", "iperf3", "iperf3"] * 2
    assert steps[0]["argv"][4].endswith(":11001")
    assert [step["argv"][step["argv"].index("--port") + 1] for step in steps[1:3]] == [
        "11002",
        "11003",
    ]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--set", "probe=null"), "has a program measure latency, and no `probe` is given"),
        (("--set", "probe.kind=iperf3"), "there is no probe driver 'iperf3'"),
        (("--program", "wrk"), "the program wrk knows no tcp-stream"),
    ],
)
def test_what_measures_latency_and_what_makes_streams_are_to_be_able_to(
    words: tuple[str, ...], wanted: str, capfd: pytest.CaptureFixture[str]
) -> None:
    see_refused(capfd, "places_latency_under_load", [*BRIDGE, *words], [wanted])


def test_a_probe_is_part_of_what_is_measured_by_those_alone_that_have_a_use_for_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def key(name: str, *words: str) -> str:
        return str(plans(capfd, name, *BRIDGE, *words)[0]["case"])

    other = ("--set", "probe.kind=irtt", "--set", "probe.path=irtt-of-mine")
    assert key("places_tcp_stream") == key("places_tcp_stream", *other)
    assert key("places_latency_under_load") != key("places_latency_under_load", *other)


def test_the_program_is_part_of_what_is_measured_and_the_generator_is_not(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def key(*words: str) -> str:
        return str(plans(capfd, "places_tcp_stream", *BRIDGE, *words)[0]["case"])

    assert key() == key("--generator", "testpmd")
    assert key() != key("--set", "program.congestion=cubic")
    assert key() != key("--set", "search.instances=2")


# What is promised to be removed belongs to the deployment, by its name.


def test_an_undo_is_for_devices_and_networks_of_its_own_deployment_only() -> None:
    name = f"vsperf-{os.getpid()}-0a1b2c"
    reach = Reach(Path("/run/vsperf") / name)
    assert RemoveNetwork(name=name).is_within(reach)
    assert RemoveNetwork(name=f"{name}-phy0").is_within(reach)
    for other in (f"{name}-../x", f"{name}-", f"{name}x", "vsperf-1-000000-phy0", "phy0"):
        assert not RemoveNetwork(name=other).is_within(reach), other
    short = short_name(name)
    for own in (f"{short}-0-1", f"{short}-h-1"):
        assert RemoveVeth(name=own).is_within(reach), own
    for other in ("eth0", f"{short}-0", "vspffffff-0-1", f"{short}-0-1x"):
        assert not RemoveVeth(name=other).is_within(reach), other


# Who listens, as the kernel has it in the network of a process.

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue
   0: 0100007F:2AF9 00000000:0000 0A 00000000:00000000
   1: 0100007F:2AFA 0100007F:A001 01 00000000:00000000
"""


def test_a_server_is_waited_for_until_the_kernel_says_that_it_listens(tmp_path: Path) -> None:
    folder = tmp_path / "7" / "net"
    folder.mkdir(parents=True)
    assert not listens(7, 11_001, tmp_path)
    (folder / "tcp6").write_text(TABLE)
    assert listens(7, 11_001, tmp_path)
    assert not listens(7, 11_002, tmp_path), "that one is connected, and takes no calls"
    assert not listens(7, 11_003, tmp_path)
    (folder / "udp").write_text(TABLE.replace(" 0A ", " 07 ").replace("2AF9", "2AFB"))
    assert listens(7, 11_003, tmp_path), "datagrams are taken from anybody"
    assert not listens(7, 11_002, tmp_path), "that one has a peer"
