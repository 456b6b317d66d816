"""tgen's command line and program are found and written as the settings say."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulated_cases import simulated_case

from vsperf.errors import NotReadyError, UsageError
from vsperf.record.plan import Endpoint, Placement
from vsperf.testpmd.command import lcores
from vsperf.trafficgens.dpdk_ports import Port
from vsperf.trafficgens.tgen.binary import TGEN
from vsperf.trafficgens.tgen.command import Options, command_line, port_of
from vsperf.trafficgens.tgen.driver import TgenGenerator
from vsperf.trafficgens.tgen.spec import TgenSpec
from vsperf.vnfs.process.spec import ProcessSpec

SOCKET = Path("/run/x.sock")


def endpoint(kind: str, address: str) -> Endpoint:
    return Endpoint(link="phy0", kind=kind, address=address)


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_whole_command_line() -> None:
    ports = [Port("net_ring0", "net_ring0"), Port("net_null0", "net_null0,size=60")]
    assert command_line("tgen", "vsperf-tgen-1", SOCKET, ports, Options(cpus=(2, 5))) == (
        "tgen",
        "--no-pci",
        "--in-memory",
        "--single-file-segments",
        "-m",
        "264",
        "--file-prefix=vsperf-tgen-1",
        "--lcores=0@2,1@2,2@5",
        "--vdev=net_ring0",
        "--vdev=net_null0,size=60",
        "--",
        "--control",
        "/run/x.sock",
        "--exit-without-controller",
        "--queues",
        "1",
        "--ring",
        "1024",
        "--max-frame",
        "9216",
    )


def test_of_the_pci_bus_only_the_named_cards_are_taken() -> None:
    cards = [
        port_of(endpoint("pci", "0000:AF:00.0"), 0, Options()),
        port_of(endpoint("pci", "af:00.1,mprq_en=1"), 1, Options()),
    ]
    assert [port.name for port in cards] == ["0000:af:00.0", "0000:af:00.1"]
    argv = command_line("tgen", "n", SOCKET, cards, Options())
    assert "--no-pci" not in argv
    assert "--allow=0000:af:00.0" in argv
    assert "--allow=0000:af:00.1,mprq_en=1" in argv


def test_without_hugepages_memory_is_ordinary_and_limited() -> None:
    argv = command_line("tgen", "n", SOCKET, [], Options(hugepages=False))
    assert "--no-huge" in argv
    assert "--in-memory" not in argv  # DPDK refuses the two together


def test_more_arguments_go_to_the_environment_layer() -> None:
    argv = command_line("tgen", "n", SOCKET, [], Options(extra=("--log-level=8",)))
    assert argv.index("--log-level=8") < argv.index("--")


def test_the_main_thread_shares_the_first_cpu() -> None:
    assert lcores((3,)) == "0@3,1@3"


def test_a_device_of_dpdk_is_taken_as_written() -> None:
    found = port_of(endpoint("vdev", "net_memif0,role=client"), 3, Options())
    assert found == Port("net_memif0", "net_memif0,role=client")


def test_where_a_machine_listens_tgen_plays_the_switch() -> None:
    found = port_of(endpoint("vhost-user-backend", "RUN/vm1_0.sock"), 1, Options(queues=2))
    assert found == Port("net_vhost1", "net_vhost1,iface=RUN/vm1_0.sock,queues=2,client=1")


def test_queues_of_a_machine_that_nobody_would_empty_are_refused() -> None:
    case = simulated_case(topology={"name": "v2v", "paths": [["vm1", "vm2"]]})
    machines = ProcessSpec.model_validate({"kind": "process", "queues": 2})
    case = case.model_copy(update={"vnf": machines, "generator": TgenSpec(kind="tgen")})
    plugged_in = (endpoint("vhost-user-backend", "RUN/vm1_0.sock"),)
    placement = Placement(cpus={"generator": (0,)})
    with pytest.raises(UsageError, match="serves 1 of the 2 queues") as refused:
        TgenGenerator().plan(case, plugged_in, placement)
    assert refused.value.problems[0].fix == "set generator.queues to 2, or vnf.queues to 1"
    enough = case.model_copy(update={"generator": TgenSpec(kind="tgen", queues=2)})
    assert TgenGenerator().plan(enough, plugged_in, placement)


def test_a_plan_names_the_file_that_is_replayed_and_has_nobody_answer_for_its_hosts() -> None:
    replay = {"file": "/tmp/x.pcap", "rhythm": "file"}
    case = simulated_case(traffic={"frame_size": "256B", "replay": replay})
    placement = Placement(cpus={"generator": (0,)})
    answering = case.model_copy(update={"generator": TgenSpec(kind="tgen", respond=True)})
    with pytest.raises(UsageError, match="answers for no hosts"):
        TgenGenerator().plan(answering, (), placement)
    case = case.model_copy(update={"generator": TgenSpec(kind="tgen")})
    *_, last = TgenGenerator().plan(case, (), placement)
    assert "the frames of /tmp/x.pcap, rhythm file" in last.action


def test_a_vhost_user_socket_is_spoken_to_by_virtio_user() -> None:
    found = port_of(endpoint("vhost-user", "/run/p0"), 1, Options(ring=1000, queues=2))
    assert found == Port(
        "net_virtio_user1", "net_virtio_user1,path=/run/p0,queue_size=1024,queues=2"
    )


def test_a_switch_that_calls_finds_a_server() -> None:
    found = port_of(endpoint("vhost-user-client", "/run/p0"), 0, Options())
    assert found.device.endswith(",server=1")


def test_another_kind_of_port_is_refused() -> None:
    with pytest.raises(UsageError, match="pigeon"):
        port_of(endpoint("pigeon", "x"), 0, Options())


def test_the_variable_names_the_program(tmp_path: Path) -> None:
    named = program(tmp_path / "mine")
    assert TGEN.find({"VSPERF_TGEN": str(named)}, tmp_path) == named


def test_a_variable_that_names_nothing_is_not_passed_over(tmp_path: Path) -> None:
    program(tmp_path / "build/tgen/tgen")
    with pytest.raises(NotReadyError, match="VSPERF_TGEN"):
        TGEN.find({"VSPERF_TGEN": str(tmp_path / "no")}, tmp_path)


def test_the_checkout_is_looked_at_before_the_path(tmp_path: Path) -> None:
    built = program(tmp_path / "build/tgen/tgen")
    installed = program(tmp_path / "bin/tgen")
    environment = {"PATH": str(installed.parent)}
    assert TGEN.find(environment, tmp_path) == built
    assert TGEN.find(environment, tmp_path / "elsewhere") == installed


def test_a_missing_program_comes_with_the_way_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError) as refused:
        TGEN.find({"PATH": ""}, tmp_path)
    assert "meson setup build/tgen tools/tgen" in str(refused.value.problems[0].fix)


def test_a_plan_can_be_made_before_the_program_is_built() -> None:
    assert TGEN.planned({"VSPERF_TGEN": "/nonexistent"}) == "tgen"
