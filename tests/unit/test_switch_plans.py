"""Switches that need little: the kernel's bridge, none, and one that others put there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from bench_models import method
from connection_cases import opened_through
from places import PLACEMENT, known_too_early
from pydantic import ValidationError
from search_models import LOADS, lossy, trial, way
from simulated_cases import simulated_case
from switch_cases import PVP, PVPV, PVVP, ran_nothing, switch_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.tgen.command import Options, command_line, most_in_flight, port_of
from vsperf.drivers.generators.tgen.driver import check_sockets
from vsperf.drivers.vswitches.base import await_ports
from vsperf.drivers.vswitches.external import ExternalSwitch
from vsperf.drivers.vswitches.ipvs.driver import Ipvs
from vsperf.drivers.vswitches.kernel_ports import NOBODY, counted, needs_of
from vsperf.drivers.vswitches.linux_bridge.driver import Design, LinuxBridge, LinuxBridgeSpec
from vsperf.drivers.vswitches.nftables.driver import Nftables
from vsperf.drivers.vswitches.none import NoSwitch
from vsperf.drivers.vswitches.ports import Place
from vsperf.drivers.vswitches.proxy.haproxy.driver import Haproxy
from vsperf.drivers.vswitches.proxy.nginx.driver import NginxStream
from vsperf.errors import ComponentError, DiedError, NotReadyError, UsageError
from vsperf.host import networks
from vsperf.host.devices import Device, Devices
from vsperf.host.files import Roots
from vsperf.host.networks import steer
from vsperf.methods.base import Method, loads_of
from vsperf.methods.fixed import FixedLoad
from vsperf.quantities.units import NANOSECONDS, CpuSet
from vsperf.records.result import Limit
from vsperf.records.run import Endpoint, Placement, shown
from vsperf.search.classify import DurationRule
from vsperf.search.fixed import load_result
from vsperf.search.verdict import Question, answer

# The kernel's bridge: which bridges a topology makes, what they are told, and what is refused.


def bridge_case(switch: dict[str, Any] | None = None, **sections: Any) -> CaseSpec:
    return switch_case("linux-bridge", switch, **sections)


def design(case: CaseSpec) -> Design:
    assert isinstance(case.vswitch, LinuxBridgeSpec)
    return Design(case, case.vswitch, PLACEMENT)


def refusal(case: CaseSpec, placement: Placement = PLACEMENT) -> UsageError:
    with pytest.raises(UsageError) as caught:
        LinuxBridge().plan(case, placement)
    assert caught.value.problems[0].fix
    return caught.value


def lines(case: CaseSpec) -> list[str]:
    return [line for step in LinuxBridge().plan(case, PLACEMENT).steps for line in step.lines]


@pytest.mark.parametrize(
    ("topology", "bridges"),
    [
        (None, {"br0": ("phy0", "phy1")}),
        (PVP, {"br0": ("phy0", "vm1_0"), "br1": ("vm1_1", "phy1")}),
        (PVVP, {"br0": ("phy0", "vm1_0"), "br1": ("vm1_1", "vm2_0"), "br2": ("vm2_1", "phy1")}),
        (PVPV, {"br0": ("phy0", "vm1_0", "vm2_0"), "br1": ("vm1_1", "phy1", "vm2_1")}),
    ],
)
def test_ports_that_frames_pass_between_share_a_bridge_and_no_others_do(
    topology: dict[str, Any] | None, bridges: dict[str, tuple[str, ...]]
) -> None:
    case = bridge_case({"flows": "l2"}, **({"topology": topology} if topology else {}))
    found = design(case).bridges
    assert {name: set(ports) for name, ports in found.items()} == {
        name: set(ports) for name, ports in bridges.items()
    }


def test_everything_carries_the_deployments_name() -> None:
    plan = LinuxBridge().plan(bridge_case(topology=PVP), PLACEMENT)
    assert "namespace NAME" in [shown(line) for step in plan.steps for line in step.lines]
    assert [(end.kind, shown(end.address)) for end in plan.endpoints] == [
        ("tap", "NAME/TAP-0-0"),
        ("tap", "NAME/TAP-0-1"),
    ]
    assert [(wire.kind, shown(wire.address)) for wire in plan.wires] == [
        ("tap", "TAP-1-0"),
        ("tap", "TAP-1-1"),
    ]


def test_a_cpu_is_asked_for_that_forwards() -> None:
    (need,) = LinuxBridge().needs(bridge_case()).cpus
    assert (need.role, need.count, need.busy, need.pinned) == ("pmd", 1, True, None)
    (need,) = LinuxBridge().needs(bridge_case({"cpus": "2-3"})).cpus
    assert (need.count, need.pinned) == (2, (2, 3))
    steps = LinuxBridge().plan(bridge_case(), PLACEMENT).steps
    assert any("have CPU 1 forward" in step.action for step in steps)


def test_one_that_learns_is_told_nothing() -> None:
    assert design(bridge_case()).entries == ()


def test_one_that_does_not_learn_is_told_of_both_ends_and_of_vnfs_that_rewrite() -> None:
    entries = design(bridge_case({"flows": "l2"}, topology=PVP)).entries
    assert {(entry.mac, entry.port) for entry in entries} == {
        ("02:01:00:00:00:01", "vm1_0"),
        ("52:54:00:00:01:00", "vm1_0"),
        ("02:00:00:00:00:01", "phy0"),
        ("02:01:00:00:00:01", "phy1"),
        ("52:54:00:00:01:01", "vm1_1"),
        ("02:00:00:00:00:01", "vm1_1"),
    }


def test_parallel_vnfs_are_told_apart_by_the_address_of_the_path() -> None:
    found = design(bridge_case({"flows": "l2"}, topology=PVPV))
    entries = {(entry.mac, entry.port) for entry in found.entries}
    assert {("02:01:00:00:00:01", "vm1_0"), ("02:01:00:00:00:02", "vm2_0")} <= entries
    assert not any(found.floods(port) for port in found.ports)


def test_a_bridge_of_two_ports_may_send_on_what_it_does_not_know() -> None:
    found = design(bridge_case({"flows": "l2"}))
    assert all(found.floods(port) for port in found.ports)


def test_one_that_learns_cannot_join_three_ports() -> None:
    error = refusal(bridge_case(topology=PVPV))
    assert "cannot join" in str(error)
    assert "vswitch.flows=l2" in str(error.problems[0].fix)


def test_one_address_in_two_directions_of_one_nic_is_refused() -> None:
    error = refusal(bridge_case({"flows": "l2"}, topology={**PVP, "nics": 1}))
    assert "one port for each address" in str(error.problems[0].why)


@pytest.mark.parametrize("dispatch", ["ip", "udp"])
def test_paths_that_differ_by_more_than_addresses_are_refused(dispatch: str) -> None:
    error = refusal(bridge_case({"flows": "l2"}, topology={**PVPV, "dispatch": dispatch}))
    assert f"topology.dispatch={dispatch}" in str(error)


def test_frames_for_everybody_have_no_way_of_their_own_between_three_ports() -> None:
    traffic = {"destination": "broadcast"}
    error = refusal(bridge_case({"flows": "l2"}, topology=PVPV, traffic=traffic))
    assert "more than one station" in str(error)
    assert LinuxBridge().plan(bridge_case(traffic=traffic), PLACEMENT).endpoints


def test_a_device_of_the_testbed_is_refused_as_its_ports_are_taps() -> None:
    links = {"phy0": {"switch": "eth1", "generator": "net_null0"}}
    assert "phy0 has a device" in str(refusal(bridge_case(links=links)))


def test_frames_that_no_tap_of_the_generator_takes_are_refused() -> None:
    assert LinuxBridge().plan(bridge_case(traffic={"frame_size": "1518B"}), PLACEMENT).steps
    assert "9018 bytes" in str(refusal(bridge_case(traffic={"frame_size": "9018B"})))


def test_the_generator_joins_the_network_of_its_taps() -> None:
    plan = LinuxBridge().plan(bridge_case(), PLACEMENT)
    filled = [end.model_copy(update={"address": f"vsperf-1-abcdef/vsp0-{n}"})
              for n, end in enumerate(plan.endpoints)]  # fmt: skip
    ports = [port_of(end, number, Options()) for number, end in enumerate(filled)]
    argv = command_line("tgen", "n", Path("/run/x"), ports, Options())
    assert argv[:4] == ("nsenter", "--net=/run/netns/vsperf-1-abcdef", "--", "tgen")
    assert "--vdev=net_tap0,iface=vsp0-0" in argv


def test_a_pair_of_devices_leads_to_a_packet_socket_in_that_network() -> None:
    plan = LinuxBridge().plan(bridge_case({"ports": "pair"}), PLACEMENT)
    assert [(end.kind, shown(end.address)) for end in plan.endpoints] == [
        ("packet", "NAME/TAP-0-0g"),
        ("packet", "NAME/TAP-0-1g"),
    ]
    assert "make a pair of devices for each link" in [step.action for step in plan.steps]
    port = port_of(plan.endpoints[1].model_copy(update={"address": "apart/tap0-1g"}), 1, Options())
    assert port.network == "apart"
    assert port.device == "net_af_packet1,iface=tap0-1g,qdisc_bypass=0,framecnt=1024"


def test_no_more_are_on_their_way_from_a_packet_socket_than_it_has_memory_for() -> None:
    pairs, taps = (
        LinuxBridge().plan(bridge_case({"ports": ports}), PLACEMENT).endpoints
        for ports in ("pair", "tap")
    )
    assert (most_in_flight(pairs), most_in_flight(taps)) == (64, 0)


def test_what_would_leave_frames_in_a_packet_socket_is_refused() -> None:
    through_vnfs = bridge_case({"ports": "pair"}, topology=PVP)
    assert "nothing but the generator at its ports" in str(refusal(through_vnfs))
    endpoints = LinuxBridge().plan(bridge_case({"ports": "pair"}), PLACEMENT).endpoints
    check_sockets(bridge_case(), endpoints, Options())
    with pytest.raises(UsageError, match="2 workers cannot send by packet sockets"):
        check_sockets(bridge_case(), endpoints, Options(cpus=(0, 1)))


def test_a_tap_of_the_host_needs_no_other_network() -> None:
    end = LinuxBridge().plan(bridge_case(), PLACEMENT).endpoints[0]
    port = port_of(end.model_copy(update={"address": "/tap0"}), 0, Options())
    assert command_line("tgen", "n", Path("/run/x"), [port], Options())[0] == "tgen"


def test_what_a_device_receives_is_handled_where_it_was_asked(tmp_path: Path) -> None:
    queue = tmp_path / "sys/class/net/tap0/queues/rx-0"
    queue.mkdir(parents=True)
    (queue / "rps_cpus").write_text("0")
    steer("tap0", (1, 33), Roots(tmp_path))
    assert (queue / "rps_cpus").read_text() == "00000002,00000002"


def test_a_kernel_that_leaves_out_a_cpu_that_was_set_apart_at_boot_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = tmp_path / "sys/class/net/tap0/queues/rx-0"
    queue.mkdir(parents=True)
    (queue / "rps_cpus").write_text("2\n")
    monkeypatch.setattr(Path, "write_text", lambda path, text: len(text))
    steer("tap0", (1,), Roots(tmp_path))
    with pytest.raises(NotReadyError, match="does not have all of these CPUs handle") as refused:
        steer("tap0", (0, 1), Roots(tmp_path))
    assert "isolcpus=" in (refused.value.problems[0].fix or "")


def test_a_kernel_that_steers_nothing_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="has no queue"):
        steer("tap0", (1,), Roots(tmp_path))


# Without a switch: the generator's ports joined to each other, and who is blamed for a loss.

NDR = DurationRule(Fraction(0), Fraction(0), NANOSECONDS, NANOSECONDS)


def none_case(switch: dict[str, Any] | None = None, **sections: Any) -> CaseSpec:
    return switch_case("none", switch, **sections)


def addresses(case: CaseSpec) -> list[str]:
    return [shown(end.address) for end in NoSwitch().plan(case, PLACEMENT).endpoints]


def test_of_each_pair_of_links_one_listens_and_the_other_calls() -> None:
    assert addresses(none_case()) == [
        "net_memif0,role=server,id=0,socket=RUN/none.sock,socket-abstract=no,rsize=10,bsize=2048",
        "net_memif1,role=client,id=0,socket=RUN/none.sock,socket-abstract=no,rsize=10,bsize=2048",
    ]


def test_pairs_of_links_do_not_meet() -> None:
    topology = {"name": "two", "paths": [["phy0", "phy3"], ["phy1", "phy2"]]}
    found = addresses(none_case(topology=topology, links={"phy2": {}, "phy3": {}}))
    ids = {word for one in found for word in one.split(",") if word.startswith("id=")}
    assert ids == {"id=0", "id=1"}
    assert [end.link for end in NoSwitch().plan(
        none_case(topology=topology, links={"phy2": {}, "phy3": {}}), PLACEMENT
    ).endpoints] == ["phy0", "phy3", "phy1", "phy2"]  # fmt: skip


def test_a_slot_holds_the_longest_frame_and_the_ring_is_as_long_as_asked() -> None:
    first, _ = addresses(none_case({"ring": 256}, traffic={"frame_size": "9018B"}))
    assert first.endswith("rsize=8,bsize=9024")


def test_a_ring_is_a_power_of_two() -> None:
    with pytest.raises(ValidationError, match="no power of two"):
        none_case({"ring": 1000})


def test_nothing_is_needed_deployed_or_counted() -> None:
    assert ran_nothing(NoSwitch(), none_case()).failure()


def test_vnfs_cannot_be_plugged_into_nothing() -> None:
    with pytest.raises(UsageError, match="vm1"):
        NoSwitch().plan(none_case(topology=PVP), PLACEMENT)


@pytest.mark.parametrize("name", ["reset", "flow_setup", "learning"])
def test_nothing_can_be_done_to_it(name: str) -> None:
    case = none_case(search=method(name).model_dump(mode="json"))
    with pytest.raises(UsageError, match="where there is no switch"):
        NoSwitch().plan(case, PLACEMENT)


def test_a_link_with_a_device_is_a_cable_of_others() -> None:
    case = none_case(links={"phy0": {"generator": "net_null0"}})
    with pytest.raises(UsageError) as caught:
        NoSwitch().plan(case, PLACEMENT)
    assert "kind=external" in str(caught.value.problems[0].fix)


def test_its_loads_know_that_there_is_no_switch() -> None:
    assert not loads_of(none_case()).switched
    assert loads_of(switch_case("testpmd")).switched


@pytest.mark.parametrize("kind", ["none", "testpmd", "linux-bridge"])
def test_the_cap_of_the_generator_says_nothing_on_what_it_is_measured_with_or_on_other_ports(
    kind: str,
) -> None:
    assert not switch_case(kind).capped
    assert simulated_case().capped


def test_a_loss_is_the_generators_and_no_switch_is_named() -> None:
    question = Question("ndr", NDR, replace(LOADS, switched=False), lambda low, high: True)
    lost = trial(10**6, NANOSECONDS, [way(10**6, lost=7)])
    found = answer(question, [lossy(999_000, 1), lost])
    assert found.limit is Limit.GENERATOR
    assert "the generator's own ports, with no switch between them, lost 7 of" in found.reason
    of_load = load_result(replace(LOADS, switched=False), [lost])
    assert of_load.limit is Limit.GENERATOR
    assert "the switch" not in of_load.reason


# An external switch is what lies between the devices that the testbed names.


def external_case(*devices: str | None, **sections: Any) -> CaseSpec:
    links = {
        f"phy{number}": {"speed": "10G", "generator": device}
        for number, device in enumerate(devices)
    }
    vswitch = ExternalSwitch.Spec.model_validate({"kind": "external"})
    testbed = {"name": "lab", "links": links}
    return simulated_case(vswitch=vswitch, testbed=testbed, **sections)


def endpoints(*devices: str | None) -> tuple[Endpoint, ...]:
    return ExternalSwitch().plan(external_case(*devices), Placement()).endpoints


def test_a_pci_address_is_a_card_of_the_generator() -> None:
    assert endpoints("0000:AF:00.0", "af:00.1,mprq_en=1") == (
        Endpoint(link="phy0", kind="pci", address="0000:AF:00.0"),
        Endpoint(link="phy1", kind="pci", address="af:00.1,mprq_en=1"),
    )


def test_a_virtual_device_is_handed_to_dpdk_as_it_is() -> None:
    devices = ("net_af_packet0,iface=eth1", "net_memif1,role=client,id=0")
    assert [(e.kind, e.address) for e in endpoints(*devices)] == [("vdev", d) for d in devices]


def test_a_link_without_a_device_is_refused_with_the_setting_that_is_missing() -> None:
    with pytest.raises(UsageError) as caught:
        endpoints("0000:03:00.0", None)
    problem = caught.value.problems[0]
    assert "phy1" in problem.what
    assert "--set testbed.links.phy1.generator=" in str(problem.fix)


def test_a_device_of_the_kernel_is_refused_with_the_way_to_take_it() -> None:
    with pytest.raises(UsageError) as caught:
        endpoints("eth1", "eth2")
    assert "net_af_packet0,iface=eth1" in str(caught.value.problems[0].fix)


def test_vnfs_cannot_be_plugged_into_it() -> None:
    topology = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
    case = external_case("net_ring0", "net_ring1", topology=topology)
    with pytest.raises(UsageError, match="vm1"):
        ExternalSwitch().plan(case, Placement())


def test_nothing_is_needed_deployed_or_known() -> None:
    case = external_case("net_ring0", "net_ring1")
    assert ran_nothing(ExternalSwitch(), case).facts() == {}


EVENT = {"kind": "fixed", "loads": ["1Mfps"], "duration": "10s", "event": "kill-switch"}


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (FixedLoad.model_validate(EVENT), "restarted"),
        (method("reset"), "restarted"),
        (method("flow_setup"), "made to forget what it has seen"),
        (method("learning"), "made to forget what it has seen"),
        (method("caching"), "made to forget what it has seen"),
        (
            method("churn", rules_per_second=[10], throughput_duration="1s", throughput_sum="1s"),
            "given other rules",
        ),
    ],
)
def test_a_method_that_does_something_to_the_switch_is_refused_before_anything_starts(
    asked: Method, what: str
) -> None:
    case = external_case("net_ring0", "net_ring1", search=asked.model_dump(mode="json"))
    with pytest.raises(UsageError, match=f"a switch that others deploy cannot be {what}"):
        ExternalSwitch().plan(case, Placement())


def test_a_method_that_only_sends_is_not_refused() -> None:
    case = external_case(
        "net_ring0", "net_ring1", search=method("back2back").model_dump(mode="json")
    )
    assert ExternalSwitch().plan(case, Placement()).endpoints


# Ports of the kernel's switches: handed over, waited for and counted by one code.

PATIENT, NOT_AT_ALL = 60.0, 0.0


def nothing() -> None:
    """Look at the other parts, which all go on."""


def test_ports_are_waited_for_until_none_is_missing() -> None:
    looks = iter((["phy0", "phy1"], ["phy1"], []))
    await_ports(lambda: next(looks), lambda: None, nothing, PATIENT, "the router")
    assert next(looks, "asked no more") == "asked no more"


def test_who_waits_in_vain_says_for_which_ports_and_what_they_miss() -> None:
    with pytest.raises(ComponentError, match="port phy0, phy1 of the router did not come up") as no:
        await_ports(
            lambda: ["phy0", "phy1"], lambda: None, nothing, NOT_AT_ALL, "the router", NOBODY
        )
    assert no.value.problems[0].why == "nobody holds the other end of its tap"


def test_a_switch_or_another_part_that_failed_is_not_waited_for() -> None:
    with pytest.raises(DiedError, match="while it took up its ports") as died:
        await_ports(lambda: ["phy0"], lambda: "its tap is gone", nothing, PATIENT, "the bridge")
    assert died.value.problems[0].why == "its tap is gone"

    def look() -> None:
        raise DiedError("the generator has ended")

    with pytest.raises(DiedError, match="the generator has ended"):
        await_ports(lambda: ["phy0"], lambda: None, look, PATIENT, "the bridge")


def test_a_port_counts_what_the_kernel_does_and_leaves_out_what_it_does_not() -> None:
    found = {"rx_packets": 7, "tx_packets": 5, "tx_dropped": 2}
    device = Device("vsp-0-0", 3, "02:00:00:00:00:01", True, None, None, found)
    port = counted(Place("phy0"), device)
    assert (port.link, port.received_frames, port.sent_frames) == ("phy0", 7, 5)
    assert port.drops == {"tx tap full": 2}


def test_one_cpu_forwards_unless_others_are_chosen() -> None:
    (one,), (chosen,) = needs_of(None).cpus, needs_of(CpuSet.of((2, 4))).cpus
    assert (one.role, one.count, one.pinned) == ("pmd", 1, None)
    assert (chosen.count, chosen.pinned) == (2, (2, 4))


def test_devices_are_told_their_cpus_before_they_leave_the_network_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[tuple[str, ...]] = []

    class Host:
        def move(self, name: str, network: str) -> None:
            done.append(("moved", name, network))

    @contextmanager
    def connected() -> Iterator[Host]:
        yield Host()

    monkeypatch.setattr(networks, "steer", lambda name, cpus: done.append(("told", name)))
    monkeypatch.setattr(Devices, "connected", connected)
    networks.hand_over({"a": "tap0", "b": "tap1"}.values(), "apart", (1,))
    assert done == [
        ("told", "tap0"),
        ("told", "tap1"),
        *(("moved", name, "apart") for name in ("tap0", "tap1")),
    ]


# Devices that connections go through, each with a network of its own: what is the same for all.

EACH_HOP = pytest.mark.parametrize(
    "hop", [Nftables(), Ipvs(), Haproxy(), NginxStream()], ids=lambda hop: str(hop.kind)
)


def called_through(hop: Any, clients: int = 1, **settings: Any) -> CaseSpec:
    case = opened_through("linux-bridge", clients=clients)
    vswitch = hop.Spec.model_validate({"kind": hop.kind, **settings})
    return case.model_copy(update={"vswitch": vswitch})


@EACH_HOP
def test_a_hop_has_the_cpus_that_were_chosen(hop: Any) -> None:
    (need,) = hop.needs(called_through(hop)).cpus
    assert (need.role, need.count, need.pinned) == ("pmd", 1, None)
    (need,) = hop.needs(called_through(hop, cpus="2-3")).cpus
    assert (need.count, need.pinned) == (2, (2, 3))


@EACH_HOP
def test_a_plan_of_a_hop_shows_all_that_is_done_and_names_nothing_of_one_run(hop: Any) -> None:
    plan = hop.plan(called_through(hop, clients=3), PLACEMENT)
    assert known_too_early(step for step in plan.steps if step.argv is None) == []
    taps = [("tap", "NAME/TAP-0-0"), ("tap", "NAME/TAP-0-1")]
    assert [(end.kind, shown(end.address)) for end in plan.endpoints] == taps
    (argv,) = (step.argv for step in plan.steps if step.argv is not None)
    assert [shown(word) for word in argv][:3] == ["nsenter", "--net=/run/netns/NAME", "--"]
    seen = {shown(line) for step in plan.steps for line in step.lines}
    assert {"TAP-0-0 is 198.18.255.254/16", "TAP-0-1 is 198.19.255.254/16"} <= seen


@EACH_HOP
def test_what_begins_no_connection_and_what_is_not_between_two_links_is_refused(hop: Any) -> None:
    def refused(case: CaseSpec, placement: Placement = PLACEMENT) -> str:
        with pytest.raises(UsageError) as caught:
            hop.plan(case, placement)
        assert caught.value.problems[0].fix
        return str(caught.value)

    opened = called_through(hop)
    frames = switch_case("linux-bridge").model_copy(update={"vswitch": opened.vswitch})
    assert "the method fixed has none" in refused(frames)
    through_a_guest = {"vswitch": opened.vswitch, "search": opened.search}
    guest = switch_case("linux-bridge", topology=PVP).model_copy(update=through_a_guest)
    assert "phy0, phy1, vm1" in refused(guest)
    assert "no CPU" in refused(opened, Placement())
    assert "settings of kind 'linux-bridge'" in refused(opened_through("linux-bridge"))
