"""The plan of a VPP says everything that will be done, and touches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import PLACEMENT
from pydantic import ValidationError
from switch_cases import P2P, PVP
from vpp_cases import vpp_case

from vsperf.errors import NotReadyError, UsageError
from vsperf.record.placeholder import shown
from vsperf.record.plan import Endpoint, Placement, Step
from vsperf.vswitches.vpp.driver import Vpp, check
from vsperf.vswitches.vpp.plan import Design
from vsperf.vswitches.vpp.programs import find_programs
from vsperf.vswitches.vpp.spec import VppSpec


def steps(placement: Placement = PLACEMENT, **case: Any) -> tuple[Step, ...]:
    return Vpp().plan(vpp_case(**case), placement).steps


def configuration(placement: Placement = PLACEMENT, **case: Any) -> dict[str, list[str]]:
    """Return the lines of the start-up configuration by section."""
    lines = next(step.lines for step in steps(placement, **case) if "start-up" in step.action)
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.endswith(" {"):
            section = found.setdefault(line.removesuffix(" {"), [])
        elif line != "}":
            section.append(line.strip())
    return found


def calls(**case: Any) -> list[str]:
    return [line for step in steps(**case) if step.argv is None for line in step.lines]


def endpoints(**case: Any) -> tuple[Endpoint, ...]:
    return Vpp().plan(vpp_case(**case), PLACEMENT).endpoints


def test_the_configuration_comes_before_the_daemon_and_ports_before_ways() -> None:
    actions = [step.action for step in steps()]
    words = ["start-up configuration", "start the switch", "make the ports", "join the ports"]
    assert [word in action for word, action in zip(words, actions, strict=True)] == [True] * 4


def test_everything_of_an_instance_lies_in_its_folder() -> None:
    found = configuration()
    assert "runtime-dir RUN" in found["unix"]
    assert "cli-listen RUN/cli.sock" in found["unix"]
    assert found["socksvr"] == ["socket-name RUN/api.sock"]
    assert "socket-name RUN/stats.sock" in found["statseg"]
    assert not [line for lines in found.values() for line in lines if "/run/vpp" in line]


def test_shared_memory_carries_the_name_of_the_deployment() -> None:
    assert configuration()["api-segment"] == ["prefix NAME"]


def test_nothing_goes_to_the_log_of_the_system() -> None:
    assert "nosyslog" in configuration()["unix"]


def test_threads_run_where_they_were_placed() -> None:
    found = configuration(Placement(cpus={"pmd": (2, 5), "switch main": (0,)}))
    assert found["cpu"] == ["main-core 0", "corelist-workers 2,5"]


def test_the_main_thread_does_not_share_the_cpu_of_a_worker() -> None:
    with pytest.raises(UsageError, match="would share CPU 1"):
        steps(Placement(cpus={"pmd": (1,), "switch main": (1,)}))


def test_settings_that_name_one_cpu_for_both_are_refused() -> None:
    with pytest.raises(ValidationError, match="both name CPU 2"):
        VppSpec(kind="vpp", worker_cpus="2", main_cpu=2)


def test_the_number_of_workers_is_not_said_twice_in_different_ways() -> None:
    with pytest.raises(ValidationError, match="workers is 1, but worker_cpus names 2"):
        VppSpec(kind="vpp", workers=1, worker_cpus="2,3")


def test_only_the_plugins_that_the_ports_need_are_loaded(tmp_path: Path) -> None:
    install = an_install(tmp_path, "vhost", "memif", "acl")
    found = configuration(switch={"install": install})["plugins"]
    assert "plugin default { disable }" in found
    assert [line for line in found if "enable" in line] == ["plugin vhost_plugin.so { enable }"]


def test_more_plugins_are_loaded_where_they_are_asked_for(tmp_path: Path) -> None:
    install = an_install(tmp_path, "memif", "acl")
    found = configuration(switch={"install": install, "ports": "memif", "plugins": ["acl"]})
    assert [line for line in found["plugins"] if "enable" in line] == [
        "plugin memif_plugin.so { enable }",
        "plugin acl_plugin.so { enable }",
    ]


def test_what_an_older_version_has_built_in_is_no_plugin(tmp_path: Path) -> None:
    found = configuration(switch={"install": an_install(tmp_path, "memif")})["plugins"]
    assert not [line for line in found if "vhost" in line]


def test_buffers_come_from_hugepages_or_from_none() -> None:
    assert "page-size default-hugepage" in configuration()["buffers"]
    assert "page-size default" in configuration(switch={"hugepages": False})["buffers"]
    assert Vpp().needs(vpp_case({"hugepages": False})).hugepage_bytes == 0


def test_there_are_as_many_buffers_as_the_user_wants() -> None:
    assert "buffers-per-numa 32768" in configuration(switch={"buffers": 32768})["buffers"]
    few, many = (Vpp().needs(vpp_case({"buffers": n})).hugepage_bytes for n in (16384, 65536))
    assert many > 3 * few > 0


@pytest.mark.parametrize("role", ["vhost-user-client", "vhost-user"])
def test_a_link_without_a_device_is_a_vhost_user_port(role: str) -> None:
    found = endpoints(switch={"ports": role})
    assert [(one.kind, shown(one.address)) for one in found] == [
        (role, "RUN/phy0.sock"),
        (role, "RUN/phy1.sock"),
    ]
    made = [line for line in calls(switch={"ports": role}) if "create_vhost_user" in line]
    server = "true" if role == "vhost-user" else "false"
    assert [f"is_server={server}" in line for line in made] == [True, True]
    assert [line.endswith(f"-> {link}") for line, link in zip(made, ["phy0", "phy1"], strict=True)]


def test_the_generator_is_told_how_to_reach_a_memif() -> None:
    first, second = endpoints(switch={"ports": "memif", "ring": 2048})
    assert (first.kind, shown(first.address)) == (
        "vdev",
        "net_memif0,role=client,id=0,socket=RUN/phy0.memif,socket-abstract=no,rsize=11",
    )
    assert "net_memif1" in second.address


def test_rings_are_powers_of_two() -> None:
    with pytest.raises(ValidationError, match="1000 is no power of 2"):
        VppSpec(kind="vpp", ring=1000)


def test_a_device_of_the_kernel_is_opened_as_a_packet_socket() -> None:
    links = {
        "phy0": {"switch": "net_af_packet0,iface=veth0", "generator": "net_af_packet9,iface=veth1"}
    }
    (made,) = [line for line in calls(links=links) if "af_packet_create" in line]
    assert "host_if_name=veth0" in made
    assert "sw_interface_set_rx_mode sw_if_index=phy0 mode=1" in calls(links=links)
    assert endpoints(links=links)[0].address == "net_af_packet9,iface=veth1"


def test_a_network_card_is_given_to_dpdk_in_the_configuration() -> None:
    links = {"phy0": {"switch": "0000:3b:00.0", "generator": "0000:af:00.0"}}
    (card,) = configuration(links=links, switch={"queues": 2})["dpdk"]
    assert card.startswith("dev 0000:3b:00.0 { name phy0 num-rx-queues 2 ")
    assert "name_filter=phy0 -> phy0" in " ".join(calls(links=links))
    assert endpoints(links=links)[0].kind == "pci"


def test_a_device_of_no_known_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="which VPP cannot take"):
        steps(links={"phy0": {"switch": "afxdp:eth1", "generator": "eth2"}})


def test_a_card_of_a_machine_is_plugged_into_a_port() -> None:
    wires = Vpp().plan(vpp_case(topology=PVP), PLACEMENT).wires
    assert [(wire.machine, wire.nic, wire.kind, shown(wire.address)) for wire in wires] == [
        ("vm1", 0, "vhost-user-client", "RUN/vm1_0.sock"),
        ("vm1", 1, "vhost-user-client", "RUN/vm1_1.sock"),
    ]


def test_a_card_of_a_machine_may_be_plugged_into_a_tap() -> None:
    case = vpp_case({"machine_ports": "tap"}, topology=PVP)
    wires = Vpp().plan(case, PLACEMENT).wires
    assert [(wire.kind, shown(wire.address)) for wire in wires] == [
        ("tap", "TAP-1-0"),
        ("tap", "TAP-1-1"),
    ]


def test_machines_are_called_where_links_are_memifs() -> None:
    wires = Vpp().plan(vpp_case({"ports": "memif"}, topology=PVP), PLACEMENT).wires
    assert {wire.kind for wire in wires} == {"vhost-user-client"}


def test_routes_of_no_frame_need_a_table() -> None:
    with pytest.raises(ValidationError, match="xconnect has none"):
        VppSpec(kind="vpp", routes=10)


def test_a_plan_lists_the_first_routes_and_says_how_many_there_are() -> None:
    found = steps(switch={"forwarding": "ip4", "routes": 10_000}, topology=P2P)[-1]
    assert found.lines[0].startswith(
        "ip_route_add_del is_add=true route={table_id=1 prefix=10.128."
    )
    assert found.lines[-1] == "… and so on, 10000 for each table"


def test_filters_are_refused_with_a_reason() -> None:
    with pytest.raises(ValidationError, match="puts no filters into VPP"):
        VppSpec(kind="vpp", filters=3)


def test_a_missing_vpp_is_one_sentence_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="is not there, or is no program") as caught:
        find_programs(str(tmp_path))
    (problem,) = caught.value.problems
    assert problem.why == f"vswitch.install names {tmp_path}"
    assert problem.fix is not None and "install VPP" in problem.fix


def test_a_vpp_without_the_definitions_of_its_api_is_refused(tmp_path: Path) -> None:
    install = an_install(tmp_path, "vhost")
    with pytest.raises(NotReadyError, match="definitions of VPP's API are not"):
        find_programs(install)


def test_only_root_may_start_it() -> None:
    case = vpp_case()
    with pytest.raises(NotReadyError, match="needs root"):
        check(Design(case, VppSpec(kind="vpp"), PLACEMENT), place(), user=1000)


def test_a_socket_with_too_long_a_path_is_refused() -> None:
    with pytest.raises(NotReadyError, match="path of a socket is too long"):
        check(Design(vpp_case(), VppSpec(kind="vpp"), PLACEMENT), place("/" + "x" * 100), user=0)


def place(folder: str = "/run/vsperf/vsperf-1-abcdef") -> Any:
    class Place:
        def fill(self, text: str) -> str:
            return shown(text).replace("RUN", folder)

    return Place()


def an_install(folder: Path, *plugins: str) -> str:
    """Make a tree that looks like an installed VPP with these plugins."""
    daemon = folder / "bin" / "vpp"
    daemon.parent.mkdir()
    daemon.write_text("#!/bin/sh\n")
    daemon.chmod(0o755)
    home = folder / "lib" / "x86_64-linux-gnu" / "vpp_plugins"
    home.mkdir(parents=True)
    for name in plugins:
        (home / f"{name}_plugin.so").touch()
    return str(folder)


@pytest.mark.parametrize(
    ("flows", "forwarding", "learns"),
    [("port", "xconnect", False), ("l2", "bridge", False), ("learn", "bridge", True)],
)
def test_the_word_of_all_switches_for_forwarding_is_understood(
    flows: str, forwarding: str, learns: bool
) -> None:
    spec = VppSpec.model_validate({"kind": "vpp", "flows": flows})
    assert (spec.forwarding, spec.learns, spec.flows) == (forwarding, learns, flows)
    assert VppSpec.model_validate(spec.model_dump()) == spec


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"flows": "l4"}, "no rules of the kind flows=l4"),
        ({"flows": "learn", "forwarding": "ip4"}, "contradict"),
        ({"flows": "l2", "learn": True}, "contradict"),
    ],
)
def test_words_that_vpp_cannot_follow_are_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        VppSpec.model_validate({"kind": "vpp", **said})


def test_the_main_thread_sleeps_beside_whoever_shares_its_cpu() -> None:
    assert [line for line in configuration()["unix"] if line.startswith("poll-sleep-usec ")]
