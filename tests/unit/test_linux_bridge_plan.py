"""The kernel's bridge: which bridges a topology makes, what they are told, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import PLACEMENT
from switch_cases import PVP, PVPV, PVVP, driver_of, switch_case

from vsperf.errors import NotReadyError, UsageError
from vsperf.host.files import Roots
from vsperf.host.steering import steer
from vsperf.record.placeholder import shown
from vsperf.record.plan import Placement
from vsperf.spec.case import CaseSpec
from vsperf.trafficgens.tgen.command import Options, command_line, port_of
from vsperf.vswitches.linux_bridge.driver import LinuxBridge
from vsperf.vswitches.linux_bridge.layout import Design
from vsperf.vswitches.linux_bridge.spec import LinuxBridgeSpec


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


def test_it_is_found_by_its_kind() -> None:
    assert isinstance(driver_of("linux-bridge"), LinuxBridge)


@pytest.mark.parametrize(
    ("topology", "bridges"),
    [
        (None, {"br0": ("phy0", "phy1")}),
        (PVP, {"br0": ("phy0", "vm1_0"), "br1": ("vm1_1", "phy1")}),
        (
            PVVP,
            {"br0": ("phy0", "vm1_0"), "br1": ("vm1_1", "vm2_0"), "br2": ("vm2_1", "phy1")},
        ),
        (
            PVPV,
            {"br0": ("phy0", "vm1_0", "vm2_0"), "br1": ("vm1_1", "phy1", "vm2_1")},
        ),
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


def test_one_that_does_not_learn_is_told_of_both_ends_and_of_machines_that_rewrite() -> None:
    entries = design(bridge_case({"flows": "l2"}, topology=PVP)).entries
    assert {(entry.mac, entry.port) for entry in entries} == {
        ("02:01:00:00:00:01", "vm1_0"),
        ("52:54:00:00:01:00", "vm1_0"),
        ("02:00:00:00:00:01", "phy0"),
        ("02:01:00:00:00:01", "phy1"),
        ("52:54:00:00:01:01", "vm1_1"),
        ("02:00:00:00:00:01", "vm1_1"),
    }


def test_parallel_machines_are_told_apart_by_the_address_of_the_path() -> None:
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


def test_one_address_in_two_directions_of_one_card_is_refused() -> None:
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


def test_a_kernel_that_steers_nothing_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="has no queue"):
        steer("tap0", (1,), Roots(tmp_path))
