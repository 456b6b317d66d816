"""The plan of an OVS says everything that will be done, and touches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ovs_cases import ovs_case
from places import PLACEMENT
from pydantic import ValidationError

from vsperf.errors import NotReadyError, UsageError
from vsperf.record.placeholder import shown
from vsperf.record.plan import Endpoint, Placement, Step
from vsperf.vswitches.ovs.checks import check
from vsperf.vswitches.ovs.dpdk.design import DpdkDesign
from vsperf.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.vswitches.ovs.programs import find_programs


def steps(placement: Placement = PLACEMENT, **case: Any) -> tuple[Step, ...]:
    return OvsDpdk().plan(ovs_case(**case), placement).steps


def settings(placement: Placement = PLACEMENT, **case: Any) -> dict[str, str]:
    lines = next(step.lines for step in steps(placement, **case) if "settings" in step.action)
    return dict(line.split("=", 1) for line in lines)


def ports(**case: Any) -> list[str]:
    lines = next(step.lines for step in steps(**case) if "ports" in step.action)
    return [line for line in lines if line.startswith("port ")]


def endpoints(**case: Any) -> tuple[Endpoint, ...]:
    return OvsDpdk().plan(ovs_case(**case), PLACEMENT).endpoints


def place(folder: Path) -> Any:
    class Place:
        def fill(self, text: str) -> str:
            return text.replace("RUN", str(folder)).replace("NAME", folder.name)

    return Place()


def test_settings_come_before_the_daemon_and_ports_before_rules() -> None:
    actions = [step.action for step in steps()]
    words = ["database of its own", "serve it", "settings", "start the switch", "ports", "rules"]
    assert [word in action for word, action in zip(words, actions, strict=True)] == [True] * 6


def test_everything_of_an_instance_lies_in_its_folder() -> None:
    for step in steps():
        for word in step.argv or ():
            assert "/var/run/openvswitch" not in word
            if word.endswith((".sock", ".ctl", ".db", ".mgmt")):
                assert "RUN/" in word


def test_the_switch_has_a_network_of_its_own() -> None:
    argv = next(step.argv for step in steps() if "start the switch" in step.action)
    assert argv is not None and argv[:2] == ("unshare", "--net")


def test_a_device_of_the_kernel_is_found_in_the_network_of_the_host() -> None:
    links = {
        "phy0": {"switch": "net_af_packet0,iface=veth0", "generator": "net_af_packet9,iface=veth1"}
    }
    argv = next(step.argv for step in steps(links=links) if "start the switch" in step.action)
    assert argv is not None and argv[0] != "unshare"


def test_threads_run_where_they_were_placed() -> None:
    found = settings(Placement(cpus={"pmd": (2, 5), "switch main": (0,)}))
    assert found["pmd-cpu-mask"] == "0x24"
    assert found["dpdk-lcore-mask"] == "0x1"


def test_memory_is_taken_on_the_nodes_of_the_polling_threads_and_nowhere_else() -> None:
    placement = Placement(cpus={"pmd": (9,)}, nodes={"pmd": (1,)})
    found = settings(placement, switch={"memory": 1024})
    assert found["dpdk-socket-mem"] == found["dpdk-socket-limit"] == "0,1024"


def test_what_decides_a_number_is_written_even_at_its_default() -> None:
    found = settings()
    assert found["emc-insert-inv-prob"] == "100"
    assert found["smc-enable"] == "false"
    assert found["pmd-auto-lb"] == "false"


@pytest.mark.parametrize(("emc", "written"), [(False, "0"), (True, "100"), (1, "1"), (20, "20")])
def test_the_exact_match_cache_is_off_on_or_takes_one_in_n(emc: object, written: str) -> None:
    assert settings(switch={"emc": emc})["emc-insert-inv-prob"] == written


def test_own_settings_win() -> None:
    found = settings(switch={"other_config": {"pmd-auto-lb": "true", "max-idle": "60000"}})
    assert (found["pmd-auto-lb"], found["max-idle"]) == ("true", "60000")


def test_without_hugepages_the_plan_says_so() -> None:
    made = steps(switch={"hugepages": False})
    assert any("WITHOUT HUGEPAGES" in step.action for step in made)
    found = settings(switch={"hugepages": False})
    assert "--no-huge" in found["dpdk-extra"]
    assert "dpdk-socket-mem" not in found


def test_hugepages_are_asked_for_as_they_will_be_taken() -> None:
    needs = OvsDpdk().needs(ovs_case({"memory": 512}))
    assert needs.hugepage_bytes == 512 << 20
    assert OvsDpdk().needs(ovs_case({"hugepages": False})).hugepage_bytes == 0


def test_needs_name_busy_and_idle_threads() -> None:
    pmd, main = OvsDpdk().needs(ovs_case({"pmds": 3, "main_cpus": "0"})).cpus
    assert (pmd.role, pmd.count, pmd.busy, pmd.pinned) == ("pmd", 3, True, None)
    assert (main.role, main.count, main.busy, main.pinned) == ("switch main", 1, False, (0,))


def test_by_default_the_switch_calls_and_the_generator_listens() -> None:
    assert [(e.link, e.kind, shown(e.address)) for e in endpoints()] == [
        ("phy0", "vhost-user-client", "RUN/phy0.sock"),
        ("phy1", "vhost-user-client", "RUN/phy1.sock"),
    ]
    assert ports()[0] == (
        "port 1 phy0 type=dpdkvhostuserclient options:vhost-server-path=RUN/phy0.sock "
        "options:tx-retries-max=8"
    )


def test_the_switch_can_listen_too() -> None:
    assert [(e.kind, shown(e.address)) for e in endpoints(switch={"ports": "vhost-user"})] == [
        ("vhost-user", "RUN/phy0"),
        ("vhost-user", "RUN/phy1"),
    ]


def test_a_network_card_takes_its_queues_and_rings_from_the_settings() -> None:
    links = {"phy0": {"switch": "0000:03:00.0", "generator": "0000:04:00.0"}}
    made: dict[str, Any] = {
        "links": links,
        "switch": {"rxqs": 2, "rx_ring": 4096, "rxq_affinity": {"phy0": "0:1,1:1"}},
    }
    assert ports(**made)[0] == (
        "port 1 phy0 type=dpdk options:dpdk-devargs=0000:03:00.0 options:n_rxq=2 "
        "options:n_rxq_desc=4096 other_config:pmd-rxq-affinity=0:1,1:1"
    )
    assert endpoints(**made)[0] == Endpoint(link="phy0", kind="pci", address="0000:04:00.0")
    assert "--no-pci" not in settings(**made)["dpdk-extra"]
    assert "--no-pci" in settings()["dpdk-extra"]


def test_a_device_by_af_xdp_is_called_as_the_kernel_calls_it() -> None:
    links = {"phy0": {"switch": "afxdp:veth0", "generator": "net_af_packet0,iface=veth1"}}
    assert ports(links=links)[0].startswith("port 1 veth0 type=afxdp")


def test_a_device_that_cannot_be_taken_is_refused() -> None:
    links = {"phy0": {"switch": "eth0", "generator": "eth1"}}
    with pytest.raises(UsageError, match="'eth0' as the switch's device"):
        ports(links=links)


def test_a_cable_with_one_end_is_refused() -> None:
    with pytest.raises(UsageError, match="none at the generator's"):
        ports(links={"phy0": {"switch": "0000:03:00.0"}})


@pytest.mark.parametrize(("size", "mtu"), [("1518B", None), ("1519B", 1501), ("9018B", 9000)])
def test_longer_frames_ask_for_a_larger_mtu(size: str, mtu: int | None) -> None:
    line = ports(traffic={"frame_size": size})[0]
    assert line.endswith(f" mtu_request={mtu}") if mtu else "mtu_request" not in line


def test_affinity_of_an_unknown_link_is_refused() -> None:
    with pytest.raises(UsageError, match="names phy7"):
        ports(switch={"rxq_affinity": {"phy7": "0:1"}})


def test_affinity_to_a_cpu_where_no_thread_polls_is_refused() -> None:
    with pytest.raises(UsageError, match="names CPU 3, where no thread polls"):
        ports(switch={"rxq_affinity": {"phy0": "0:3"}})


@pytest.mark.parametrize("affinity", [f"0:{'9' * 6000}", f"{'9' * 6000}:0", "0:1," * 9, "0"])
def test_affinity_of_no_queue_or_no_cpu_is_refused_when_it_is_read(affinity: str) -> None:
    with pytest.raises(ValidationError, match="rxq_affinity"):
        OvsDpdk.Spec.model_validate({"kind": "ovs-dpdk", "rxq_affinity": {"phy0": affinity}})


def memory(**case: Any) -> int:
    return OvsDpdk().needs(ovs_case(**case)).hugepage_bytes >> 20


def test_memory_is_what_the_buffers_of_the_ports_take() -> None:
    assert settings()["dpdk-socket-mem"] == "256"
    assert memory() == 256
    assert memory(traffic={"frame_size": "9018B"}) > 500
    assert memory(links={"phy2": {}}, topology={"paths": [["phy0", "phy1"]]}) == 256
    assert memory(switch={"pmds": 8}) > 256


def test_memory_that_cannot_hold_the_buffers_is_refused_with_a_number_that_can() -> None:
    with pytest.raises(UsageError, match="memory is 64 MB") as caught:
        settings(switch={"memory": 64})
    assert "vswitch.memory=256" in (caught.value.problems[0].fix or "")
    assert settings(switch={"memory": 256})["dpdk-socket-mem"] == "256"


def test_no_cpu_for_the_polling_threads_is_refused() -> None:
    with pytest.raises(UsageError, match="no CPU was found"):
        steps(Placement())


def test_places_are_kept_for_a_rule_per_flow() -> None:
    found = settings(switch={"flows": "l3"}, traffic={"flows": 500_000})
    assert int(found["flow-limit"]) > 1_000_000
    assert "flow-limit" not in settings(switch={"flows": "l3"}, traffic={"flows": 1000})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"pmd_cpus": "1,2", "pmds": 1}, "pmd_cpus names 2 CPUs"),
        ({"pmd_cpus": "1", "main_cpus": "0-1"}, "both name CPU 1"),
        ({"rxq_affinity": {"phy0": "0-1"}}, "rxq_affinity"),
        ({"emc": -1}, "emc"),
        ({"mtu": 10_000}, "mtu"),
        ({"rxqs": 0}, "rxqs"),
        ({"ports": "vhost"}, "ports"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        OvsDpdkSpec.model_validate({"kind": "ovs-dpdk", **wrong})


def test_an_install_that_is_not_there_is_refused_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="ovs-vswitchd") as caught:
        find_programs(str(tmp_path / "ovs"))
    assert str(tmp_path / "ovs") in (caught.value.problems[0].why or "")


def test_a_user_who_is_not_root_is_told_so(tmp_path: Path) -> None:
    case = ovs_case()
    assert isinstance(case.vswitch, OvsDpdkSpec)
    with pytest.raises(NotReadyError, match="needs root"):
        check(DpdkDesign(case, case.vswitch, PLACEMENT), place(tmp_path), user=1000)


def test_a_socket_path_that_the_kernel_does_not_take_is_refused_before_anything_starts() -> None:
    case = ovs_case()
    assert isinstance(case.vswitch, OvsDpdkSpec)
    with pytest.raises(NotReadyError, match="too long") as caught:
        check(DpdkDesign(case, case.vswitch, PLACEMENT), place(Path("/" + "x" * 100)), user=0)
    assert "107" in (caught.value.problems[0].why or "")
    check(DpdkDesign(case, case.vswitch, PLACEMENT), place(Path("/run/vsperf/x")), user=0)


def test_a_bridge_that_learns_floods_its_links_only() -> None:
    assert not any("goes to all ports" in step.action for step in steps())
    last = steps(switch={"flows": "learn"})[-1]
    assert last.argv is not None
    assert last.argv[-4] == "mod-port"
    assert last.argv[-2:] == ("vsperf-br", "no-forward")
