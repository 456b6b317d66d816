"""VNFs that are processes, as they are planned: command lines, needs, and how they wait."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from simulated_cases import simulated_case
from switch_cases import PVP, PVVP
from wires import wires_of

from vsperf.config.case import CaseSpec
from vsperf.dpdk.running import Telemetry
from vsperf.drivers.vnfs.process.driver import ProcessSpec, ProcessVnf
from vsperf.drivers.vnfs.settings import by_vnf
from vsperf.errors import UsageError
from vsperf.records.run import Placement
from vsperf.trust import own_python

WAITING = "vsperf.drivers.vnfs.process.waiting"
PLACEMENT = Placement(cpus={"vm1": (2,), "vm2": (3, 4)})


def process_case(
    topology: dict[str, Any] | None = None, frame: str = "64B", **settings: Any
) -> CaseSpec:
    vnf = ProcessVnf.Spec.model_validate({"kind": "process", **settings})
    return simulated_case(topology=topology or PVP, vnf=vnf, traffic={"frame_size": frame})


def command_lines(case: CaseSpec, kind: str = "vhost-user-client") -> list[tuple[str, ...]]:
    steps = ProcessVnf().plan(case, wires_of(case, kind), PLACEMENT)
    return [step.argv or () for step in steps]


def refusal(**settings: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        process_case(**settings)
    return str(caught.value)


def test_the_whole_command_line() -> None:
    assert command_lines(process_case()) == [
        (
            "dpdk-testpmd",
            "--no-pci",
            "--in-memory",
            "--single-file-segments",
            "-m",
            "128",
            "--file-prefix=NAME-vm1",
            "--lcores=0@2,1@2",
            "--vdev=net_virtio_user0,path=RUN/vm1_0.sock,mac=52:54:00:00:01:00,queues=1,"
            "queue_size=1024,server=1",
            "--vdev=net_virtio_user1,path=RUN/vm1_1.sock,mac=52:54:00:00:01:01,queues=1,"
            "queue_size=1024,server=1",
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
            "--no-flush-rx",
            "--no-mlockall",
            "--stats-period=43200",
        )
    ]


def test_a_vnf_that_calls_waits_until_the_switch_listens() -> None:
    (argv,) = command_lines(process_case(), "vhost-user")
    sockets = ("RUN/vm1_0.sock", "RUN/vm1_1.sock")
    assert argv == (*own_python.module(WAITING, *sockets, "--"), "dpdk-testpmd", *argv[9:])
    assert not [word for word in argv if "server=1" in word]


def test_what_is_no_vhost_user_port_is_refused() -> None:
    with pytest.raises(UsageError, match="tap") as refused:
        command_lines(process_case(), "tap")
    assert "vnf_ports=vhost-user" in str(refused.value.problems[0].fix)


@pytest.mark.parametrize("forward", ["mac", "csum"])
def test_a_mode_that_writes_addresses_is_told_the_next_hops(forward: str) -> None:
    first, second = command_lines(process_case(PVVP, forward=forward))
    peers = [word for word in first if word.startswith("--eth-peer")]
    assert peers == ["--eth-peer=0,02:00:00:00:00:01", "--eth-peer=1,52:54:00:00:02:00"]
    peers = [word for word in second if word.startswith("--eth-peer")]
    assert peers == ["--eth-peer=0,52:54:00:00:01:01", "--eth-peer=1,02:01:00:00:00:01"]


def test_with_one_nic_frames_go_back_out_of_it() -> None:
    (argv,) = command_lines(process_case({**PVP, "nics": 1}))
    assert "--port-topology=loop" in argv
    assert len([word for word in argv if word.startswith("--vdev")]) == 1


@pytest.mark.parametrize("forward", ["mac", "macswap", "csum"])
def test_a_single_nic_needs_the_addresses_that_the_switch_looks_at(forward: str) -> None:
    topology = {**PVP, "nics": 1}
    with pytest.raises(UsageError, match=f"vnf.forward={forward}.*one NIC for both directions"):
        command_lines(process_case(topology, forward=forward))
    assert command_lines(process_case({**topology, "dispatch": "ip"}, forward=forward))


def test_queues_rings_and_layout_are_those_of_the_settings() -> None:
    settings: dict[str, Any] = {"queues": 2, "rx_ring": 512, "packed": True, "rx_descriptors": 256}
    (argv,) = command_lines(process_case(**settings))
    devices = [word for word in argv if word.startswith("--vdev")]
    assert all(",queues=2,queue_size=512,packed_vq=1,server=1" in device for device in devices)
    assert {"--rxq=2", "--txq=2", "--rxd=256"} <= set(argv)


def test_a_long_frame_fits_into_one_buffer() -> None:
    (argv,) = command_lines(process_case(frame="9000B"))
    assert "--max-pkt-len=9000" in argv
    assert "--mbuf-size=9152" in argv
    assert int(argv[argv.index("-m") + 1]) > 16384 * 9152 // 2**20


def test_without_hugepages_memory_is_ordinary_and_none_is_asked_for() -> None:
    case = process_case(hugepages=False)
    (argv,) = command_lines(case)
    assert "--no-huge" in argv
    assert "--in-memory" not in argv
    assert ProcessVnf().needs(case).hugepage_bytes == 0


def test_each_thread_of_each_vnf_gets_a_cpu_and_each_vnf_its_memory() -> None:
    case = process_case(PVVP, each={"vm2": {"vcpus": 2, "memory": 100}})
    needs = ProcessVnf().needs(case)
    assert [(need.role, need.count, need.busy) for need in needs.cpus] == [
        ("vm1", 1, True),
        ("vm2", 2, True),
    ]
    assert needs.hugepage_bytes == (128 + 100) << 20
    assert "--lcores=0@3,1@3,2@4" in command_lines(case)[1]


def test_each_queue_has_a_thread_unless_the_user_says_otherwise() -> None:
    (need,) = ProcessVnf().needs(process_case(queues=2)).cpus
    assert need.count == 2
    (need,) = ProcessVnf().needs(process_case(queues=2, vcpus=1)).cpus
    assert need.count == 1


@pytest.mark.parametrize(
    "topology",
    [
        {**PVP, "nics": 1},
        PVVP,
        {"name": "pvpv", "paths": [["phy0", "vm1", "phy1"], ["phy0", "vm2", "phy1"]]},
    ],
)
def test_memory_is_asked_for_the_cards_that_each_vnf_has(topology: dict[str, Any]) -> None:
    case = process_case(topology, rx_descriptors=8192, queues=2)
    given = [int(argv[argv.index("-m") + 1]) for argv in command_lines(case)]
    assert ProcessVnf().needs(case).hugepage_bytes == sum(given) << 20


def test_chosen_cpus_are_dealt_out_in_order() -> None:
    settings: dict[str, Any] = {"cpus": "4-6", "each": {"vm1": {"vcpus": 2}}}
    needs = ProcessVnf().needs(process_case(PVVP, **settings))
    assert [(need.role, need.pinned) for need in needs.cpus] == [("vm1", (4, 5)), ("vm2", (6,))]


def test_too_few_chosen_cpus_are_refused() -> None:
    with pytest.raises(UsageError, match="2 VNFs have 2 forwarding threads"):
        ProcessVnf().needs(process_case(PVVP, cpus="4"))


def test_vnfs_differ_by_override_and_by_template() -> None:
    settings: dict[str, Any] = {
        "testpmd_arguments": ["--eth-peers-configfile=/tmp/{{ vm.name }}-{{ vm.index }}"],
        "each": {"vm2": {"forward": "mac", "burst": "{{ 8 * vm.index }}"}},
    }
    first, second = command_lines(process_case(PVVP, **settings))
    assert {"--forward-mode=io", "--burst=32"} <= set(first)
    assert {"--forward-mode=mac", "--burst=16"} <= set(second)
    assert first[-1] == "--eth-peers-configfile=/tmp/vm1-1"
    assert second[-1] == "--eth-peers-configfile=/tmp/vm2-2"


def test_overrides_that_do_not_fit_are_refused_when_they_are_read() -> None:
    assert "queue of vm2" in refusal(each={"vm2": {"queue": 2}})
    assert "queues of vm2" in refusal(each={"vm2": {"queues": "many"}})
    assert "which all VNFs share" in refusal(each={"vm2": {"cpus": "1"}})
    assert "'guest' is undefined" in refusal(arguments=["{{ guest }}"])
    assert "is unsafe" in refusal(arguments=["{{ ''.__class__ }}"])


def test_an_override_for_a_vnf_that_is_not_there_is_refused() -> None:
    spec = ProcessSpec.model_validate({"kind": "process", "each": {"vm3": {}}})
    topology = simulated_case(topology=PVVP).topology
    with pytest.raises(UsageError, match="vm3, where topology pvvp has vm1, vm2"):
        by_vnf(spec, topology)


def test_what_needs_a_guest_is_refused_and_says_where_there_is_one() -> None:
    assert "kind qemu" in refusal(app="linux_bridge")


def test_a_ring_is_a_power_of_two() -> None:
    assert "no power of two" in refusal(rx_ring=1000)


def test_what_waits_for_a_socket_becomes_the_program_and_keeps_its_number() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/switch.sock"
        words = [path, "--", sys.executable, "-c", "import os; print(os.getpid())"]
        process = subprocess.Popen(own_python.module(WAITING, *words), stdout=subprocess.PIPE)
        assert process.poll() is None
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            said, _ = process.communicate(timeout=60)
        assert int(said) == process.pid


def test_a_question_is_answered_over_the_socket_and_a_bad_answer_is_an_error() -> None:
    answers = [b'{"version":"DPDK 1"}', b'{"/ethdev/list":[0,1]}', b"?"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(str(path))
            listening.listen()

            def answer() -> None:
                connection, _ = listening.accept()
                with connection:
                    connection.send(answers[0])
                    for text in answers[1:]:
                        connection.recv(100)
                        connection.send(text)

            thread = threading.Thread(target=answer)
            thread.start()
            with Telemetry(path) as telemetry:
                assert telemetry.version == "DPDK 1"
                assert telemetry.ask("/ethdev/list") == [0, 1]
                with pytest.raises(OSError, match="answers"):
                    telemetry.ask("/ethdev/stats,0")
            thread.join()
