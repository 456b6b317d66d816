"""testpmd as a switch: its ports, its command line, what it writes, what it refuses."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from bench_models import method
from places import PLACEMENT
from pydantic import ValidationError
from switch_cases import PVP, PVPV, PVVP, V2V, switch_case

from vsperf.config.case import CaseSpec
from vsperf.dpdk.command import Rings
from vsperf.dpdk.running import RunningTestpmd
from vsperf.drivers.vnfs.process.driver import ProcessVnf
from vsperf.drivers.vswitches.ports import Place
from vsperf.drivers.vswitches.testpmd.driver import RunningSwitch, TestpmdSwitch
from vsperf.drivers.vswitches.testpmd.plan import TestpmdSpec
from vsperf.engine.checks import expected, worth_a_look
from vsperf.errors import ComponentError, UsageError
from vsperf.host.process import Managed
from vsperf.records.run import Placement, shown

RING0 = "net_ring0"
SPLIT = {"name": "split", "paths": [["phy0", "vm1", "phy1"], ["phy2", "vm2", "phy3"]]}
FOUR_LINKS: dict[str, dict[str, str]] = {"phy2": {}, "phy3": {}}


def pairs_case(switch: dict[str, Any] | None = None, **sections: Any) -> CaseSpec:
    return switch_case("testpmd", switch, **sections)


def command_line(case: CaseSpec, placement: Placement = PLACEMENT) -> list[str]:
    (step,) = TestpmdSwitch().plan(case, placement).steps
    assert step.argv is not None
    return [shown(word) for word in step.argv]


def devices(case: CaseSpec) -> list[str]:
    words = command_line(case)
    return [word.partition("=")[2] for word in words if word.startswith(("--vdev", "--allow"))]


def refusal(case: CaseSpec, placement: Placement = PLACEMENT) -> UsageError:
    with pytest.raises(UsageError) as caught:
        TestpmdSwitch().plan(case, placement)
    assert caught.value.problems[0].fix
    return caught.value


def test_the_whole_command_line() -> None:
    assert command_line(pairs_case()) == [
        "dpdk-testpmd",
        "--no-pci",
        "--in-memory",
        "--single-file-segments",
        "-m",
        "128",
        "--file-prefix=NAME-testpmd",
        "--lcores=0@0,1@1",
        "--vdev=net_vhost0,iface=RUN/phy0.sock,queues=1,client=1",
        "--vdev=net_vhost1,iface=RUN/phy1.sock,queues=1,client=1",
        "--",
        "--auto-start",
        "--forward-mode=io",
        "--port-topology=paired",
        "--nb-cores=1",
        "--rxq=1",
        "--txq=1",
        "--rxd=512",
        "--txd=512",
        "--burst=32",
        "--total-num-mbufs=16384",
        "--disable-link-check",
        "--no-flush-rx",
        "--no-mlockall",
        "--stats-period=43200",
    ]


@pytest.mark.parametrize("role", ["vhost-user-client", "vhost-user"])
def test_endpoints_and_wires_are_of_the_role_that_was_chosen(role: str) -> None:
    plan = TestpmdSwitch().plan(pairs_case({"ports": role}, topology=PVP), PLACEMENT)
    assert [(end.link, end.kind, shown(end.address)) for end in plan.endpoints] == [
        ("phy0", role, "RUN/phy0.sock"),
        ("phy1", role, "RUN/phy1.sock"),
    ]
    assert [(wire.vnf, wire.nic, wire.kind, shown(wire.address)) for wire in plan.wires] == [
        ("vm1", 0, role, "RUN/vm1_0.sock"),
        ("vm1", 1, role, "RUN/vm1_1.sock"),
    ]


@pytest.mark.parametrize(
    ("topology", "links", "order"),
    [
        (PVP, None, ["phy0", "vm1_0", "phy1", "vm1_1"]),
        (PVVP, None, ["phy0", "vm1_0", "phy1", "vm2_1", "vm1_1", "vm2_0"]),
        (V2V, None, ["vm1_1", "vm2_0"]),
        (SPLIT, FOUR_LINKS, ["phy0", "vm1_0", "phy1", "vm1_1", "phy2", "vm2_0", "phy3", "vm2_1"]),
    ],
)
def test_ports_stand_beside_the_ones_that_their_frames_go_to(
    topology: dict[str, Any], links: dict[str, dict[str, str]] | None, order: list[str]
) -> None:
    case = pairs_case(topology=topology, links=links)
    found = [device.partition("iface=RUN/")[2].partition(".sock")[0] for device in devices(case)]
    assert found == order


TWO_QUEUES = ProcessVnf.Spec.model_validate({"kind": "process", "queues": 2})
CARD = {"phy0": {"switch": "0000:af:00.0", "generator": "0000:5e:00.0"}}
OF_THE_KERNEL = {"phy0": {"switch": "eth1", "generator": "net_null0"}}


@pytest.mark.parametrize(
    ("switch", "sections", "words"),
    [
        ({}, {"topology": PVPV}, ("testpmd joins ports in pairs", "frames from")),
        ({}, {"topology": {**PVP, "nics": 1}}, ("testpmd joins ports in pairs", "frames from")),
        ({"pmds": 3}, {}, ("3 forwarding threads",)),
        ({"rxqs": 2}, {}, ("generator.queues is 1",)),
        ({}, {"topology": PVP, "vnf": TWO_QUEUES}, ("vnf.queues is 2",)),
        # Of cards with VNFs behind nobody could say which port is which.
        ({}, {"links": CARD, "topology": PVP}, ("phy0 is a NIC",)),
        ({}, {"links": OF_THE_KERNEL}, ("net_af_packet0,iface=eth1",)),
        *(
            ({"forward": "macswap"}, sections, ("vswitch.forward=macswap", what))
            for sections, what in (
                ({"topology": PVP}, "vm1 in between"),
                ({"traffic": {"destination": "broadcast"}}, "more than one station"),
                ({"traffic": {"broadcasts": "1%"}}, "more than one station"),
            )
        ),
    ],
)
def test_what_it_cannot_do_is_refused_with_a_way_out(
    switch: dict[str, Any], sections: dict[str, Any], words: tuple[str, ...]
) -> None:
    error = refusal(pairs_case(switch, **sections))
    for text in words:
        assert text in error.with_why


def test_threads_run_where_they_were_placed() -> None:
    placement = Placement(cpus={"pmd": (2, 5), "switch main": (3,)})
    words = command_line(pairs_case({"pmds": 2}), placement)
    assert {"--lcores=0@3,1@2,2@5", "--nb-cores=2"} <= set(words)


def test_needs_are_a_cpu_for_each_thread_one_that_sleeps_and_the_memory_of_the_buffers() -> None:
    pmd, main = TestpmdSwitch().needs(pairs_case({"pmd_cpus": "2-3", "main_cpu": 1})).cpus
    assert (pmd.role, pmd.count, pmd.busy, pmd.pinned) == ("pmd", 2, True, (2, 3))
    assert (main.role, main.count, main.busy, main.pinned) == ("switch main", 1, False, (1,))
    assert TestpmdSwitch().needs(pairs_case()).hugepage_bytes == 128 << 20
    assert TestpmdSwitch().needs(pairs_case({"hugepages": False})).hugepage_bytes == 0
    assert TestpmdSwitch().needs(pairs_case({"memory": 300})).hugepage_bytes == 300 << 20


def test_without_hugepages_the_plan_says_so_and_memory_is_ordinary() -> None:
    case = pairs_case({"hugepages": False})
    (step,) = TestpmdSwitch().plan(case, PLACEMENT).steps
    assert "WITHOUT HUGEPAGES" in step.action
    assert "--no-huge" in command_line(case)


def test_cycles_are_counted_where_they_are_asked_for() -> None:
    assert "--record-core-cycles" not in command_line(pairs_case())
    assert "--record-core-cycles" in command_line(pairs_case({"cycles": True}))


def test_a_long_frame_fits_into_one_buffer() -> None:
    words = command_line(pairs_case(traffic={"frame_size": "9018B"}))
    assert {"--max-pkt-len=9018", "--mbuf-size=9152"} <= set(words)
    assert Rings(ports=2, threads=1, frame_bytes=9018).memory_mb > Rings(2, 1).memory_mb


def test_pins_and_count_have_to_agree() -> None:
    with pytest.raises(ValidationError, match="pmd_cpus names 2 CPUs"):
        pairs_case({"pmds": 1, "pmd_cpus": "1-2"})


def test_a_device_of_dpdk_is_handed_on_and_the_generators_end_is_that_of_the_testbed() -> None:
    links = {"phy0": {"switch": f"{RING0},x=1", "generator": "net_null7"}}
    case = pairs_case(links=links)
    assert devices(case)[0] == f"{RING0},x=1"
    first, second = TestpmdSwitch().plan(case, PLACEMENT).endpoints
    assert (first.kind, first.address, second.kind) == ("vdev", "net_null7", "vhost-user-client")


def test_cards_come_in_the_order_in_which_dpdk_finds_them() -> None:
    links = {
        "phy0": {"switch": "0000:AF:00.0", "generator": "0000:5e:00.0"},
        "phy1": {"switch": "0000:18:00.0", "generator": "0000:5e:00.1"},
    }
    case = pairs_case(links=links)
    assert devices(case) == ["0000:18:00.0", "0000:AF:00.0"]
    assert "--no-pci" not in command_line(case)


FORGETTING = {"flow_setup", "learning", "caching", "churn"}


@pytest.mark.parametrize("name", sorted(FORGETTING))
def test_what_takes_flows_or_rules_is_refused_before_anything_starts(name: str) -> None:
    more = {"rules_per_second": [10], "throughput_duration": "1s", "throughput_sum": "1s"}
    asked = method(name, **(more if name == "churn" else {}))
    case = pairs_case(search=asked.model_dump(mode="json"))
    assert "testpmd cannot be" in str(refusal(case))


def test_a_restart_needs_a_switch_that_calls() -> None:
    search = method("reset").model_dump(mode="json")
    assert TestpmdSwitch().plan(pairs_case(search=search), PLACEMENT).endpoints
    error = refusal(pairs_case({"ports": "vhost-user"}, search=search))
    assert "ports=vhost-user-client" in str(error.problems[0].fix)


def test_frames_that_are_left_alone_are_not_looked_at() -> None:
    assert not worth_a_look(pairs_case())
    assert expected(pairs_case(), "phy0 to phy1") == {}


@pytest.mark.parametrize("mode", ["mac", "macswap", "5tswap"])
def test_what_rewrites_frames_is_looked_for_where_they_arrive(mode: str) -> None:
    case = pairs_case({"forward": mode})
    assert worth_a_look(case)
    assert case.rewriting == f"vswitch.forward={mode}"
    assert f"--forward-mode={mode}" in command_line(case)


def test_the_next_hop_of_each_link_is_the_generator_there() -> None:
    case = pairs_case({"forward": "mac"})
    peers = [word for word in command_line(case) if word.startswith("--eth-peer")]
    assert peers == ["--eth-peer=0,02:00:00:00:00:01", "--eth-peer=1,02:01:00:00:00:01"]
    assert expected(case, "phy1 to phy0") == {
        "destination_mac": "02:00:00:00:00:01",
        "source_mac": "56:48:4f:53:54:00",
    }


def test_swapped_addresses_are_those_that_were_sent_the_other_way_round() -> None:
    assert expected(pairs_case({"forward": "macswap"}), "phy0 to phy1") == {
        "source_mac": "02:01:00:00:00:01",
        "destination_mac": "02:00:00:00:00:01",
    }
    found = expected(pairs_case({"forward": "5tswap"}), "phy0 to phy1")
    assert found == {
        "source_mac": "02:01:00:00:00:01",
        "destination_mac": "02:00:00:00:00:01",
        "source_ip": "198.19.0.1",
        "destination_ip": "198.18.0.1",
        "source_port": 7,
        "destination_port": 49184,
    }


@pytest.mark.parametrize(
    ("traffic", "unknown"),
    [
        ({"flows": 100}, {"destination_ip"}),
        ({"flows": 100, "vary": "mac"}, {"destination_mac"}),
        ({"flows": 100, "vary": "port"}, {"destination_port"}),
        (
            {"frame_size": "128B", "mpls": [16]},
            {"source_ip", "destination_ip", "source_port", "destination_port"},
        ),
    ],
)
def test_what_differs_from_flow_to_flow_is_not_asked_of_each_frame(
    traffic: dict[str, Any], unknown: set[str]
) -> None:
    case = pairs_case({"forward": "5tswap"}, traffic=traffic)
    plain = expected(pairs_case({"forward": "5tswap"}), "phy0 to phy1")
    found = case.arriving("phy0", "phy1")
    assert set(plain) - set(found) == unknown


# What a testpmd says over its socket becomes counters; what it does not say is missing.

COUNTED = {"ipackets": 10, "opackets": 8, "imissed": 0, "ierrors": 0, "oerrors": 0, "rx_nombuf": 0}
INFO = {"name": "net_vhost0", "mac_addr": "56:48:4F:53:54:00", "dev_started": 1}
ANSWERS: dict[str, Any] = {
    "/ethdev/stats,0": COUNTED,
    "/ethdev/stats,1": {**COUNTED, "opackets": 10},
    "/ethdev/info,0": INFO,
    "/ethdev/info,1": {**INFO, "name": "net_vhost1"},
    "/ethdev/link_status,0": {"status": "UP"},
    "/ethdev/link_status,1": {"status": "DOWN"},
}
BUSY = {"lcore_id": 1, "busy_cycles": 700, "total_cycles": 1000}
LONGEST = 1000


@contextmanager
def answering(answers: Mapping[str, Any], version: str = "DPDK 24.11") -> Iterator[Path]:
    """Give the socket; a question that nobody knows is answered with nothing."""
    with tempfile.TemporaryDirectory() as folder:  # short, as sockets need
        path = Path(folder, "t")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(str(path))
            listening.listen()
            thread = threading.Thread(target=_serve, args=(listening, answers, version))
            thread.start()
            try:
                yield path
            finally:
                listening.shutdown(socket.SHUT_RDWR)
                thread.join()


def _serve(listening: socket.socket, answers: Mapping[str, Any], version: str) -> None:
    with suppress(OSError):  # it is shut down at the end
        while True:
            connection, _ = listening.accept()
            with connection:
                connection.send(json.dumps({"version": version}).encode())
                while question := connection.recv(LONGEST).decode():
                    key = question.partition(",")[0]
                    connection.send(json.dumps({key: answers.get(question)}).encode())


class Runs:
    """A program that runs, as far as anybody asks."""

    log = Path("/nowhere")

    def wait(self, patience_s: float) -> bool:
        return False

    def failure(self) -> None:
        return None


def switch_at(path: Path, **settings: Any) -> RunningSwitch:
    spec = switch_case("testpmd", settings).vswitch
    assert isinstance(spec, TestpmdSpec)
    places = (Place("phy0"), Place("phy1"))
    testpmd = RunningTestpmd("testpmd", cast(Managed, Runs()), path, ("phy0", "phy1"))
    return RunningSwitch(spec, places, testpmd, lambda kill: testpmd, (1,))


def test_frames_are_counted_by_port_and_what_did_not_leave_by_one_that_came_by_its_partner() -> (
    None
):
    with answering(ANSWERS) as path:
        counters = switch_at(path).counters()
    assert [(port.link, port.received_frames, port.sent_frames) for port in counters.ports] == [
        ("phy0", 10, 8),
        ("phy1", 10, 10),
    ]
    assert counters.ports[0].drops == {"rx missed": 0, "rx errors": 0, "tx not taken": 2}
    assert [port.lost_on_sending for port in counters.ports] == [2, 0]
    assert counters.pmds == ()


def test_what_a_frame_costs_is_told_where_testpmd_tells_it() -> None:
    with answering({**ANSWERS, "/eal/lcore/info,1": BUSY}) as path:
        (pmd,) = switch_at(path, cycles=True).counters().pmds
        assert switch_at(path).counters().pmds == ()
        several = switch_at(path, cycles=True)
        several.cpus = (1, 2)
        assert several.counters().pmds == ()
    assert (pmd.cpu, pmd.frames, pmd.busy_cycles, pmd.idle_cycles) == (1, 20, 700, 300)


def test_an_older_testpmd_does_not_tell_and_nothing_is_made_up() -> None:
    with answering({**ANSWERS, "/eal/lcore/info,1": {"lcore_id": 1}}) as path:
        assert switch_at(path, cycles=True).counters().pmds == ()


def test_a_port_that_counts_nothing_is_an_error() -> None:
    with answering({**ANSWERS, "/ethdev/stats,1": None}) as path:
        switch = switch_at(path)
        with pytest.raises(ComponentError, match="counts nothing on one of its ports"):
            switch.counters()


def test_what_is_waited_for_is_said_by_the_name_that_the_port_has_here() -> None:
    with answering(ANSWERS) as path:
        testpmd = switch_at(path).testpmd
        assert testpmd.waiting_for() == "the link of phy1 is down"
        assert testpmd.waiting_for(("phy0",)) is None
        assert testpmd.dpdk == "DPDK 24.11"
        assert [port["name"] for port in testpmd.ports] == ["net_vhost0", "net_vhost1"]


def test_one_that_does_not_answer_is_said_to_have_failed(tmp_path: Path) -> None:
    assert "does not answer" in str(switch_at(tmp_path / "nobody").failure())
