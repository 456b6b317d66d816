"""Guests that boot or are reset: the image, its agent, and a QEMU without any."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from conftest import Require

from vsperf.host.process import Managed, managed
from vsperf.host.procfs import all_listened_at
from vsperf.host.workspace import workspace
from vsperf.qemu.host import PROGRAM
from vsperf.qemu.image import GuestImage, find_image
from vsperf.qemu.qmp import Monitor

# The guest image, really booted: what its agent says and does, and real frames through it.

PEERS = ("02:00:00:00:00:0a", "02:00:00:00:00:0b")
BEYOND = bytes.fromhex("020000000099")
SOURCE = bytes.fromhex("020000000011")
COUNTING_S = 20.0
MAKE_OTHER_FRAMES = ("tx checksum", "tcp segmentation", "segmentation", "receive coalescing")
"""What a device may not leave to others, so that frames pass as they are on a cable."""
MACS = ("52:54:00:00:00:01", "52:54:00:00:00:02")
PATIENCE_S = 60.0
"""Many times what it takes: the machine may be busy, and the guest is emulated."""


class Guest:
    """One guest that is being run, seen from its control port."""

    def __init__(self, image: GuestImage, folder: Path) -> None:
        self.folder = folder
        self.events: list[dict[str, Any]] = []
        self._stack = ExitStack()
        self._nics: list[socket.socket] = []
        self._argv = self._command(image)

    def __enter__(self) -> Self:
        self.qemu = self._stack.enter_context(subprocess.Popen(self._argv))
        self._stack.callback(self.qemu.kill)
        self._control = self.connect("control")
        self._lines = self._stack.enter_context(self._control.makefile())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _command(self, image: GuestImage) -> list[str]:
        argv = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"]
        argv += ["-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "256"]
        argv += ["-kernel", str(image.kernel), "-initrd", str(image.initrd)]
        argv += ["-append", str(image.append), "-no-reboot"]
        argv += ["-serial", f"file:{self.folder}/console", "-device", "virtio-serial-pci"]
        for name in ("control", "shell"):
            argv += ["-chardev", f"socket,id={name},path={self.folder}/{name},server=on,wait=off"]
            argv += ["-device", f"virtserialport,chardev={name},name=vsperf.{name}"]
        for number, mac in enumerate(MACS):
            here = self._stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            here.bind(f"{self.folder}/here{number}")
            here.settimeout(PATIENCE_S)
            self._nics.append(here)
            ends = f"local.type=unix,local.path={self.folder}/guest{number}"
            ends += f",remote.type=unix,remote.path={self.folder}/here{number}"
            argv += ["-netdev", f"dgram,id=nic{number},{ends}"]
            argv += ["-device", f"virtio-net-pci,netdev=nic{number},mac={mac}"]
        return argv

    def connect(self, name: str) -> socket.socket:
        """Connect to a port of the guest as soon as QEMU offers it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            connection = self._stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.settimeout(PATIENCE_S)
            try:
                connection.connect(f"{self.folder}/{name}")
            except OSError:
                assert time.monotonic() < deadline
                assert self.qemu.poll() is None
                time.sleep(0.01)
            else:
                return connection

    def read(self) -> dict[str, Any]:
        """Return the next line, whatever it is."""
        line: dict[str, Any] = json.loads(self._lines.readline())
        return line

    def hang_up(self) -> None:
        """Leave the control port, and come again."""
        self._lines.close()
        self._control.close()
        self._control = self.connect("control")
        self._lines = self._stack.enter_context(self._control.makefile())

    def send(self, text: str) -> None:
        """Send a line as it is."""
        self._control.sendall(text.encode() + b"\n")

    def ask(self, verb: str, **more: object) -> dict[str, Any]:
        """Return the answer to a request; events that come before are kept."""
        self.send(json.dumps({"id": 7, "verb": verb, **more}))
        while "id" not in (line := self.read()):
            self.events.append(line)
        assert line["id"] == 7
        return line

    def start(self, app: str, **more: object) -> dict[str, Any]:
        """Start an application on both NICs."""
        deadline_ms = int(PATIENCE_S * 1000)
        return self.ask("start", **{"app": app, "nics": MACS, "deadline_ms": deadline_ms, **more})

    def pass_frame(self, enters: int, leaves: int, frame: bytes) -> bytes:
        """Send a frame into one NIC, and return what comes out of another."""
        self._nics[enters].sendto(frame, f"{self.folder}/guest{enters}")
        return self._nics[leaves].recv(16384)


@contextmanager
def booted(image: GuestImage) -> Iterator[Guest]:
    """Boot a guest, and end it. The folder's name is short: sockets have to fit into 107 bytes."""
    with (
        tempfile.TemporaryDirectory(prefix="guest-") as folder,
        Guest(image, Path(folder)) as guest,
    ):
        yield guest


def address(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def frame(destination: bytes, source: bytes = SOURCE, kind: str = "0800") -> bytes:
    return (destination + source + bytes.fromhex(kind)).ljust(60, b"\x5a")


@pytest.fixture(name="image")
def fixture_image(require: Require) -> GuestImage:
    require("guests")
    return find_image()


@pytest.fixture(name="guest")
def fixture_guest(image: GuestImage) -> Iterator[tuple[Guest, dict[str, object]]]:
    with booted(image) as guest:
        yield guest, guest.read()


def test_a_guest_says_who_it_is_forwards_and_powers_off(
    guest: tuple[Guest, dict[str, object]], image: GuestImage
) -> None:
    vm, hello = guest
    assert hello["event"] == "booted"
    assert hello["protocol"] == 1
    assert hello["image"] == image.hash
    nics = hello["nics"]
    assert isinstance(nics, list)
    assert [nic["mac"] for nic in nics] == list(MACS)
    assert vm.ask("hello")["event"] == "booted"

    started = vm.start("testpmd", forward="macswap")
    assert started.get("ready") is True, started
    assert [nic["driver"] for nic in started["nics"]] == ["uio_pci_generic"] * 2
    assert vm.pass_frame(0, 1, frame(BEYOND)) == frame(SOURCE, BEYOND)
    assert vm.pass_frame(1, 0, frame(BEYOND)) == frame(SOURCE, BEYOND)
    counters = counted(vm, received=1, sent=1)
    assert counters["running"] is True
    assert [(nic["received"], nic["sent"]) for nic in counters["nics"]] == [(1, 1), (1, 1)]
    assert "macswap packet forwarding" in vm.ask("log")["log"]

    assert "error" not in vm.ask("poweroff")
    assert vm.qemu.wait(PATIENCE_S) == 0


def test_every_application_follows_any_other(guest: tuple[Guest, dict[str, object]]) -> None:
    vm, _ = guest
    assert vm.start("l2fwd", peers=PEERS)["ready"]
    for tagged in ("0800", "81000064"):
        one, other = (frame(BEYOND, kind=tagged) for _ in range(2))
        out = vm.pass_frame(0, 1, one)
        assert out == frame(address(PEERS[1]), address(MACS[1]), tagged)
        back = vm.pass_frame(1, 0, other)
        assert back == frame(address(PEERS[0]), address(MACS[0]), tagged)
    assert counted(vm, received=2, sent=2)["nics"][0] == {
        "received": 2,
        "sent": 2,
        "drops": {"no buffer": 0, "send ring full": 0, "send errors": 0},
    }

    assert vm.start("linux_bridge")["ready"]
    for destination in (BEYOND, address(MACS[0])):
        assert vm.pass_frame(0, 1, frame(destination)) == frame(destination)

    assert vm.start("testpmd", forward="mac", peers=PEERS)["ready"]
    assert vm.pass_frame(0, 1, frame(BEYOND)) == frame(address(PEERS[1]), address(MACS[1]))

    assert vm.start("testpmd", nics=MACS[1:], forward="io")["ready"]
    assert vm.pass_frame(1, 1, frame(BEYOND)) == frame(BEYOND)

    assert vm.start("none", nics=[])["ready"]
    counters = vm.ask("counters")
    assert (counters["running"], counters["nics"]) == (False, [])


def counted(vm: Guest, **expected: int) -> dict[str, Any]:
    """Return the counters, once they are as expected: a frame may be out before it is counted."""
    deadline = time.monotonic() + COUNTING_S
    counters = vm.ask("counters")
    while time.monotonic() < deadline:
        if all(expected.items() <= nic.items() for nic in counters["nics"]):
            break
        counters = vm.ask("counters")
    return counters


def test_what_cannot_be_done_is_said(guest: tuple[Guest, dict[str, object]]) -> None:
    vm, _ = guest
    assert "linux_bridge" in vm.start("router")["error"]
    assert "52:54:00:00:00:99" in vm.start("testpmd", nics=["52:54:00:00:00:99"])["error"]
    assert "65535" in vm.start("testpmd", queues=0)["error"]
    assert "hugepages" in vm.start("testpmd", rx_descriptors=60000)["error"]
    assert "hugepages" in vm.start("testpmd", rx_descriptors=65535, queues=65535)["error"]
    assert "macswap" in vm.start("testpmd", forward="sideways")["error"]
    assert "-ai" in vm.start("testpmd", arguments=["-ai"])["error"]
    assert "--inter" in vm.start("testpmd", arguments=["--inter"])["error"]
    assert "--stats-period=1" in vm.start("testpmd", arguments=["--stats-period=1"])["error"]
    assert "too long" in vm.start("testpmd", arguments=["--x=" + 450 * "x"] * 20)["error"]
    assert "600000" in vm.start("testpmd", deadline_ms=0)["error"]
    assert "9710" in vm.start("l2fwd", mtu=9711)["error"]
    wrong = vm.start("testpmd", arguments=["--sideways"])
    assert "ended at once" in wrong["error"]
    assert "sideways" in wrong["log"]
    assert "verb" in vm.ask("dance")["error"]
    for text in ("no json", "[]", "x" * 40000):
        vm.send(text)
        answer = vm.read()
        assert answer["id"] is None
        assert answer["error"]
    assert vm.start("testpmd")["ready"], "after all that it still works"
    assert vm.events == []


def test_an_application_that_dies_is_news(guest: tuple[Guest, dict[str, object]]) -> None:
    vm, _ = guest
    assert vm.start("testpmd")["ready"]
    shell = vm.connect("shell")
    shell.sendall(b"killall -9 dpdk-testpmd\n")
    event = vm.read()
    assert (event["event"], event["app"], event["how"]) == ("ended", "testpmd", "signal 9")
    assert "Press enter" in event["log"]
    assert vm.ask("counters")["nics"] == []
    assert vm.ask("counters")["running"] is False
    shell.sendall(b"echo left $((`cat /proc/sys/vm/nr_hugepages` + 0)).\n")
    said = b""
    while b"left 0." not in said:
        said += shell.recv(4096)
    assert vm.start("testpmd")["ready"]


def test_an_application_that_hangs_holds_up_nothing(guest: tuple[Guest, dict[str, object]]) -> None:
    vm, _ = guest
    assert vm.start("testpmd")["ready"]
    shell = vm.connect("shell")
    shell.sendall(b"killall -STOP dpdk-testpmd; echo stopped $((6 * 7)).\n")
    said = b""
    while b"stopped 42." not in said:
        said += shell.recv(4096)
    for _ in range(3):  # the third one finds the queue before its socket full
        counters = vm.ask("counters")
        assert (counters["running"], counters["nics"]) == (True, [])
    assert "error" not in vm.ask("poweroff")
    assert vm.qemu.wait(PATIENCE_S) == 0


def test_programs_run_in_the_stack_of_a_guest_that_has_joined(
    guest: tuple[Guest, dict[str, object]],
) -> None:
    vm, _ = guest
    assert "joined nothing" in vm.ask("device")["error"]
    others = [{"address": "198.19.0.1", "mac": "02:00:00:00:00:99"}]
    wanted = {"nic": MACS[0], "address": "198.18.0.1", "prefix": 15, "neighbours": others}
    for wrong, said in (
        ({"nic": "02:00:00:00:00:77"}, "02:00:00:00:00:77"),
        ({"address": "198.18.0"}, "no address of IPv4"),
        ({"prefix": 33}, "from 1 to 32"),
        ({"neighbours": [{"address": "198.19.0.1"}]}, '"mac" is no string'),
    ):
        assert said in vm.ask("join", **{"mtu": 1500, **wanted, **wrong})["error"]
    joined = vm.ask("join", mtu=1400, **wanted)
    assert (joined["device"], joined["forgets_paths"]) == ("eth0", True), joined
    assert joined["send_bytes"] > 0 and joined["receive_bytes"] > 0
    assert not any(joined["offloads"][name] for name in MAKE_OTHER_FRAMES)

    serving = ["/bin/busybox", "nc", "-l", "-p", "11001"]
    assert "error" not in vm.ask("run", program=1, argv=serving)
    deadline = time.monotonic() + PATIENCE_S
    while not vm.ask("listens", port=11001)["listens"]:
        assert time.monotonic() < deadline
    due_ns = vm.ask("clock")["now_ns"] + 300_000_000
    words = [
        "/bin/busybox",
        "sh",
        "-c",
        "cat /proc/uptime; ip addr; ping -c 1 -W 1 198.19.0.1; exit 3",
    ]
    vm.ask("run", program=2, argv=words, instant_ns=due_ns)
    while not (told := [event for event in vm.events if event["event"] == "exited"]):
        vm.ask("clock")
        assert time.monotonic() < deadline
    assert told == [{"event": "exited", "program": 2, "code": 3}]
    text = vm.ask("output", program=2)["text"]
    assert float(text.split()[0]) >= due_ns / 1e9 - 0.02  # it is told in hundredths
    assert "198.18.0.1/15" in text and "mtu 1400" in text
    assert vm.ask("device")["sent_frames"] >= 1, "it asks nobody where the other one is"
    assert "error" not in vm.ask("end", program=1)
    assert not vm.ask("listens", port=11001)["listens"]


def test_the_shell_comes_back_and_the_control_port_outlives_its_host(
    guest: tuple[Guest, dict[str, object]],
) -> None:
    vm, _ = guest
    shell = vm.connect("shell")
    shell.sendall(b"exit\n")
    said = b""
    deadline = time.monotonic() + PATIENCE_S
    shell.sendall(b"echo $((6 * 7))1\n")
    while b"421" not in said:
        assert time.monotonic() < deadline
        shell.sendall(b"echo $((6 * 7))1\n")
        said += shell.recv(4096)

    vm.send('{"id":1,"verb":"cou')
    vm.hang_up()
    # The agent may not have seen that the host was gone: an empty line ends what was half said.
    vm.send("\n" + json.dumps({"id": 7, "verb": "counters"}))
    while (line := vm.read()).get("id") is None:
        assert "error" in line or line["event"] == "booted"
    assert line == {"id": 7, "running": False, "nics": []}


# QEMU is reset without a guest: its firmware boots, finds no disk, and waits.

LONG_S = 30.0
RESETS = 3


@pytest.fixture(name="qemu")
def fixture_qemu(require: Callable[[str], None]) -> Iterator[tuple[Managed, Monitor]]:
    require("guests")
    with (
        tempfile.TemporaryDirectory() as folder,  # short, as sockets need
        workspace("a test of resets", Path(folder)) as place,
    ):
        path = place.folder / "qmp"
        socket = f"socket,id=qmp,path={path},server=on,wait=off"
        argv = [PROGRAM, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
        argv += ["-machine", "q35", "-accel", "tcg", "-m", "64M"]
        argv += ["-chardev", socket, "-mon", "chardev=qmp,mode=control"]
        with managed(
            argv, name="vm1", workspace=place, ready=lambda: all_listened_at([path])
        ) as program:
            monitor = Monitor.connect("vm1", path, LONG_S)
            try:
                yield program, monitor
            finally:
                monitor.close()


def test_a_vm_is_reset_again_and_again_and_ends_at_a_reset_of_its_own_later(
    qemu: tuple[Managed, Monitor],
) -> None:
    """Its firmware makes a second reset after some: QEMU must not end at that one."""
    program, monitor = qemu
    for _ in range(RESETS):
        monitor.reset(LONG_S)
        assert not program.await_end(0.5)
    monitor.end_at_reset(LONG_S)
    monitor.execute("system_reset", LONG_S)
    assert program.await_end(LONG_S)
    assert program.poll() == 0
