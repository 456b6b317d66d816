"""tgen as vsperf starts and asks it: its command line, its workers, and its answers."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from machine_tree import script
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.config.traffic import Replay
from vsperf.deploy.placement import place
from vsperf.dpdk.command import lcores
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.dpdk_ports import Port
from vsperf.drivers.generators.tgen.client import Client, Gone, Silent, TgenError
from vsperf.drivers.generators.tgen.command import (
    MEMORY_BYTES,
    Options,
    command_line,
    memory_bytes,
    more_memory,
    port_of,
)
from vsperf.drivers.generators.tgen.driver import CHECKS, TgenGenerator, TgenSession, senders
from vsperf.drivers.generators.tgen.guest import GuestTgen
from vsperf.drivers.generators.tgen.process import TGEN, Tgen
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.generators.tgen.traffic import TrafficDirection, senders_each, workers_of
from vsperf.drivers.vnfs.process.driver import ProcessSpec
from vsperf.errors import ComponentError, NotReadyError, SpecError, UsageError
from vsperf.host.cpus import Cpu, CpuNeed, CpuTopology
from vsperf.host.doctor.finding import Answer, Host, Status
from vsperf.host.files import Roots
from vsperf.host.packet_sockets import Rings
from vsperf.records.run import Endpoint, Placement

# The conversation with tgen: answers, events, refusals, and every way in which it can break.

Peer = socket.socket


@pytest.fixture
def pair() -> Iterator[tuple[Client, Peer]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Client(ours), theirs


@contextmanager
def answering(peer: Peer, *lines: bytes, hang_up: bool = False) -> Iterator[None]:
    """Wait for one request, then say these lines."""

    def speak() -> None:
        request = json.loads(peer.recv(65536))
        for line in lines:
            peer.sendall(line.replace(b"ID", str(request["id"]).encode()) + b"\n")
        if hang_up:
            peer.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=speak)
    thread.start()
    yield
    thread.join()


def test_a_request_gets_its_result(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    with answering(peer, b'{"id": ID, "ok": true, "result": {"protocol": 1}}'):
        assert client.ask("hello", 5) == {"protocol": 1}


def test_something_else_is_looked_at_while_an_answer_is_waited_for(
    pair: tuple[Client, Peer],
) -> None:
    client, _ = pair

    def look() -> None:
        raise ComponentError("the switch is gone")

    client.look = look
    with pytest.raises(ComponentError, match="the switch is gone"):
        client.ask("hello", 60)


def test_events_are_told_on_the_way_and_old_answers_are_passed_over(
    pair: tuple[Client, Peer],
) -> None:
    client, peer = pair
    seen: list[Any] = []
    client.on_event = seen.append
    lines = (
        b'{"event": "stats", "id": ID, "elapsed_ns": 1}',
        b'{"id": 999, "ok": true, "result": {"old": 1}}',
        b'{"id": ID, "ok": true, "result": {}}',
    )
    with answering(peer, *lines):
        assert client.ask("trial", 5, frames=1) == {}
    assert [event["event"] for event in seen] == ["stats"]


def test_a_refusal_says_what_tgen_said(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    error = b'{"code": "bad-value", "message": "too small", "path": "streams[0].size"}'
    said = pytest.raises(TgenError, match=r"`configure`: too small at streams\[0\].size")
    with answering(peer, b'{"id": ID, "ok": false, "error": %s}' % error), said as refused:
        client.ask("configure", 5)
    assert refused.value.code == "bad-value"


def test_a_refusal_of_the_connection_is_one_of_the_request(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    peer.sendall(b'{"id": null, "ok": false, "error": {"code": "taken", "message": "busy"}}\n')
    with pytest.raises(TgenError, match="busy"):
        client.ask("hello", 5)


def test_silence_ends_at_the_deadline(pair: tuple[Client, Peer]) -> None:
    client, _ = pair
    with pytest.raises(ComponentError, match=r"did not answer `hello` within 0\.05 s"):
        client.ask("hello", 0.05)


def test_hanging_up_is_noticed_at_once(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    with answering(peer, hang_up=True), pytest.raises(Gone):
        client.ask("trial", 60)
    with pytest.raises(Gone):
        client.ask("trial", 60)


@pytest.mark.usefixtures("never_waits")
def test_events_without_end_end_at_the_deadline(pair: tuple[Client, Peer]) -> None:
    """It may be a guest that speaks in tgen's place."""
    client, peer = pair

    def speak() -> None:
        with suppress(OSError):
            while True:
                peer.sendall(b'{"event": "stats"}\n' * 100)

    thread = threading.Thread(target=speak)
    thread.start()
    with pytest.raises(Silent, match="did not answer"):
        client.ask("hello", 0.05)
    client.close()
    thread.join()


@pytest.mark.parametrize(
    "line", [b"what?", b"[1, 2]", b'{"id": ID, "ok": true', b"[" * 100_000, b'{"id": NaN}']
)
def test_an_answer_that_is_no_json_object_is_an_error(
    pair: tuple[Client, Peer], line: bytes
) -> None:
    client, peer = pair
    with answering(peer, line), pytest.raises(ComponentError, match="no JSON"):
        client.ask("hello", 5)


def test_an_answer_may_come_in_pieces(pair: tuple[Client, Peer]) -> None:
    client, peer = pair
    whole = json.dumps({"id": 1, "ok": True, "result": {"text": "x" * 300_000}}).encode() + b"\n"

    def speak() -> None:
        peer.recv(65536)
        for start in range(0, len(whole), 1000):
            peer.sendall(whole[start : start + 1000])

    thread = threading.Thread(target=speak)
    thread.start()
    assert len(client.ask("ports", 5)["text"]) == 300_000
    thread.join()


def test_what_was_said_in_time_is_read_by_one_who_was_held_up(pair: tuple[Client, Peer]) -> None:
    """As when the disk that each second is written to stands still at the end of a soak."""
    client, peer = pair
    patience_s = 0.01

    def stand_still(event: object) -> None:
        number = json.loads(peer.recv(65536))["id"]
        said = {"id": number, "ok": True, "result": {"frames": 7}}
        peer.sendall(json.dumps(said).encode() + b"\n")
        time.sleep(2 * patience_s)

    client.on_event = stand_still
    peer.sendall(b'{"event": "stats"}\n')
    assert client.ask("trial", patience_s) == {"frames": 7}


# tgen's command line and program are found and written as the settings say.

SOCKET = Path("/run/x.sock")


def endpoint(kind: str, address: str) -> Endpoint:
    return Endpoint(link="phy0", kind=kind, address=address)


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
    nics = [
        port_of(endpoint("pci", "0000:AF:00.0"), 0, Options()),
        port_of(endpoint("pci", "af:00.1,mprq_en=1"), 1, Options()),
    ]
    assert [port.name for port in nics] == ["0000:af:00.0", "0000:af:00.1"]
    argv = command_line("tgen", "n", SOCKET, nics, Options())
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


def test_each_kind_of_port_is_a_device_of_dpdk() -> None:
    def made(kind: str, address: str, **options: Any) -> Port:
        return port_of(endpoint(kind, address), 1, Options(**options))

    assert made("vdev", "net_memif0,role=client") == Port("net_memif0", "net_memif0,role=client")
    switch = made("vhost-user-backend", "RUN/vm1_0.sock", queues=2)
    assert switch == Port("net_vhost1", "net_vhost1,iface=RUN/vm1_0.sock,queues=2,client=1")
    spoken_to = "net_virtio_user1,path=/run/p0,queue_size=1024,queues=2"
    assert made("vhost-user", "/run/p0", ring=1000, queues=2).device == spoken_to
    assert made("vhost-user-client", "/run/p0").device.endswith(",server=1")
    with pytest.raises(UsageError, match="pigeon"):
        made("pigeon", "x")


def test_queues_of_a_vnf_that_nobody_would_empty_are_refused() -> None:
    case = simulated_case(topology={"name": "v2v", "paths": [["vm1", "vm2"]]})
    vnfs = ProcessSpec.model_validate({"kind": "process", "queues": 2})
    case = case.model_copy(update={"vnf": vnfs, "generator": TgenSpec(kind="tgen")})
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


def test_the_variable_names_the_program(tmp_path: Path) -> None:
    named = script(tmp_path / "mine")
    assert TGEN.find({"VSPERF_TGEN": str(named)}, tmp_path) == named


def test_a_variable_that_names_nothing_is_not_passed_over(tmp_path: Path) -> None:
    script(tmp_path / "build/tgen/tgen")
    with pytest.raises(NotReadyError, match="VSPERF_TGEN"):
        TGEN.find({"VSPERF_TGEN": str(tmp_path / "no")}, tmp_path)


def test_the_checkout_is_looked_at_before_the_path(tmp_path: Path) -> None:
    built = script(tmp_path / "build/tgen/tgen")
    installed = script(tmp_path / "bin/tgen")
    environment = {"PATH": str(installed.parent)}
    assert TGEN.find(environment, tmp_path) == built
    assert TGEN.find(environment, tmp_path / "elsewhere") == installed


def test_a_missing_program_comes_with_the_way_to_build_it(tmp_path: Path) -> None:
    (tmp_path / "tools/tgen").mkdir(parents=True)
    with pytest.raises(NotReadyError) as refused:
        TGEN.find({"PATH": ""}, tmp_path)
    assert "meson setup build/tgen tools/tgen" in str(refused.value.problems[0].fix)


def test_a_plan_can_be_made_before_the_program_is_built() -> None:
    assert TGEN.planned({"VSPERF_TGEN": "/nonexistent"}) == "tgen"


# How many workers send each direction, and where they run, on machines larger than this one.

ENDPOINTS = tuple(Endpoint(link=f"phy{n}", kind="vhost-user", address=f"p{n}") for n in range(2))
TWO = CpuTopology(tuple(Cpu(number, core=number) for number in range(2)))
EIGHT = CpuTopology(tuple(Cpu(number, core=number) for number in range(8)))
SIXTY_FOUR = CpuTopology(
    tuple(Cpu(number, node=number % 32 // 16, core=number % 32) for number in range(64))
)
"""Two nodes of 16 cores with two threads each."""


def case(topology: dict[str, Any] | None = None, **settings: Any) -> CaseSpec:
    generator = TgenSpec.model_validate({"kind": "tgen", **settings})
    sections = {"topology": topology} if topology else {}
    return simulated_case(**sections).model_copy(update={"generator": generator})


def placed(asked: CaseSpec, topology: CpuTopology, pmds: int = 1) -> Placement:
    needs = TgenGenerator().needs(asked).cpus
    main = CpuNeed("switch main", 1, busy=False)
    return place([CpuNeed("pmd", pmds), main, *needs], topology)


def steps(asked: CaseSpec, placement: Placement) -> list[str]:
    return [step.action for step in TgenGenerator().plan(asked, ENDPOINTS, placement)]


@pytest.mark.parametrize(
    ("workers", "ways", "queues", "expected"),
    [
        (1, 2, 1, 1),
        (1, 2, 8, 1),
        (2, 2, 8, 1),
        (8, 2, 1, 1),
        (8, 2, 2, 2),
        (8, 1, 8, 4),
        (32, 2, 16, 8),
        (64, 2, 16, 16),
        (5, 1, 4, 2),
    ],
)
def test_those_that_send_share_the_ways(
    workers: int, ways: int, queues: int, expected: int
) -> None:
    assert senders_each(workers, ways, queues) == expected


def test_one_worker_is_no_word_of_a_stream() -> None:
    assert (workers_of(1), workers_of(3)) == ({}, {"workers": 3})


@pytest.mark.parametrize("topology", [TWO, EIGHT, SIXTY_FOUR], ids=["2", "8", "64"])
def test_unless_told_one_worker_does_all_on_any_machine(topology: CpuTopology) -> None:
    asked = case()
    placement = placed(asked, topology)
    assert len(placement.of("generator")) == 1
    start, configure = steps(asked, placement)
    assert "sends" not in start
    assert "workers" not in configure
    assert TgenGenerator().needs(asked).hugepage_bytes == MEMORY_BYTES


def test_on_eight_cpus_two_workers_send_each_direction_and_nobody_shares_a_cpu() -> None:
    asked = case(workers=6, queues=2)
    placement = placed(asked, EIGHT)
    cpus = placement.of("generator")
    assert len({*cpus, *placement.of("pmd")}) == 7
    assert not any("functional only" in note for note in placement.notes)
    one_way = asked.model_copy(
        update={"traffic": asked.traffic.model_copy(update={"direction": "forward"})}
    )
    start, configure = steps(one_way, placement)
    sending, receiving = (", ".join(map(str, half)) for half in (cpus[:3], cpus[3:]))
    assert start.endswith(f"; {sending} sends, {receiving} receives")
    assert configure.endswith("each by 2 workers with a queue of their own")
    assert "workers" not in steps(asked, placement)[1]  # three that send are one for each of two


def test_on_sixty_four_cpus_seven_send_each_direction_from_a_core_each() -> None:
    asked = case(workers=28, queues=8)
    placement = placed(asked, SIXTY_FOUR, pmds=2)
    cpus = placement.of("generator")
    assert len(set(cpus)) == 28
    cores = [SIXTY_FOUR[cpu].core for cpu in (*cpus, *placement.of("pmd"))]
    assert len(set(cores)) == len(cores)
    assert "each by 7 workers" in steps(asked, placement)[1]
    more = case(workers=32, queues=16)
    assert "each by 8 workers" in steps(more, placed(more, SIXTY_FOUR))[1]


def test_more_workers_than_cpus_are_refused() -> None:
    with pytest.raises(SpecError, match="4 CPUs are wanted for generator, and there are 2"):
        placed(case(workers=4), TWO)


def test_cpus_by_hand_say_how_many_workers_there_are() -> None:
    asked = case(cpus="1-4", workers=2, queues=2)
    (need,) = TgenGenerator().needs(asked).cpus
    assert (need.count, need.pinned) == (4, (1, 2, 3, 4))


def test_a_vnf_with_one_queue_is_sent_to_by_one_worker() -> None:
    asked = case(topology={"name": "v2v", "paths": [["vm1", "vm2"]]}, queues=4)
    vnfs = ProcessSpec.model_validate({"kind": "process", "queues": 2})
    options = Options(cpus=tuple(range(32)), queues=4)
    assert senders(asked, options) == 1
    assert senders(asked.model_copy(update={"vnf": vnfs}), options) == 2


def test_a_file_is_replayed_by_one_worker() -> None:
    asked = case(queues=4)
    replay = Replay(file="/tmp/seen.pcap")
    traffic = asked.traffic.model_copy(update={"replay": replay})
    options = Options(cpus=tuple(range(8)), queues=4)
    assert senders(asked, options) == 2
    assert senders(asked.model_copy(update={"traffic": traffic}), options) == 1


def test_memory_grows_with_workers_and_queues() -> None:
    assert memory_bytes(1, 1, 1024) == MEMORY_BYTES
    sizes = [more_memory(workers, queues, 1024) for workers, queues in ((2, 1), (2, 2), (16, 8))]
    assert sizes == sorted(set(sizes))
    assert all(size % (2 << 20) == 0 for size in sizes)


def test_without_hugepages_memory_grows_as_well() -> None:
    options = Options(cpus=(0, 1), queues=2, hugepages=False)
    argv = command_line("tgen", "n", Path("/run/x.sock"), [], options)
    taken = int(argv[argv.index("-m") + 1])
    assert taken == 512 + (more_memory(2, 2, 1024) >> 20) > 512


# A tgen that gives no answer: it is said how it ended, and building it is no advice for a kill.


def found_of(folder: Path, text: str) -> Answer:
    program = script(folder / "tgen", text)
    (check,) = CHECKS
    answer = check.ask(Host(environment={"VSPERF_TGEN": str(program), "PATH": "/bin"}))
    assert answer.status is Status.FAILURE
    return answer


@pytest.mark.parametrize(
    ("signal", "advice"),
    [("KILL", "try again"), ("TERM", "try again"), ("XFSZ", "ulimit -f"), ("ILL", "meson setup")],
)
def test_who_killed_it_is_said_and_what_helps(tmp_path: Path, signal: str, advice: str) -> None:
    answer = found_of(tmp_path, f"kill -{signal} $$")
    assert f"was killed by SIG{signal}" in answer.evidence
    assert advice in str(answer.fix)


def test_one_that_ends_without_an_answer_is_quoted(tmp_path: Path) -> None:
    answer = found_of(tmp_path, "echo 'libdpdk.so.99: not found' >&2; exit 127")
    assert "ended with exit code 127" in answer.evidence
    assert "its last words: libdpdk.so.99: not found" in answer.evidence
    assert "meson setup" in str(answer.fix)


def test_what_is_no_program_for_this_machine_is_to_be_built(tmp_path: Path) -> None:
    (program := tmp_path / "tgen").write_bytes(b"\x7fELF\0")
    program.chmod(0o755)
    (check,) = CHECKS
    answer = check.ask(Host(environment={"VSPERF_TGEN": str(program)}))
    assert "cannot be started" in answer.evidence
    assert "meson setup" in str(answer.fix)


# DPDK goes on with fewer ports than it was asked for; tgen and vsperf do not.

ANSWER = {"ports": [{"name": "0000:00:02.0", "port": 1, "link_up": True}]}


@pytest.fixture(name="tgen")
def fixture_tgen(monkeypatch: pytest.MonkeyPatch) -> GuestTgen:
    """Give a tgen in a guest, whose ports are not those that it was started with."""
    program: Any = None
    monkeypatch.setattr(GuestTgen, "ask", lambda tgen, verb: ANSWER)
    return GuestTgen("tgen-vm", Path("none"), program)


def port(name: str) -> Port:
    return Port(name=name, device=name, pci=True)


def test_a_port_has_the_number_that_dpdk_gave_it(tgen: GuestTgen) -> None:
    assert tgen.port_numbers({"east": port("0000:00:02.0")}) == {"east": 1}


def test_a_port_that_a_guest_does_not_have_is_named(tgen: GuestTgen) -> None:
    with pytest.raises(ComponentError, match=r"tgen has no port 0000:00:03\.0"):
        tgen.port_numbers({"east": port("0000:00:02.0"), "west": port("0000:00:03.0")})


# A session: what of a trial tgen cannot tell, and the kernel can.


class Filling(Rings):
    """Rings of two devices that have no room for more and more frames."""

    def drops_of(self, pid: int, roots: Roots | None = None) -> dict[str, int]:
        assert pid == 7
        for name, more in (("eth0", 100), ("eth1", 20)):
            self._drops[name] = self._drops.get(name, 900) + more
        return dict(self._drops)


def test_a_trial_has_what_rings_had_no_room_for_between_its_begin_and_its_end() -> None:
    stream = ("sent", "received", "misrouted", "duplicates", "beyond_window", "corrupted")
    worker = ("busy_ppm", "longest_gap_ns", "gaps_over_10us", "paused_ns")
    result = {
        "streams": [dict.fromkeys(stream, 0)],
        "settled": True,
        "workers": [dict.fromkeys(worker, 0)],
        "ports": [{"port": 0}, {"port": 1}],
    }
    told = SimpleNamespace(
        hello={},
        process=SimpleNamespace(pid=7),
        ask=lambda *_, **__: result,
        listening=lambda _: nullcontext(),
    )
    spec, policy, ways = (
        TgenSpec(kind="tgen"),
        simulated_case().trial,
        (TrafficDirection("there", 0, 1),),
    )
    session = TgenSession(cast("Tgen", told), spec, policy, ways, rings=Filling())
    for _ in range(2):
        found = session.run(TrialRequest(load_fps=1_000, duration_ns=1_000_000_000)).generator
        assert found is not None
        assert found.missed_frames == 120
