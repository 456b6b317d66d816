"""VNFs: shells, processes, wiring, templates, and who is not waited for."""

from __future__ import annotations

import contextlib
import itertools
import os
import pty
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from qemu_cases import qemu_case, vnfs
from simulated_cases import simulated_case
from switch_cases import PVP, PVVP
from wires import wires_of

from vsperf.cli import vnf_shell
from vsperf.cli.vnf_shell import LEAVE, connected
from vsperf.config.case import CaseSpec
from vsperf.config.topology import Topology
from vsperf.config.wiring import nics, outer_nics, passes
from vsperf.dpdk.telemetry import Telemetry
from vsperf.drivers.vnfs.process.command import vnfs_of
from vsperf.drivers.vnfs.process.driver import ProcessVnf
from vsperf.drivers.vnfs.process.spec import ProcessSpec
from vsperf.drivers.vnfs.process.vnf import RunningVnf as RunningProcess
from vsperf.drivers.vnfs.settings import by_vnf
from vsperf.drivers.vnfs.templates import LONGEST as LONGEST_of_templates
from vsperf.drivers.vnfs.templates import render
from vsperf.errors import ComponentError, DiedError, UsageError
from vsperf.host.process import Managed, managed
from vsperf.host.workspace import Workspace, workspace
from vsperf.plugins import Plugins
from vsperf.qemu.vm import RunningVm
from vsperf.records.run import Placement
from vsperf.trust import heard, own_python
from vsperf.trust.heard import LONGEST, split_before

# The shell of a VNF, played by a real `sh` on a terminal behind a socket, as QEMU has it.


@dataclass
class Guest:
    """A shell that outlives its clients, of which it takes one at a time."""

    path: Path
    listening: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def serve(self) -> None:
        terminal, inner = pty.openpty()
        shell = subprocess.Popen(
            ["sh", "-i"],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=lambda: os.close(terminal),  # noqa: PLW1509 - no thread of ours holds locks
        )
        os.close(inner)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.path))
            listener.listen(1)
            listener.settimeout(0.05)
            self.listening.set()
            while not self.ended.is_set():
                try:
                    client, _ = listener.accept()
                except TimeoutError:
                    continue
                with client, suppress(OSError):  # it may go at any moment
                    self._pass_on(client, terminal)
        shell.kill()
        shell.wait()
        os.close(terminal)

    def _pass_on(self, client: socket.socket, terminal: int) -> None:
        while not self.ended.is_set():
            ready, _, _ = select.select([client.fileno(), terminal], [], [], 0.05)
            if terminal in ready:
                client.sendall(os.read(terminal, 4096))
            if client.fileno() in ready:
                if not (typed := client.recv(4096)):
                    return
                os.write(terminal, typed)


@pytest.fixture(name="guest")
def fixture_guest(tmp_path: Path) -> Iterator[Path]:
    """Give the socket of a VNF's shell."""
    guest = Guest(tmp_path / "vm1.shell")
    thread = threading.Thread(target=guest.serve)
    thread.start()
    assert guest.listening.wait(60)
    yield guest.path
    guest.ended.set()
    thread.join()


def ran(path: Path, command: str) -> tuple[int, str]:
    """Run a command and return its exit code and what it wrote."""
    written: list[bytes] = []
    with connected("vm1", path) as shell:
        code = shell.run(command, written.append)
    return code, b"".join(written).decode()


@pytest.mark.parametrize(
    ("command", "code", "wrote"),
    [
        ("echo hello", 0, "hello\n"),
        ("printf 'no newline'", 0, "no newline"),
        ("exit 7", 7, ""),
        ("echo one; echo two >&2; false", 1, "one\ntwo\n"),
        ("echo 'it'\\''s' | tr a-z A-Z", 0, "IT'S\n"),
        ("cat", 0, ""),
        ("echo one\necho two", 0, "one\ntwo\n"),
        ("echo vsperf-begin- vsperf-end-", 0, "vsperf-begin- vsperf-end-\n"),
        ("echo a # a remark", 0, "a\n"),
    ],
)
def test_a_command_gives_what_it_writes_and_its_exit_code(
    guest: Path, command: str, code: int, wrote: str
) -> None:
    assert ran(guest, command) == (code, wrote)


def test_much_output_comes_whole(guest: Path) -> None:
    _, wrote = ran(guest, "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done")
    assert wrote == "".join(f"line {number}\n" for number in range(5000))


def test_a_mistake_in_a_command_does_not_break_the_shell(guest: Path) -> None:
    code, _ = ran(guest, "if then")
    assert code == 2
    assert ran(guest, "echo still here") == (0, "still here\n")


def test_output_comes_while_the_command_runs(guest: Path, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    command = f"echo first; while [ ! -e {go_on} ]; do sleep 0.01; done; echo last"
    written: list[bytes] = []

    def write(text: bytes) -> None:
        written.append(text)
        if b"first\n" in b"".join(written):
            go_on.touch()

    with connected("vm1", guest) as shell:
        assert shell.run(command, write) == 0
    assert b"".join(written) == b"first\nlast\n"


def test_what_somebody_left_half_typed_is_not_run(guest: Path) -> None:
    with connected("vm1", guest) as shell:
        shell.connection.sendall(b"echo half ")
    assert ran(guest, "echo whole") == (0, "whole\n")


def test_a_second_client_is_told_so_instead_of_waiting(
    guest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vnf_shell, "ANSWER_S", 0.3)
    with (
        connected("vm1", guest) as first,
        connected("vm1", guest) as second,
        pytest.raises(ComponentError, match="does not answer") as caught,
    ):
        assert first.run("true", lambda _: None) == 0
        second.run("true", lambda _: None)
    assert "another `vsperf shell` holds it" in str(caught.value.problems[0].why)


def test_a_vnf_that_ends_meanwhile_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "vm1.shell"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        with connected("vm1", path) as shell:
            listener.accept()[0].close()
            with pytest.raises(ComponentError, match="has gone"):
                shell.run("true", lambda _: None)


def test_nobody_behind_the_socket_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(ComponentError, match="cannot connect"),
        connected("vm1", tmp_path / "vm1.shell"),
    ):
        pass


def test_a_command_that_a_small_shell_would_cut_is_refused(guest: Path) -> None:
    with pytest.raises(UsageError, match="longer than"):
        ran(guest, "echo " + "x" * 1000)


def test_at_a_terminal_every_key_is_passed_on_until_the_one_that_leaves(guest: Path) -> None:
    keyboard, terminal = pty.openpty()
    shown: list[bytes] = []

    def write(text: bytes) -> None:
        shown.append(text)
        if text and len(shown) == 1:
            os.write(keyboard, b"echo $((6 * 7))\n")
        if b"42" in b"".join(shown):
            os.write(keyboard, LEAVE)

    try:
        with connected("vm1", guest) as shell:
            shell.talk(terminal, write)
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert b"42" in b"".join(shown)


@pytest.mark.parametrize(
    ("text", "ready", "held"),
    [
        (b"abc", b"abc", b""),
        (b"abcEN", b"abc", b"EN"),
        (b"abcEND 0", b"abc", b"END 0"),
        (b"abc\r", b"abc", b"\r"),
        (b"ENDED", b"", b"ENDED"),
    ],
)
def test_output_is_held_back_only_where_the_mark_may_begin(
    text: bytes, ready: bytes, held: bytes
) -> None:
    assert split_before(text, b"END") == (ready, held)


class Liar:
    """A guest that speaks in the shell's place: what it says once it knows the marks."""

    def __init__(self, path: Path, says: Callable[[bytes], Iterator[bytes]]) -> None:
        self.path = path
        self.says = says
        self.told = 0
        """Bytes that somebody took."""
        self.thread = threading.Thread(target=self.serve)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)

    def serve(self) -> None:
        with self.listener, suppress(OSError), self.listener.accept()[0] as client:
            typed = b""
            while not typed.endswith(b"\n"):
                typed += client.recv(4096)
            found = re.search(rb"vsperf-end-''(\w+)", typed)
            assert found is not None
            for words in self.says(found[1]):
                client.sendall(words)
                self.told += len(words)
            client.recv(1)  # until it is hung up on

    def hear(self, most: int = 1 << 30) -> tuple[int, bytes]:
        """Run a command in it; fail once more was taken of it than may be."""
        self.thread.start()
        written: list[bytes] = []
        try:
            with connected("vm1", self.path) as shell:
                code = shell.run("true", written.append)
        finally:
            self.thread.join()
        assert self.told < most
        return code, b"".join(written)


def said(token: bytes, *after: bytes) -> Iterator[bytes]:
    yield b"vsperf-begin-%s\r\n" % token
    yield b"out\r\nvsperf-end-%s" % token
    yield from after


@pytest.mark.parametrize("code", [b" " + b"9" * 5000, b" 256", b" -1", b"", b" 0x1", b" 1 \x1b[6n"])
def test_a_guest_that_says_no_exit_code_is_told_of(tmp_path: Path, code: bytes) -> None:
    liar = Liar(tmp_path / "vm1.shell", lambda token: said(token, code + b"\r\n"))
    with pytest.raises(ComponentError, match="no exit code") as caught:
        liar.hear()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("where", ["before the begin", "after the end"])
def test_a_guest_that_speaks_without_end_is_not_listened_to_for_ever(
    tmp_path: Path, where: str
) -> None:
    endless = itertools.repeat(b"0" * 4096)

    def says(token: bytes) -> Iterator[bytes]:
        yield from said(token, b" ") if where == "after the end" else ()
        yield from endless

    liar = Liar(tmp_path / "vm1.shell", says)
    with pytest.raises(ComponentError, match="without end"):
        liar.hear()
    assert liar.told < 3 * LONGEST


@pytest.mark.parametrize("where", ["before the begin", "after the end"])
def test_a_guest_that_drips_has_a_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(vnf_shell, "ANSWER_S", 0.3)
    gone = threading.Event()

    def says(token: bytes) -> Iterator[bytes]:
        yield from said(token, b" ") if where == "after the end" else ()
        while not gone.wait(0.01):
            yield b"0"

    liar = Liar(tmp_path / "vm1.shell", says)
    with pytest.raises(ComponentError, match="does not answer"):
        liar.hear(most=LONGEST)


def test_much_output_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in bytes, as no clock is asked: a second look at all of it would be a hundredfold."""
    looked = 0

    def counting(text: bytes, mark: bytes) -> tuple[bytes, bytes]:
        nonlocal looked
        looked += len(text)
        return split_before(text, mark)

    monkeypatch.setattr(heard, "split_before", counting)
    almost = b"vsperf-end-"

    def says(token: bytes) -> Iterator[bytes]:
        yield b"vsperf-begin-%s\n" % token
        yield from itertools.repeat(almost * 100, 1000)
        yield b"\nvsperf-end-%s 3\n" % token

    code, wrote = Liar(tmp_path / "vm1.shell", says).hear()
    assert (code, wrote) == (3, almost * 100_000 + b"\n")
    assert looked < 2 * len(wrote)


# VNFs that are processes: their settings, command lines and needs, and how they wait.

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


def test_it_is_found_by_its_kind() -> None:
    assert isinstance(Plugins.load().driver("vnf", "process"), ProcessVnf)


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


def test_with_one_card_frames_go_back_out_of_it() -> None:
    (argv,) = command_lines(process_case({**PVP, "nics": 1}))
    assert "--port-topology=loop" in argv
    assert len([word for word in argv if word.startswith("--vdev")]) == 1


@pytest.mark.parametrize("forward", ["mac", "macswap", "csum"])
def test_a_single_card_needs_the_addresses_that_the_switch_looks_at(forward: str) -> None:
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
            said, _ = process.communicate(timeout=10)
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


# VNFs are not waited for when a part without which they never forward was lost.

LOST = "tgen was lost while vm1 was waited for"


@pytest.fixture(name="place")
def fixture_place() -> Iterator[Workspace]:
    """Give a workspace in which the generator was killed."""
    with (
        tempfile.TemporaryDirectory() as folder,  # short, as sockets need
        workspace("a test", Path(folder)) as place,
        managed(["sleep", "100"], name="tgen", workspace=place) as tgen,
    ):
        tgen.process.kill()
        tgen.await_end(1.0)
        yield place


@pytest.fixture(name="program")
def fixture_program(place: Workspace) -> Iterator[Managed]:
    """Give the program of a VNF that waits for the others."""
    with (
        workspace("a VNF", place.folder) as apart,  # started while all others lived
        managed(["sleep", "100"], name="vm1", workspace=apart) as program,
    ):
        yield program


def test_a_guest_that_nobody_can_plug_in_any_more(place: Workspace, program: Managed) -> None:
    (vnf,) = vnfs(qemu_case())
    running = RunningVm(vnf, program, place)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(place.fill(vnf.qmp))
        silent.listen()
        with pytest.raises(DiedError, match=LOST) as caught:
            running.plug_in(time.monotonic() + 60)
    assert "SIGKILL" in str(caught.value.problems[0].why)


def test_a_process_whose_links_cannot_come_up_any_more(place: Workspace, program: Managed) -> None:
    topology = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
    spec = ProcessSpec.model_validate({"kind": "process"})
    case = simulated_case(topology=topology, vnf=spec)
    (vnf,) = vnfs_of(case, spec, wires_of(case), Placement(cpus={"vm1": (0,)}))
    running = RunningProcess(
        vnf,
        program,
        place.folder / "telemetry",
        lambda: place.attend("while vm1 was waited for"),
    )
    with pytest.raises(DiedError, match=LOST):
        running.await_forwarding(time.monotonic() + 60)


# Templates of VNFs: what they can say, and that none of them takes long.

VM = {"vm": {"name": "vm3", "index": 3}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no template", "no template"),
        ("10.0.0.{{ vm.index }}", "10.0.0.3"),
        ("{{ vm.name }}.qcow2", "vm3.qcow2"),
        ("{{ 8 * vm.index + 1 }}", "25"),
        ("{{ (vm.index - 1) // 2 }}-{{ vm.index % 2 }}", "1-1"),
        ("52:54:00:00:00:{{ '%02x' % vm.index }}", "52:54:00:00:00:03"),
        ("52:54:00:00:00:{{ '%02x' | format(vm.index) }}", "52:54:00:00:00:03"),
        ("{{ 'first' if vm.index == 1 else 'other' }}", "other"),
        ("{% if vm.index > 2 %}late{% else %}early{% endif %}", "late"),
        ("{{ vm.name | upper }}{{ vm['index'] ~ 'a' }}", "VM33a"),
    ],
)
def test_an_expression_is_worked_out_for_each_vnf(text: str, found: str) -> None:
    assert render(text, VM) == found


NESTED = 9 * "{% for a in range(99999) %}" + "x" + 9 * "{% endfor %}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (NESTED, "it holds a for"),
        ("{% for a in 'ab' %}{% endfor %}", "it holds a for"),
        ("{{ 10 ** 10 ** 10 }}", "it holds a pow"),
        ("{{ 'a' * 10000000000 }}", "only numbers are multiplied"),
        ("{{ vm.index * 'a' }}", "only numbers are multiplied"),
        ("{{ [0] * 10000000000 }}", "it holds a list"),
        ("{{ '%9999999999d' % vm.index }}", "999 characters"),
        ("{{ '%*d' % vm.index }}", "999 characters"),
        ("{{ '%9999999999d' | format(vm.index) }}", "999 characters"),
        ("{{ 'a'.center(9999999999) }}", "it holds a call"),
        ("{{ 'a' | center(9999999999) }}", "center"),
        ("{% set a = 'b' %}{{ a }}", "it holds a assign"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "it holds a macro"),
        ("{% include 'a' %}", "it holds a include"),
        ("{{ range }}", "'range' is undefined"),
        ("{{ vm.colour }}", "colour"),
        ("{{ ''.__class__ }}", "is unsafe"),
        ("{{ vm.index / 0 }}", "division by zero"),
        ("{{ '\x00' }}", "control character"),
        (r"{{ '\x00' }}", "control character"),
        ("{{", "end of template"),
        ("{{ 1 }}" + " " * LONGEST_of_templates, "4096 characters"),
    ],
)
def test_what_would_take_long_or_makes_no_sense_is_refused_with_its_reason(
    text: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        render(text, VM)


@pytest.mark.parametrize("text", ["(" * 1000 + "1" + ")" * 1000, "9 *" * 1000 + "9", "-" * 4000])
def test_a_deep_expression_is_worked_out_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert render(f"{{{{ {text} }}}}", VM).isdigit()


OPERATORS = ("**", "*", "%", "~", "-", "(", ")", "[", "]", ",", " ", " if ", " else ", "}}", "{{")
PIECES = st.sampled_from(
    (
        *("vm", ".index", ".name", "vm.index", "'ab'", "9", *OPERATORS),
        *("|format", "|int", "|string", "|lower", "|list", "|join(9)", "range(9)"),
        *("{% for a in vm %}", "{% endfor %}"),
    )
)


@given(words=st.lists(PIECES, max_size=40))
def test_any_words_give_a_text_or_a_reason(words: list[str]) -> None:
    with contextlib.suppress(ValueError):
        assert len(render("{{" + "".join(words) + "}}", VM)) < 100_000


# The NICs of VNFs and the passes through the switch follow from a topology's paths.


def topology(*paths: str, cards: int = 2) -> Topology:
    return Topology.model_validate({"paths": [path.split() for path in paths], "nics": cards})


def test_a_vnf_on_a_path_has_a_card_on_each_side() -> None:
    cards = nics(topology("phy0 vm1 phy1"))
    assert [(nic.port, nic.faces) for nic in cards] == [("vm1_0", "phy0"), ("vm1_1", "phy1")]


def test_cards_know_where_their_frames_go() -> None:
    cards = {nic.port: nic.peer_mac for nic in nics(topology("phy0 vm1 vm2 phy1"))}
    assert cards == {
        "vm1_0": "02:00:00:00:00:01",
        "vm1_1": "52:54:00:00:02:00",
        "vm2_0": "52:54:00:00:01:01",
        "vm2_1": "02:01:00:00:00:01",
    }


def test_no_two_cards_have_one_address() -> None:
    many = topology(*(f"phy0 vm{number} phy1" for number in range(1, 65)))
    assert len({nic.mac for nic in nics(many)}) == 128


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (("phy0 vm1 phy1", "phy2 vm1 phy3"), "vm1 lies on several paths"),
        (("vm1 vm2", "vm1 vm3"), "vm1 lies on several paths"),
        (("phy0 vm1",), "has a link at one end and a VNF at the other"),
    ],
)
def test_what_no_part_could_plug_together_is_refused(paths: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        topology(*paths)


def test_with_one_card_frames_go_back_out_of_it_of_wiring() -> None:
    found = passes(topology("phy0 vm1 phy1", cards=1))
    assert [(way.enters, way.leaves) for way in found] == [
        ("phy0", "vm1_0"),
        ("vm1_0", "phy0"),
        ("vm1_0", "phy1"),
        ("phy1", "vm1_0"),
    ]


def test_at_the_end_of_a_path_the_generator_is_plugged_into_the_vnf() -> None:
    between = topology("vm1 vm2")
    assert [nic.port for nic in outer_nics(between)] == ["vm1_0", "vm2_1"]
    assert [(way.enters, way.leaves) for way in passes(between)] == [
        ("vm1_1", "vm2_0"),
        ("vm2_0", "vm1_1"),
    ]


def test_parallel_paths_have_lanes() -> None:
    for second in ("phy0 vm2 phy1", "phy1 vm2 phy0"):
        side_by_side = topology("phy0 vm1 phy1", second)
        assert side_by_side.lanes("phy1", "phy0") == 2
        assert [way.lane for way in passes(side_by_side) if way.leaves.startswith("vm2")] == [1, 1]


@pytest.mark.parametrize("second", ["phy0 vm1 phy1", "phy1 vm1 phy0"])
def test_a_path_is_there_once(second: str) -> None:
    with pytest.raises(ValueError, match="is there twice"):
        topology("phy0 vm1 phy1", second)
