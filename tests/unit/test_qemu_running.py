"""VMs of QEMU: what is refused, what agents say, and the end of what guests write."""

from __future__ import annotations

import errno
import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from machine_tree import MachineTree, script
from qemu_cases import qemu_case, qemu_spec, vnfs

from vsperf.drivers.vnfs.qemu.checks import check, check_image, check_kernel, check_ram_disk
from vsperf.drivers.vnfs.qemu.driver import Qemu
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.tree import Tree
from vsperf.qemu import console as module
from vsperf.qemu.agent import MOST_NOTICED, Agent, AgentRefused, AgentSilent, last_lines
from vsperf.qemu.console import Console
from vsperf.qemu.host import IN_A_TREE
from vsperf.qemu.image import GuestImage, find_image, planned_image
from vsperf.qemu.kvm import Outcome, Probe, remember
from vsperf.qemu.vm import RunningVm

# What is refused before any VM is started: images, kernels, devices, KVM.

QCOW2 = bytes.fromhex("514649fb00000003") + bytes(16) + bytes.fromhex("00000010")


@pytest.fixture(name="probe")
def fixture_probe(tmp_path: Path) -> Probe:
    """Return a probe for a machine without KVM and a program that is there."""
    program = script(tmp_path / "qemu")
    image = GuestImage(tmp_path / "guest", {"image": "abc"})
    return Probe(image, str(program), tmp_path / "cache" / "kvm.json", tmp_path / "kvm")


def raw_disk(path: Path, size: int = 4096, signed: bool = True) -> Path:
    content = bytearray(size)
    if signed:
        content[510:512] = b"\x55\xaa"
    path.write_bytes(content)
    return path


def bzimage(path: Path) -> Path:
    path.write_bytes(bytes(0x202) + b"HdrS" + bytes(64))
    return path


def refusal(action: Any) -> NotReadyError:
    with pytest.raises(NotReadyError) as caught:
        action()
    assert caught.value.problems[0].fix
    return caught.value


def why(action: Any) -> str:
    return str(refusal(action).problems[0].why)


def test_a_tree_without_qemu_is_refused_with_the_way_to_get_it(
    tmp_path: Path, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    tree = Tree(tmp_path, foreign=True, setting="vnf")
    absent = Probe(probe.image, IN_A_TREE, probe.cache, tree=tree)
    error = refusal(lambda: check({}, absent))
    assert f"{IN_A_TREE} of the tree {tmp_path} is not installed" in str(error)
    assert error.problems[0].fix == f"chroot {tmp_path} apt-get install qemu-system-x86"


def test_a_raw_disk_that_boots_is_taken(tmp_path: Path) -> None:
    check_image("vm1", raw_disk(tmp_path / "disk.img"), bootable=True)


def test_a_text_is_no_disk(tmp_path: Path) -> None:
    path = tmp_path / "disk.img"
    path.write_text("This is not a disk.\n" * 100)
    assert "neither qcow2 nor a raw disk" in why(lambda: check_image("vm1", path, bootable=True))


def test_a_disk_without_a_boot_sector_needs_a_kernel_beside_it(tmp_path: Path) -> None:
    path = raw_disk(tmp_path / "disk.img", signed=False)
    assert "booted" in why(lambda: check_image("vm1", path, bootable=True))
    check_image("vm1", path, bootable=False)


@pytest.mark.needs("qemu-img")
def test_a_qcow2_with_nothing_behind_its_first_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "disk.qcow2"
    path.write_bytes(QCOW2)
    assert str(path) in str(refusal(lambda: check_image("vm1", path, bootable=True)))


@pytest.mark.usefixtures("never_waits")
@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"", "empty"), ("folder", "directory"), ("pipe", "no regular file")],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, content: Any, reason: str) -> None:
    path = tmp_path / "file"
    if content == "folder":
        path.mkdir()
    elif content == "pipe":  # nobody is waited for
        os.mkfifo(path)
    elif content is not None:
        path.write_bytes(content)
    for look in (check_kernel, check_ram_disk):
        assert reason in why(lambda look=look: look("vm1", path))
    assert reason in why(lambda: check_image("vm1", path, bootable=True))


def test_a_kernel_is_known_by_its_header(tmp_path: Path) -> None:
    check_kernel("vm1", bzimage(tmp_path / "bzImage"))
    path = tmp_path / "text"
    path.write_text("no kernel " * 100)
    assert "no Linux kernel" in why(lambda: check_kernel("vm1", path))


def test_a_ram_disk_is_known_by_how_it_begins(tmp_path: Path) -> None:
    for name, content in (("plain", b"070701" + bytes(100)), ("gzip", gzip.compress(b"070701"))):
        path = tmp_path / name
        path.write_bytes(content)
        check_ram_disk("vm1", path)
    path.write_text("no RAM disk")
    assert "no initial RAM disk" in why(lambda: check_ram_disk("vm1", path))


def test_qemu_has_to_be_installed(probe: Probe) -> None:
    absent = Probe(probe.image, "qemu-of-nobody", probe.cache)
    error = refusal(lambda: check({"vm1": qemu_spec()}, absent))
    assert error.problems[0].fix == "apt-get install qemu-system-x86"


def test_the_vm_of_a_wrong_image_is_named(probe: Probe, tmp_path: Path) -> None:
    spec = qemu_spec(image=str(tmp_path / "missing.qcow2"))
    error = refusal(lambda: check({"vm1": qemu_spec(accelerator="tcg"), "vm2": spec}, probe))
    assert str(error) == f"vm2 cannot be started from {tmp_path}/missing.qcow2"


def test_our_own_image_says_how_to_build_it(
    probe: Probe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VSPERF_GUEST", str(tmp_path / "nowhere"))
    error = refusal(lambda: check({"vm1": qemu_spec(accelerator="tcg")}, probe))
    assert "make setup" in str(error.problems[0].fix)


def test_an_image_says_what_it_is(tmp_path: Path) -> None:
    for name in ("vmlinuz", "initrd"):
        (tmp_path / name).write_text("x")
    environment = {"VSPERF_GUEST": str(tmp_path)}
    assert planned_image(environment).hash is None
    (tmp_path / "manifest.json").write_text(json.dumps({"image": "abc"}))
    assert find_image(environment).hash == "abc"
    (tmp_path / "manifest.json").write_text("{")
    assert "cannot be read" in why(lambda: find_image(environment))


def test_without_vfio_no_device_is_given_away(probe: Probe, tmp_path: Path) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.device("0000:03:00.1", "iavf")
    spec = qemu_spec(devices=["0000:03:00.1"], kernel=str(bzimage(tmp_path / "k")))
    assert "no VFIO" in why(lambda: check({"vm1": spec}, probe, tree.roots))


def test_a_device_that_is_not_there_is_named(probe: Probe, tmp_path: Path) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.driver("vfio-pci")
    spec = qemu_spec(devices=["0000:03:00.1"], kernel=str(bzimage(tmp_path / "k")))
    assert "0000:03:00.1" in str(refusal(lambda: check({"vm1": spec}, probe, tree.roots)))


def test_a_device_that_can_be_given_away_is_taken(probe: Probe, tmp_path: Path) -> None:
    tree = MachineTree(tmp_path / "machine")
    tree.driver("vfio-pci")
    tree.device("0000:03:00.1", "iavf", group=7)
    kernel = str(bzimage(tmp_path / "k"))
    spec = qemu_spec(devices=["0000:03:00.1"], kernel=kernel, accelerator="tcg")
    check({"vm1": spec}, probe, tree.roots)


def test_a_run_with_devices_is_refused_before_anything_is_tried() -> None:
    case = qemu_case(devices=["0000:03:00.1", "0000:03:00.2"])
    with pytest.raises(UsageError, match="vm1 cannot run") as caught:
        Qemu().require(case)
    assert "vsperf plan" in str(caught.value.problems[0].fix)


def test_a_device_goes_to_one_vm_only(probe: Probe, tmp_path: Path) -> None:
    spec = qemu_spec(devices=["0000:03:00.1"], kernel=str(bzimage(tmp_path / "k")))
    error = refusal(lambda: check({"vm1": spec, "vm2": spec}, probe))
    assert "given to two NICs" in str(error)


def test_without_kvm_guests_are_emulated_and_nothing_is_tried(probe: Probe) -> None:
    known = probe.known()
    assert known == Outcome(False, f"{probe.device} is absent")
    assert known.accelerator == "tcg"
    assert not probe.cache.exists()


def test_kvm_that_was_asked_for_and_does_not_work_is_refused(probe: Probe, tmp_path: Path) -> None:
    spec = qemu_spec(accelerator="kvm", kernel=str(bzimage(tmp_path / "k")))
    assert "is absent" in why(lambda: check({"vm1": spec}, probe))


def test_what_was_tried_is_remembered_for_this_image_and_this_boot(
    probe: Probe, tmp_path: Path
) -> None:
    probe.device.write_text("")
    assert probe.known() is None
    remember(probe.cache, probe.key, Outcome(True, "it boots"), tried_s=0.0)
    assert probe.known() == Outcome(True, "it boots")
    other = Probe(GuestImage(tmp_path, {"image": "def"}), probe.program, probe.cache, probe.device)
    assert other.known() is None


@pytest.mark.parametrize(("age_s", "believed"), [(3600, True), (90_000, False), (-90_000, False)])
def test_that_no_guest_boots_is_believed_for_a_day(
    probe: Probe, age_s: float, believed: bool
) -> None:
    probe.device.write_text("")
    failed = Outcome(False, "it hung")
    remember(probe.cache, probe.key, failed, time.time() - age_s)
    assert probe.known() == (failed if believed else None)


@pytest.mark.parametrize(
    ("words", "remembered"),
    [
        ("cannot set up guest memory: Cannot allocate memory", False),
        ("failed to initialize kvm: No such file or directory", True),
    ],
)
def test_a_failure_is_remembered_only_if_it_is_that_of_kvm(
    probe: Probe, words: str, remembered: bool
) -> None:
    probe.device.write_text("")
    Path(probe.program).write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    found = probe.outcome()
    assert not found.works
    assert words in found.why
    assert (probe.known() is not None) == remembered


def test_a_memory_that_is_garbage_is_none(probe: Probe) -> None:
    probe.device.write_text("")
    probe.cache.parent.mkdir()
    for garbage in ("", "[]", '{"format": 1}', '{"format": 1, "found": 3}'):
        probe.cache.write_text(garbage)
        assert probe.known() is None


# The conversation with the agent in a guest, held with one that is played by the test.

BOOTED = {"event": "booted", "protocol": 1, "kernel": "6.1", "nics": []}
Answers = Callable[[dict[str, Any]], Iterable[dict[str, Any] | bytes]]


def alive() -> None:
    """Say that the VM still runs."""


@contextmanager
def guest(folder: Path, answers: Answers, greeting: bytes = b"") -> Iterator[Agent]:
    """Play a guest: `answers` says what it writes to each request."""
    path = folder / "control"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen(1)
        agent = Agent.connect("vm1", path)
        connection, _ = server.accept()

    def serve() -> None:
        with suppress(OSError), connection, connection.makefile("rb") as lines:
            connection.sendall(greeting)
            for line in lines:
                for answer in answers(json.loads(line)):
                    text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                    connection.sendall(text + b"\n")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield agent
    finally:
        agent.close()
        thread.join()


def once_booted(answers: Answers) -> Answers:
    return lambda request: [BOOTED] if request["verb"] == "hello" else answers(request)


def test_a_guest_that_boots_late_is_greeted_until_it_answers(tmp_path: Path) -> None:
    greetings: list[int] = []

    def late(request: dict[str, Any]) -> list[dict[str, Any] | bytes]:
        greetings.append(request["id"])
        return [BOOTED] if len(greetings) > 1 else []

    with guest(tmp_path, late) as agent:
        assert agent.await_boot(time.monotonic() + 10, alive)["kernel"] == "6.1"
    assert len(greetings) > 1


def test_a_guest_that_never_boots_is_not_waited_for_forever(tmp_path: Path) -> None:
    with guest(tmp_path, lambda request: []) as agent, pytest.raises(AgentSilent, match="in time"):
        agent.await_boot(time.monotonic() + 0.2, alive)


def test_time_in_which_its_qemu_was_kept_from_running_is_no_time_of_the_guests(
    tmp_path: Path,
) -> None:
    with guest(tmp_path, lambda request: []) as agent, pytest.raises(AgentSilent, match="in time"):
        began = time.monotonic()
        agent.await_boot(began + 0.1, alive, kept_s=lambda: 0.3)
    assert time.monotonic() - began > 0.4


def test_the_end_of_the_vm_ends_the_waiting(tmp_path: Path) -> None:
    def dead() -> None:
        raise ComponentError("vm1 was killed")

    with guest(tmp_path, lambda request: []) as agent, pytest.raises(ComponentError, match="kille"):
        agent.await_boot(time.monotonic() + 10, dead)


def test_another_protocol_is_refused_with_the_way_to_mend_it(tmp_path: Path) -> None:
    other = {**BOOTED, "protocol": 2}
    wrong = pytest.raises(ComponentError, match="protocol 2, not 1")
    with guest(tmp_path, lambda request: [other]) as agent, wrong as caught:
        agent.await_boot(time.monotonic() + 10, alive)
    assert caught.value.problems[0].fix


def test_an_answer_is_found_among_events_and_late_answers(tmp_path: Path) -> None:
    def answers(request: dict[str, Any]) -> list[dict[str, Any] | bytes]:
        return [BOOTED, {"id": 0, "stale": True}, {"id": request["id"], "nics": [1]}]

    with guest(tmp_path, answers) as agent:
        assert agent.ask("counters", 5)["nics"] == [1]


def test_a_refusal_says_what_the_application_wrote(tmp_path: Path) -> None:
    def answers(request: dict[str, Any]) -> list[dict[str, Any] | bytes]:
        return [{"id": request["id"], "error": "it ended", "log": "one\n\ntwo\n"}]

    with guest(tmp_path, answers) as agent, pytest.raises(AgentRefused, match="start") as caught:
        agent.ask("start", 5)
    assert caught.value.problems[0].why == "it wrote: one | two"


def test_a_port_that_closes_is_told_from_silence(tmp_path: Path) -> None:
    with guest(tmp_path, lambda request: []) as agent:
        agent.connection.shutdown(socket.SHUT_RDWR)
        with pytest.raises(AgentSilent, match="was closed"):
            agent.answer(1, "log", 5)


def endlessly(request: dict[str, Any]) -> Iterator[dict[str, Any] | bytes]:
    """Say more at once than is heard at a time, so that nobody depends on who runs when."""
    while True:
        yield b"\n".join([b'{"event": "chatter"}'] * 2 * MOST_NOTICED)


def saying(*lines: bytes) -> Answers:
    return lambda request: list(lines)


def answering(**answer: object) -> Answers:
    return lambda request: [{"id": request["id"], **answer}]


COUNTING = b'{"id": 1, "nics": [{"received": %s}]}'


@pytest.mark.parametrize(
    ("answers", "patience_s", "error", "words"),
    [
        (saying(), 0.2, AgentSilent, "`log` within"),
        (endlessly, 0.3, AgentSilent, "`log` within"),
        (saying(b"x" * (3 << 20)), 60, ComponentError, "without end"),
        *(
            (saying(line), 60, ComponentError, "no JSON")
            for line in (b"not json", b"[1]", b"\xff", b"[" * 100_000)
        ),
        *(
            (saying(COUNTING % number), 60, ComponentError, "no JSON")
            for number in (b"9" * 4000, b"1" * 30, b"NaN", b"-Infinity")
        ),
        *(
            (answering(**answer), 60, ComponentError, "makes no sense")
            for answer in ({"error": 5}, {"error": "no", "log": 5}, {"error": None})
        ),
    ],
    ids=[
        *("nothing", "other things without end", "a line without end"),
        *("no JSON", "a list", "no UTF-8", "very deep"),
        *("a number of 4000 digits", "of 30", "none", "below all"),
        *("an error that is no text", "a log that is none", "an error that is nothing"),
    ],
)
def test_what_is_no_answer_is_an_error_in_time(
    tmp_path: Path, answers: Answers, patience_s: float, error: type[Exception], words: str
) -> None:
    with guest(tmp_path, answers) as agent, pytest.raises(error, match=words):
        agent.ask("log", patience_s)


@pytest.mark.usefixtures("never_waits")
def test_an_agent_that_speaks_without_end_unasked_is_not_listened_to_forever(
    tmp_path: Path,
) -> None:
    with guest(tmp_path, endlessly) as agent:
        agent.request("hello")
        with pytest.raises(ComponentError, match="without end"):
            listen(agent)


def listen(agent: Agent) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        agent.notice()


@pytest.mark.parametrize(
    ("event", "place"),
    [
        ({"event": "booted"}, "protocol"),
        ({"event": "booted", "protocol": "1"}, "protocol"),
        ({"event": "booted", "protocol": 1, "nics": 5}, "nics"),
        ({"event": "booted", "protocol": 1, "nics": [5]}, "nics.0"),
        ({"event": "booted", "protocol": 1, "nics": [{"mac": 5}]}, "nics.0.mac"),
        ({"event": "ended", "app": 5}, "app"),
        ({"event": "ended", "log": ["bye"]}, "log"),
    ],
)
def test_events_of_the_wrong_types_are_an_error_that_names_the_place(
    tmp_path: Path, event: dict[str, Any], place: str
) -> None:
    wrong = pytest.raises(ComponentError, match=f"makes no sense: {place}: ")
    with guest(tmp_path, lambda request: [event]) as agent, wrong:
        agent.await_boot(time.monotonic() + 10, alive)


@pytest.mark.parametrize(
    "nics",
    [
        *(5, "x", {"a": 1}, [5], [None]),
        *([{"received": "1", "sent": 1}], [{"received": 1.5, "sent": 1}]),
        *([{"received": -1, "sent": 1}], [{"received": 1, "sent": (1 << 60) + 1}]),
        *([{"received": 1, "sent": 1, "drops": drops}] for drops in (5, [1], {"a": "b"})),
    ],
    ids=repr,
)
def test_counters_of_the_wrong_types_are_an_error(tmp_path: Path, nics: object) -> None:
    with guest(tmp_path, lambda request: [{"id": request["id"], "nics": nics}]) as agent:
        running = asked(agent)
        with pytest.raises(ComponentError, match="vm1: what its agent says makes no sense: nics"):
            running.counters()


@pytest.mark.parametrize(
    ("answer", "frames"),
    [
        ({"nics": [{"received": 3, "sent": 2, "drops": {"full": 1}}]}, [(3, 2)]),
        ({"nics": [{"received": 3, "sent": 2}, {"received": None, "sent": 2}]}, []),
        ({"nics": None}, []),
        ({}, []),
    ],
)
def test_a_guest_that_does_not_count_has_no_counters(
    tmp_path: Path, answer: dict[str, Any], frames: list[tuple[int, int]]
) -> None:
    with guest(tmp_path, lambda request: [{"id": request["id"], **answer}]) as agent:
        found = asked(agent).counters()
    assert [(nic.received_frames, nic.sent_frames) for nic in found.nics] == frames


def asked(agent: Agent) -> RunningVm:
    """Return a VM of which nothing is there but its agent."""
    (vm,) = vnfs(qemu_case())
    parts: dict[str, Any] = {"program": None, "workspace": None}
    return RunningVm(vm, **parts, agent=agent)


def test_an_application_that_ended_is_noticed_without_waiting(tmp_path: Path) -> None:
    event = {"event": "ended", "app": "testpmd", "how": "signal 9", "log": "EAL: bye\n"}
    greeting = json.dumps(event).encode() + b"\n"
    with guest(tmp_path, lambda request: [], greeting) as agent:
        deadline = time.monotonic() + 5
        while agent.ended is None and time.monotonic() < deadline:
            agent.notice()
            time.sleep(0.01)
        assert agent.ended == "testpmd ended: signal 9; its last words: EAL: bye"


def test_nothing_said_is_nothing_noticed(tmp_path: Path) -> None:
    with guest(tmp_path, lambda request: []) as agent:
        agent.notice()
        assert agent.ended is None


def test_a_vm_without_the_port_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(AgentSilent, match="no connection to its control port"):
        Agent.connect("vm1", tmp_path / "nothing")


def test_last_lines_are_the_last_ones_that_say_something() -> None:
    assert last_lines("a\nb\n\nc\n", 2) == "b | c"


# The end of what a guest writes is kept, and never more than a few files' worth.


@pytest.fixture(name="followed")
def fixture_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Console, socket.socket]]:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    monkeypatch.setattr(module, "PAUSE_S", 0.0)
    monkeypatch.setattr(module, "END_S", None)  # however late the machine lets it end
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "tty"))
        listening.listen()
        console = Console.followed(tmp_path / "tty", tmp_path / "vm1.console")
        guest, _ = listening.accept()
    with guest:
        yield console, guest
    console.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_what_a_guest_writes_can_be_read_while_it_runs(
    followed: tuple[Console, socket.socket],
) -> None:
    console, guest = followed
    guest.sendall(b"booting\n")
    wait_until(lambda: console.end(100) == b"booting\n")
    assert console.file.read_bytes() == b"booting\n"


def test_the_last_words_are_there_once_it_has_ended(
    followed: tuple[Console, socket.socket],
) -> None:
    console, guest = followed
    guest.sendall(b"x" * 500 + b"Kernel panic")
    guest.close()
    console.finish()
    assert console.end(12) == b"Kernel panic"


def test_a_guest_that_writes_without_end_fills_no_folder(
    followed: tuple[Console, socket.socket],
) -> None:
    console, guest = followed
    for number in range(2000):
        guest.sendall(f"{number:099}\n".encode())
    guest.close()
    console.finish()
    assert console.end(8192).endswith(b"1999\n")
    kept = sum(path.stat().st_size for path in (console.file, console.old) if path.exists())
    assert kept <= 2 * (1000 + module.CHUNK)


def test_where_there_is_no_room_for_another_file_the_full_one_is_closed_once(
    followed: tuple[Console, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then its number may be that of a file of somebody else."""
    console, guest = followed
    guest.sendall(b"begun")
    wait_until(lambda: console.end(5) == b"begun")
    closed, close = list[int](), os.close

    def closing(number: int) -> None:
        closed.append(number)
        close(number)

    def full() -> int:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "close", closing)
    monkeypatch.setattr(console, "_begin", full)
    guest.sendall(b"x" * 2000)
    guest.close()
    console.finish()
    assert len(closed) == 1


def test_a_folder_that_is_gone_ends_the_keeping_and_nothing_else(
    followed: tuple[Console, socket.socket],
) -> None:
    console, guest = followed
    console.file = Path("/nowhere/at/all")
    guest.sendall(b"x" * 2000)
    guest.close()
    console.finish()
    assert console.end(10) in (b"", b"x" * 10)
