"""tgen on every kind of port that a machine without a NIC has: what is sent arrives and counts.

Ports of the kernel live in a network namespace that ends with the tgen in it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cable import PACKET_SOCKETS, VETH, tgen_apart
from conftest import Require, not_here
from loopbacks import OPTIONS, through_testpmd

from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    trial,
)
from vsperf.drivers.generators.tgen.command import port_of
from vsperf.drivers.generators.tgen.process import Tgen, running
from vsperf.drivers.generators.tgen.traffic import TrafficDirection
from vsperf.errors import ComponentError

pytestmark = pytest.mark.machine

FRAMES = 5000
SENDING = Sending(rate_fps="20000", frames=FRAMES)
IN_A_RING = replace(SENDING, in_flight=512)
"""Through another program, which drops what finds no room while tgen does not run."""
WAYS = directions_between(2, "both")

Apart = Callable[..., AbstractContextManager[Tgen]]


@pytest.fixture(name="apart")
def fixture_apart(require: Require, tmp_path: Path) -> Apart:
    """Return a way to start a tgen in a namespace of its own, prepared by a few commands."""
    require("tgen")
    require("namespaces")

    def start(
        devices: tuple[str, ...], prepare: str = VETH, max_frame: int = 9216
    ) -> AbstractContextManager[Tgen]:
        return tgen_apart(tmp_path, devices, prepare, replace(OPTIONS, max_frame=max_frame))

    return start


def assert_all_arrive(tgen: Tgen, stream: Stream, sending: Sending = SENDING) -> None:
    """Send both ways, and see every frame counted once, whole, at the right port."""
    tgen.ports()
    result = trial(tgen, WAYS, stream, sending, lambda event: None)
    assert result["settled"]
    for way, found in zip(WAYS, result["streams"], strict=True):
        assert found["sent"] == found["distinct"] == sending.frames
        assert found["arrived"] == {str(way.receive): sending.frames}
        wrong = (
            "unsent",
            "lost",
            "duplicates",
            "reordered",
            "corrupted",
            "misrouted",
            "wrong_size",
        )
        assert [found[name] for name in wrong] == [0] * len(wrong)
    for port in result["ports"]:
        assert port["corrupted"] == port["stale"] == port["device_errors"] == 0


@pytest.mark.parametrize(
    "stream",
    [Stream(64), Stream(1518), Stream(64, flows=256), Stream(68, more={"vlans": [100]})],
    ids=repr,
)
def test_packet_sockets_on_the_ends_of_a_cable(apart: Apart, stream: Stream) -> None:
    with apart(PACKET_SOCKETS) as tgen:
        assert_all_arrive(tgen, stream)


def test_libpcap_on_the_ends_of_a_cable(apart: Apart) -> None:
    with apart(("net_pcap0,iface=veth0", "net_pcap1,iface=veth1")) as tgen:
        assert_all_arrive(tgen, Stream(512))


def test_an_xdp_socket_on_one_end_of_a_cable(apart: Apart) -> None:
    """The other end is no XDP socket: the kernel hands no frame from one to another over a veth.

    The kernel takes frames from such a socket that it never puts on the cable, mostly in the first
    milliseconds, and more of them on a busy machine. So what is lost is not judged but counted: as
    many frames arrive as the device has sent, and the generator knows of all the others.
    """
    devices = ("net_af_xdp0,iface=veth0", "net_af_packet1,iface=veth1")
    try:
        with apart(devices, max_frame=1518) as tgen:
            tgen.ports()
            result = trial(tgen, WAYS, Stream(1518), SENDING, lambda event: None)
            on_cable = sent_by("veth0", tgen)
    except ComponentError as error:
        why = error.problems[0].why or ""
        if "xdp" not in why:
            raise
        not_here("xdp", f"no XDP sockets: {why}")
    out, back = result["streams"]
    assert out["sent"] == back["sent"] == back["distinct"] == FRAMES
    assert 0 < out["distinct"] == FRAMES - out["lost"] == on_cable
    assert [port["corrupted"] + port["foreign"] for port in result["ports"]] == [0, 0]


def sent_by(device: str, tgen: Tgen) -> int:
    """Return how many frames the kernel has sent on a device in the namespace of this tgen."""
    table = Path(f"/proc/{tgen.process.pid}/net/dev").read_text()
    (row,) = (line.split(":")[1] for line in table.splitlines() if f"{device}:" in line)
    return int(row.split()[9])


def test_tap_devices_that_the_kernel_bridges(apart: Apart) -> None:
    prepare = "ip link add br0 type bridge mcast_snooping 0\nip link set br0 up"
    with apart(("net_tap0,iface=tap0", "net_tap1,iface=tap1"), prepare) as tgen:
        for name in ("tap0", "tap1"):
            within(tgen, "ip", "link", "set", name, "master", "br0")
        # Each address is known before a frame goes to it, and no port is still being checked.
        within(tgen, "sh", "-c", "until ! bridge link | grep -vq forwarding; do :; done")
        stream = Stream(256)
        tgen.ask("configure", streams=[stream.on(way) for way in WAYS])
        tgen.ask("learn")
        assert_all_arrive(tgen, stream)


def within(tgen: Tgen, *argv: str) -> None:
    """Run a program in the namespace of this tgen."""
    enter = ("nsenter", f"--net=/proc/{tgen.process.pid}/ns/net", "--")
    subprocess.run([*enter, *argv], check=True, timeout=20)


@pytest.mark.parametrize("kind", ["vhost-user", "vhost-user-client"])
@pytest.mark.parametrize("queues", [1, 2])
@pytest.mark.needs("tgen", "dpdk-testpmd")
def test_vhost_user_whoever_calls_and_on_several_queues(
    kind: str, queues: int, tmp_path: Path
) -> None:
    """A trial goes ahead: a switch that has just been joined may need a moment for all queues."""
    options = replace(OPTIONS, queues=queues)
    with through_testpmd(tmp_path, queues=queues, calls=kind == "vhost-user-client") as switch:
        endpoints = [endpoint.model_copy(update={"kind": kind}) for endpoint in switch.endpoints]
        ports = [port_of(endpoint, number, options) for number, endpoint in enumerate(endpoints)]
        with running(ports, options) as tgen:
            for port in tgen.ports():
                assert port["transmit_queues"] == port["receive_queues"] == queues
            trial(tgen, WAYS, Stream(64), Sending("1000", frames=100), lambda event: None)
            assert_all_arrive(tgen, Stream(64, flows=64), IN_A_RING)


@pytest.mark.parametrize("size", [64, 9216])
@pytest.mark.needs("tgen")
def test_memif_between_two_ports_of_one_process(size: int, tmp_path: Path) -> None:
    shared = f"id=0,socket={tmp_path}/memif.sock,socket-abstract=no"
    devices = (f"net_memif0,role=server,{shared}", f"net_memif1,role=client,{shared}")
    with at_hand(devices, OPTIONS) as tgen:
        assert_all_arrive(tgen, Stream(size))


@pytest.mark.needs("tgen")
def test_a_pcap_file_takes_all_that_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "sent.pcap"
    with at_hand([f"net_pcap0,tx_pcap={file}"], OPTIONS) as tgen:
        found = alone(tgen)
    assert found["streams"][0]["sent"] == found["streams"][0]["lost"] == FRAMES
    assert file.stat().st_size == 24 + FRAMES * (16 + 60)


@pytest.mark.needs("tgen")
def test_frames_from_a_pcap_file_are_of_another_trial(tmp_path: Path) -> None:
    """They were true frames of tgen once; a trial that runs now has nothing to do with them."""
    file = tmp_path / "sent.pcap"
    with at_hand([f"net_pcap0,tx_pcap={file}"], OPTIONS) as tgen:
        alone(tgen, frames=10, number=7)
    device = f"net_pcap0,rx_pcap={file},infinite_rx=1"
    with at_hand([device], OPTIONS) as tgen:
        found = alone(tgen, number=8, drain_ns=60_000_000_000)
    assert found["streams"][0]["received"] == 0
    assert found["ports"][0]["stale"] > 0
    assert found["settled"], "what goes on coming from elsewhere keeps no trial waiting"


def alone(tgen: Tgen, frames: int = FRAMES, **more: Any) -> dict[str, Any]:
    """Return the result of a trial on one port."""
    (way,) = directions_between(1, "both")
    tgen.ask("configure", streams=[Stream(64).on(way)])
    result: dict[str, Any] = tgen.ask("trial", frames=frames, rate_fps=20_000, **more)
    return result


@pytest.mark.needs("tgen")
def test_a_port_whose_number_at_dpdk_is_above_all_that_tgen_has() -> None:
    """Devices that are made of others take numbers for all of their parts."""
    pairs = [(2 * number, 2 * number + 1) for number in range(6)]
    nested = [
        f"net_failsafe{number},dev(net_null{first}),dev(net_null{second})"
        for number, (first, second) in enumerate(pairs)
    ]
    with at_hand([*nested, "net_ring0"], OPTIONS) as tgen:
        ports = tgen.ask("ports")["ports"]
        assert [port["port"] for port in ports] == list(range(7))
        last = next(port["port"] for port in ports if port["name"] == "net_ring0")
        way = TrafficDirection("the ring to itself", last, last)
        found = trial(tgen, [way], Stream(64), Sending(frames=1000), lambda event: None)
    assert found["streams"][0]["arrived"] == {str(last): 1000}


HOLDER = """
import os, socket, sys, time
owner, device, held = int(sys.argv[1]), socket.if_nametoindex(sys.argv[2]), sys.argv[3]
socket_of_others = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
socket_of_others.bind((sys.argv[4], 3))
number = (owner ^ device) & 0xFFFF  # as the driver of DPDK makes it
socket_of_others.setsockopt(263, 18, (0x9000 << 16 | number) - (1 << 32))
open(held, "w").close()
while os.getppid() == owner:
    time.sleep(0.01)
"""
"""Has the number that a process will want for a device, for another device, until it ends."""


def number_taken(folder: Path, times: int) -> str:
    """Return what makes a cable and takes the number of one of its ends, so many starts long."""
    holder, starts = folder / "holder.py", folder / "starts"
    holder.write_text(HOLDER)
    return f"""{VETH}
ip link add other type veth peer name another
echo >> {starts}
if [ $(wc -l < {starts}) -le {times} ]; then
    rm -f {folder}/held
    python3 {holder} $$ veth1 {folder}/held other &
    until [ -e {folder}/held ]; do sleep 0.01; done
fi
"""


def test_a_packet_socket_whose_number_another_program_has_is_tried_again(
    apart: Apart, tmp_path: Path
) -> None:
    """DPDK goes on with the ports that it could make."""
    with apart(PACKET_SOCKETS, number_taken(tmp_path, 2)) as tgen:
        assert [port["name"] for port in tgen.ports()] == ["net_af_packet0", "net_af_packet1"]
    assert len((tmp_path / "starts").read_text()) == 3


def test_a_packet_socket_that_can_never_be_had_is_an_error(apart: Apart, tmp_path: Path) -> None:
    with pytest.raises(ComponentError) as caught, apart(PACKET_SOCKETS, number_taken(tmp_path, 9)):
        pass
    (problem,) = caught.value.problems
    assert "packet socket" in problem.what
    assert "veth1" in (problem.why or "")


def test_a_port_that_dpdk_could_not_make_is_missed(apart: Apart) -> None:
    with (
        apart(("net_ring0", "net_af_packet1,iface=nowhere")) as tgen,
        pytest.raises(ComponentError, match="no port net_af_packet1") as caught,
    ):
        tgen.ports()
    (problem,) = caught.value.problems
    assert "net_af_packet1: ioctl failed" in (problem.why or "")
