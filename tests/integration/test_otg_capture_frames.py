"""Captures of `vsperf otg serve`: the frames that a port really got, byte by byte."""

from __future__ import annotations

import ipaddress
import select
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import snappi
from cable import apart, fixture_cables
from conftest import Require
from otg_documents import config, flow, increment, packet
from otg_servers import (
    PATIENCE_S,
    RINGS,
    ask,
    flow_metrics,
    otg_server,
    port_metrics,
    sent,
    transmit,
)
from scapy.utils import RawPcapReader

from vsperf.otg.captures import MOST_FRAMES
from vsperf.otg.server import OtgServer

pytestmark = pytest.mark.machine
__all__ = ["fixture_cables"]

ETH_P_ALL = 3
SOURCE_IP = slice(26, 30)


@pytest.fixture(name="ring", scope="module")
def fixture_ring(require: Require) -> Iterator[str]:
    """A server whose ports give back what they get, at once."""
    require("tgen")
    with otg_server(RINGS) as server:
        yield server.url


def configured(url: str, content: dict[str, Any]) -> None:
    status, answer = ask(url, "POST", "/config", content)
    assert status == 200, answer


def capture(url: str, state: str) -> list[str]:
    """Start or stop all captures; return what is told of them."""
    body = {"choice": "port", "port": {"choice": "capture", "capture": {"state": state}}}
    status, answer = ask(url, "POST", "/control/state", body)
    assert status == 200, answer
    warnings: list[str] = answer["warnings"]
    return warnings


def captured(url: str, port: str, folder: Path) -> list[bytes]:
    """Return the frames in the file of a port."""
    request = snappi.CaptureRequest(port_name=port)
    content = snappi.api(location=url, version_check=True).get_capture(request).read()
    file = folder / f"{port}.pcap"
    file.write_bytes(content)
    with RawPcapReader(str(file)) as reader:
        return [frame for frame, _ in reader]


def wanted(*ports: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "port_names": list(ports), **more}]


@dataclass
class Bridge:
    """Carries frames from one cable to another, adds some of its own, and sees what arrives."""

    reading: socket.socket
    writing: socket.socket
    sniffer: socket.socket
    arrived: list[bytes] = field(default_factory=list)

    def carry_on(self, over: threading.Event) -> None:
        while not over.is_set():
            ready, _, _ = select.select([self.reading, self.sniffer], [], [], 0.1)
            for one in ready:
                frame, (_, _, kind, *_) = one.recvfrom(2048)
                if kind == socket.PACKET_OUTGOING:
                    continue
                if one is self.reading:
                    self.writing.send(frame)
                else:
                    self.arrived.append(frame)

    def add(self, number: int) -> bytes:
        """Send a frame that is nobody's, and wait until it has arrived."""
        frame = bytes.fromhex("020100000001 02aabbccddee 88b5") + bytes([number]) * 50
        self.writing.send(frame)
        self.until(lambda: frame in self.arrived)
        return frame

    def until(self, holds: Any) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, f"{len(self.arrived)} frames have arrived"
            time.sleep(0.01)


@contextmanager
def bridged(enters: str, leaves: str, port: str) -> Iterator[Bridge]:
    over = threading.Event()
    family = (socket.AF_PACKET, socket.SOCK_RAW)
    with (
        socket.socket(*family, socket.htons(ETH_P_ALL)) as reading,
        socket.socket(*family, 0) as writing,
        socket.socket(*family, socket.htons(ETH_P_ALL)) as sniffer,
    ):
        reading.bind((enters, ETH_P_ALL))
        writing.bind((leaves, 0))
        sniffer.bind((port, ETH_P_ALL))
        bridge = Bridge(reading, writing, sniffer)
        thread = threading.Thread(target=bridge.carry_on, args=(over,))
        thread.start()
        try:
            yield bridge
        finally:
            over.set()
            thread.join()


@contextmanager
def bridged_server(queues: int = 1) -> Iterator[tuple[Bridge, OtgServer]]:
    """Serve on the ends of two cables that a bridge joins, with a flow whose end is captured."""
    ports = [f"p{n + 1}=net_af_packet{n},iface=vscable{n}g,qpairs={queues}" for n in range(2)]
    headers = packet(ip={"src": increment("10.0.0.1", 7)})
    with (
        bridged("vscable0s", "vscable1s", "vscable1g") as bridge,
        otg_server(ports, queues=queues) as server,
    ):
        configured(server.url, config(flow(packet=headers), captures=wanted("b")))
        yield bridge, server


def of_flow(frames: list[bytes]) -> list[bytes]:
    """Return those of the flow: nothing else is as long."""
    return [frame for frame in frames if len(frame) == 128 - 4]


def test_a_capture_has_what_the_port_got_in_trials_and_between_marked_or_not(
    cables: None, tmp_path: Path
) -> None:
    with bridged_server() as (bridge, server):
        url = server.url
        before = bridge.add(1)
        capture(url, "start")
        assert port_metrics(url)["b"]["capture"] == "started"
        idle = bridge.add(2)
        (one,) = sent(url)
        bridge.until(lambda: len(of_flow(bridge.arrived)) == 100)
        third = bridge.add(3)
        bridge.add(4)  # since it has arrived, tgen's ring has all that came before
        capture(url, "stop")
        assert port_metrics(url)["b"]["capture"] == "stopped"
        frames = captured(url, "b", tmp_path)
        assert len(list(server.generator.folder.glob("capture-*"))) == 1
        configured(url, config(flow()))
        assert list(server.generator.folder.glob("capture-*")) == []
    assert one["frames_tx"] == "100"
    assert before not in frames
    assert third in frames
    assert idle in frames
    arrived = bridge.arrived[bridge.arrived.index(idle) : bridge.arrived.index(third) + 1]
    begin = frames.index(idle)
    assert frames[begin : begin + len(arrived)] == arrived
    assert len(of_flow(frames)) == 100
    for number, frame in enumerate(of_flow(frames)):
        assert frame[:14] == bytes.fromhex("020100000001 020000000001 0800")
        assert ipaddress.IPv4Address(frame[SOURCE_IP]) == ipaddress.IPv4Address("10.0.0.1") + (
            number % 7
        )


def test_a_capture_has_the_frames_of_all_queues_each_once_and_in_order(
    cables: None, tmp_path: Path
) -> None:
    with bridged_server(queues=2) as (bridge, server):
        url = server.url
        capture(url, "start")
        sent(url)
        bridge.until(lambda: len(of_flow(bridge.arrived)) == 100)
        bridge.add(5)
        bridge.add(6)  # since it has arrived, the rings of both queues have all that came before
        capture(url, "stop")
        frames = captured(url, "b", tmp_path)
    assert by_source(of_flow(frames)) == by_source(of_flow(bridge.arrived))


def by_source(frames: list[bytes]) -> dict[bytes, list[bytes]]:
    """Return the frames of each address, in their order: a queue gets all of one."""
    found: dict[bytes, list[bytes]] = defaultdict(list)
    for frame in frames:
        found[frame[SOURCE_IP]].append(frame)
    return found


def to_itself(**changes: Any) -> dict[str, Any]:
    ends = {"choice": "port", "port": {"tx_name": "a", "rx_names": ["a"]}}
    return flow(tx_rx=ends, packet=packet(ip={"src": increment("10.0.0.0", 1 << 20)}), **changes)


def numbers(frames: list[bytes]) -> list[int]:
    """Return which frames of a flow to itself these are, as the first 2^20 tell."""
    return [int.from_bytes(frame[SOURCE_IP]) - (10 << 24) for frame in frames]


def test_it_begins_and_ends_in_mid_traffic_which_goes_on(ring: str, tmp_path: Path) -> None:
    endless = {"choice": "continuous", "continuous": {}}
    configured(ring, config(to_itself(duration=endless), captures=wanted("a", packet_size=60)))
    assert transmit(ring, "start")[0] == 200
    capture(ring, "start")
    begun = int(flow_metrics(ring)[0]["frames_rx"])
    deadline = time.monotonic() + PATIENCE_S
    while int(flow_metrics(ring)[0]["frames_rx"]) < begun + 200:
        assert time.monotonic() < deadline
    assert capture(ring, "stop") == []
    assert port_metrics(ring)["a"]["transmit"] == "started"
    seen = numbers(captured(ring, "a", tmp_path))
    assert len(seen) >= 200
    assert seen == list(range(seen[0], seen[0] + len(seen)))
    assert transmit(ring, "stop")[0] == 200
    (one,) = flow_metrics(ring)
    assert one["frames_rx"] == one["frames_tx"]


@pytest.mark.parametrize("last", [True, False])
def test_there_is_room_for_so_many_frames_and_what_is_left_out_is_told(
    last: bool, ring: str, tmp_path: Path
) -> None:
    count = MOST_FRAMES + 5000
    many = {"choice": "fixed_packets", "fixed_packets": {"packets": count}}
    fast = to_itself(duration=many, rate={"pps": 200_000}, size={"fixed": 64})
    configured(ring, config(fast, captures=wanted("a", overwrite=last)))
    capture(ring, "start")
    (one,) = sent(ring)
    assert one["frames_rx"] == str(count)
    (told,) = capture(ring, "stop")
    end = "last" if last else "first"
    assert f"port 'a': its capture has the {end} {MOST_FRAMES} of the {count} frames" in told
    first = count - MOST_FRAMES if last else 0
    seen = numbers(captured(ring, "a", tmp_path))
    assert seen == list(range(first, first + MOST_FRAMES))


@pytest.mark.needs("tgen", "namespaces")
def test_a_full_disk_is_told_and_the_next_capture_is_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    prepare = f"mount -t tmpfs -o size=32k none '{small}'\n"
    with apart(tmp_path, prepare=prepare), otg_server(("p1=net_ring0", "p2=net_ring1")) as server:
        url = server.url
        monkeypatch.setattr(server.generator._captures, "folder", small)
        configured(url, config(to_itself(size={"fixed": 1518}), captures=wanted("a")))
        capture(url, "start")
        sent(url)
        body = {"choice": "port", "port": {"choice": "capture", "capture": {"state": "stop"}}}
        status, answer = ask(url, "POST", "/control/state", body)
        assert (status, "No space left" in answer["errors"][0]) == (500, True)
        assert port_metrics(url)["a"]["capture"] == "stopped"
        assert ask(url, "POST", "/monitor/capture", {"port_name": "a"})[0] == 409
        monkeypatch.setattr(server.generator._captures, "folder", server.generator.folder)
        capture(url, "start")
        sent(url)
        assert capture(url, "stop") == []
        assert len(captured(url, "a", tmp_path)) == 100
