"""Connections of a real tgen, by TCP and UDP: with itself, and with ends that are others'."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import pytest
from cable import tgen_apart
from captures import dissected
from loopbacks import OPTIONS, PATIENCE_S, reference_dut

from vsperf.drivers.generators.tgen.byhand import at_hand
from vsperf.drivers.generators.tgen.client import TgenError
from vsperf.drivers.generators.tgen.connections import (
    ByClock,
    ClientEnd,
    Connections,
    ServerEnd,
    SynFlood,
    make_connections,
)
from vsperf.drivers.generators.tgen.process import Tgen

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen")]

SECOND_NS = 1_000_000_000
ON_A_RING = Connections(ClientEnd(addresses=2), ServerEnd(port=0), repeat_ns=20 * SECOND_NS)
"""Both ends at one port, which gives back what it gets: nothing is lost, however late it is."""
WARNING = 0x600000
"""The least severity of tshark's expert that is one."""


@pytest.mark.everyday
def test_thousands_of_connections_are_all_accounted_for_at_both_ends() -> None:
    asked = replace(ON_A_RING, rate_cps=20_000, connections=10_000, requests=2, response_bytes=3000)
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        made, _ = make_connections(tgen, asked)
    assert made.settled
    assert made.client is not None
    assert made.server is not None
    assert made.client.completed == made.client.intended == 10_000
    assert made.client.failed == {}
    assert made.client.responses == 20_000
    assert made.client.response_bytes == 20_000 * 3000
    assert made.server.accepted == made.server.closed == 10_000
    assert made.server.requests == 20_000
    assert made.client_segments is not None
    assert made.client_segments.stray == made.client_segments.damaged == 0
    assert made.times is not None
    assert made.times.first_response is not None


@pytest.mark.needs("tgen-dut")
def test_a_device_in_between_has_forwarded_what_both_ends_have_counted(tmp_path: Path) -> None:
    asked = replace(ON_A_RING, client=ClientEnd(), server=ServerEnd(), rate_cps=1000)
    with reference_dut(tmp_path) as device, at_hand(device.devices, OPTIONS) as tgen:
        tgen.ports()
        made, _ = make_connections(tgen, replace(asked, connections=1000))
    assert made.client is not None
    assert made.client_segments is not None
    assert made.server_segments is not None
    assert made.client.completed == 1000
    forwarded = [port["other"] for port in device.report["ports"]]
    sent = [made.client_segments.segments_sent, made.server_segments.segments_sent]
    assert forwarded == sent == [4000, 3000]


def test_connections_that_are_held_are_open_at_the_same_time() -> None:
    """And slots of time say how many were, whenever the machine let them begin."""
    asked = replace(
        ON_A_RING, rate_cps=5000, connections=2000, hold_ns=10 * SECOND_NS, slot_ns=100_000_000
    )
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        made, _ = make_connections(tgen, asked)
    assert made.client is not None
    assert made.server is not None
    assert made.slots is not None
    assert made.client.completed == made.client.most_established == 2000
    assert made.server.most_connections == 2000
    assert max(made.slots.established) == 2000
    assert sum(made.slots.launched) == sum(made.slots.completed) == 2000


@pytest.mark.everyday
def test_each_request_by_a_clock_is_accounted_for_and_so_are_its_packets() -> None:
    """However often the machine was away: until all have been asked there is time."""
    by_clock = ByClock(rate_rps=20_000, duration_ns=60 * SECOND_NS, requests=20_000)
    asked = replace(
        ON_A_RING, rate_cps=10_000, connections=1000, asking=by_clock, slot_ns=100_000_000
    )
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        made, _ = make_connections(tgen, asked)
    assert made.settled
    assert made.client is not None and made.asking is not None and made.slots is not None
    assert made.client.completed == made.client.most_established == 1000
    assert made.asking.asked == made.asking.replied == 20_000
    assert made.client.responses == 21_000
    assert made.asking.failed == {}
    # A request, its response, and what acknowledges that.
    assert made.asking.client.segments_sent == made.asking.server.segments_received == 40_000
    assert made.asking.server.segments_sent == made.asking.client.segments_received == 20_000
    assert made.slots.asked is not None and made.slots.replied is not None
    assert sum(made.slots.asked) == sum(made.slots.replied) == 20_000


@pytest.mark.parametrize("answered", [False, True])
def test_a_flood_takes_nothing_from_connections_and_is_counted_at_both_ends(answered: bool) -> None:
    flood = SynFlood(rate_fps=50_000, answered=answered)
    asked = replace(ON_A_RING, rate_cps=5_000, connections=5_000, flood=flood)
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        made, _ = make_connections(tgen, asked)
    assert made.client is not None and made.server is not None and made.flood is not None
    assert made.client.completed == made.server.accepted == 5_000
    # What was sent last may still be on its way when connections are over.
    assert made.flood.sent - 64 <= made.flood.arrived <= made.flood.sent
    assert made.flood.sent > 5_000
    assert (made.flood.answered > 0) == answered
    assert made.flood.answered <= made.flood.arrived
    assert made.flood.refused == 0
    # Segments are those of connections.
    assert made.client_segments is not None and made.server_segments is not None
    assert made.server_segments.segments_received == made.client_segments.segments_sent
    assert made.server_segments.segments_sent == made.client_segments.segments_received


def test_where_nobody_listens_connections_are_refused_and_where_nobody_is_they_time_out() -> None:
    nobody = ClientEnd(target_port=81)
    alone = Connections(ClientEnd(), None, rate_cps=1000, connections=500)
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        refused, _ = make_connections(
            tgen, Connections(nobody, ServerEnd(port=0), rate_cps=1000, connections=500)
        )
        silent, _ = make_connections(tgen, replace(alone, attempts=2, repeat_ns=100_000_000))
    assert refused.client is not None
    assert refused.client.failed == {"refused": 500}
    assert silent.client is not None
    assert silent.client.failed == {"no_answer": 500}
    assert silent.client.repeated_syns == 500


@pytest.mark.everyday
def test_thousands_of_flows_of_udp_are_all_accounted_for_at_both_ends() -> None:
    asked = replace(ON_A_RING, protocol="udp", rate_cps=20_000, connections=10_000, requests=2)
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        made, _ = make_connections(tgen, asked)
    assert made.settled
    assert made.client is not None and made.server is not None
    assert made.client.completed == made.client.intended == 10_000
    assert made.client.failed == {}
    assert made.client.responses == made.server.requests == made.server.accepted == 20_000
    assert made.client.response_bytes == 20_000 * asked.response_bytes
    assert made.client_segments is not None and made.server_segments is not None
    assert made.client_segments.segments_sent == made.server_segments.segments_received == 20_000
    assert made.client_segments.segments_received == made.server_segments.segments_sent == 20_000
    assert made.client_segments.stray == made.client_segments.disordered == 0
    assert made.times is not None and made.times.first_response is not None


def test_flows_of_udp_that_are_held_are_open_at_the_same_time_and_hear_of_it() -> None:
    asked = replace(
        ON_A_RING, protocol="udp", rate_cps=5000, connections=2000, hold_ns=10 * SECOND_NS
    )
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        made, _ = make_connections(tgen, asked)
    assert made.client is not None and made.server is not None
    assert made.client.completed == made.client.most_established == 2000
    assert made.server.most_connections == 2000
    assert made.server_segments is not None
    assert made.server_segments.segments_sent == 4000


def test_requests_by_a_clock_go_over_flows_of_udp() -> None:
    by_clock = ByClock(rate_rps=20_000, duration_ns=60 * SECOND_NS, requests=20_000)
    asked = replace(ON_A_RING, protocol="udp", rate_cps=10_000, connections=1000, asking=by_clock)
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        made, _ = make_connections(tgen, asked)
    assert made.client is not None and made.asking is not None
    assert made.client.completed == 1000
    assert made.asking.asked == made.asking.replied == 20_000
    assert made.asking.client.segments_sent == made.asking.client.segments_received == 20_000


def test_where_nobody_is_at_a_port_flows_of_udp_are_refused_and_where_nobody_is_they_time_out() -> (
    None
):
    nobody = Connections(
        ClientEnd(target_port=81), ServerEnd(port=0), protocol="udp", rate_cps=1000, connections=500
    )
    alone = replace(nobody, client=ClientEnd(), server=None)
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        refused, _ = make_connections(tgen, nobody)
        silent, _ = make_connections(tgen, replace(alone, attempts=2, repeat_ns=100_000_000))
    assert refused.client is not None and silent.client is not None
    assert refused.client.failed == {"refused": 500}
    assert silent.client.failed == {"no_answer": 500}
    assert silent.client.repeated_syns == 500


def test_ports_begin_where_they_are_told_to() -> None:
    client = ClientEnd(addresses=2, port_count=100, begin_port=65_500)
    asked = replace(ON_A_RING, client=client, rate_cps=1000, connections=200)
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        made, _ = make_connections(tgen, asked)
    assert made.begin_port == 65_500
    assert made.client is not None and made.client.failed == {}
    assert made.client_segments is not None and made.client_segments.stray == 0


def test_what_is_under_way_when_it_is_stopped_is_told() -> None:
    asked = replace(ON_A_RING, rate_cps=10_000, connections=100_000, hold_ns=60 * SECOND_NS)
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        assert tgen.client is not None
        with pytest.raises(TgenError, match="missing"):
            tgen.ask("connections")
        found = stopped(tgen, asked)
    client, server = found["client"], found["server"]
    assert found["stopped_early"]
    assert client["launched"] == client["unfinished"] + client["given_up"]
    assert client["intended"] == client["launched"] + client["unsent"]
    assert server["accepted"] == server["left"] + server["reset"] + server["half_open"]


def heard(lines: TextIO, number: int) -> dict[str, Any]:
    """Return the answer to one request; others go by."""
    while (answer := json.loads(lines.readline())).get("id") != number:
        pass
    found: dict[str, Any] = answer
    return found


def stopped(tgen: Tgen, asked: Connections) -> dict[str, dict[str, int]]:
    """Return the answer to connections that were stopped when some had begun."""
    assert tgen.client is not None
    line = asked.message() | {"id": 7001, "verb": "connections"}
    with tgen.client.connection.makefile("rw") as lines:
        said = [line, {"id": 7002, "verb": "live"}, {"id": 7003, "verb": "stop"}]
        for request in said:
            print(json.dumps(request), file=lines, flush=True)
            if request["verb"] == "live":
                assert heard(lines, 7002)["result"]["state"] == "connections"
        found: dict[str, dict[str, int]] = heard(lines, 7001)["result"]
    return found


@pytest.mark.needs("tshark")
def test_a_dissector_has_nothing_to_say_against_a_connection(tmp_path: Path) -> None:
    seen = tmp_path / "seen.pcap"
    shared = f"id=0,socket={tmp_path}/memif.sock,socket-abstract=no"
    devices = (f"net_memif0,role=server,{shared}", f"net_memif1,role=client,{shared}")
    asked = Connections(
        ClientEnd(), ServerEnd(), rate_cps=100, connections=1, requests=2, response_bytes=4000
    )
    with at_hand(devices, OPTIONS) as tgen:
        tgen.ports()
        tgen.ask("capture", port=0, path=str(seen), frames=100)
        made, _ = make_connections(tgen, asked)
    assert made.client is not None
    assert made.client.completed == 1
    fields = (
        "tcp.checksum.status",
        "ip.checksum.status",
        "_ws.expert.severity",
        "http.request.method",
        "http.response.code",
        "http.content_length",
        "tcp.completeness",
    )
    frames = dissected(seen, fields)
    for frame in frames:
        assert frame["tcp.checksum.status"] == frame["ip.checksum.status"] == "1"
        severities = [int(one, 0) for one in frame["_ws.expert.severity"].split(",") if one]
        assert all(one < WARNING for one in severities), frame
    assert [frame["http.request.method"] for frame in frames].count("GET") == 2
    assert [frame["http.response.code"] for frame in frames].count("200") == 2
    # SYN, SYN-ACK, ACK, data and FINs, and no RST.
    assert int(frames[-1]["tcp.completeness"], 0) == 31


@pytest.mark.needs("tshark")
def test_a_dissector_has_nothing_to_say_against_a_flow_of_udp(tmp_path: Path) -> None:
    """Nor against what tells a client that nobody is there."""
    seen = [tmp_path / name for name in ("answered.pcap", "refused.pcap")]
    shared = f"id=0,socket={tmp_path}/memif.sock,socket-abstract=no"
    devices = (f"net_memif0,role=server,{shared}", f"net_memif1,role=client,{shared}")
    asked = Connections(
        ClientEnd(), ServerEnd(), protocol="udp", rate_cps=100, connections=1, requests=2
    )
    with at_hand(devices, OPTIONS) as tgen:
        tgen.ports()
        tgen.ask("capture", port=0, path=str(seen[0]), frames=100)
        made, _ = make_connections(tgen, asked)
        tgen.ask("capture", port=0, path=str(seen[1]), frames=100)
        refused, _ = make_connections(tgen, replace(asked, client=ClientEnd(target_port=81)))
    assert made.client is not None and refused.client is not None
    assert (made.client.completed, refused.client.refused) == (1, 1)
    fields = (
        *("udp.checksum.status", "ip.checksum.status", "icmp.checksum.status"),
        *("_ws.expert.severity", "icmp.type", "icmp.code", "udp.length"),
    )
    frames = [frame for path in seen for frame in dissected(path, fields)]
    told = [frame for frame in frames if frame["icmp.type"]]
    for frame in frames:
        assert set(frame["ip.checksum.status"].split(",")) <= {"1", "2"}
        severities = [int(one, 0) for one in frame["_ws.expert.severity"].split(",") if one]
        assert all(one < WARNING for one in severities), frame
    assert [frame["udp.checksum.status"] for frame in frames if not frame["icmp.type"]] == ["1"] * 5
    assert [(frame["icmp.type"], frame["icmp.code"]) for frame in told] == [("3", "3")]
    assert told[0]["icmp.checksum.status"] == "1"


# Beside the kernel, at the other end of a tap.

KERNEL, OURS = "198.18.0.254", "198.18.0.1"


@contextmanager
def beside_the_kernel(folder: Path) -> Iterator[tuple[Tgen, str]]:
    """Start a tgen at a tap; the kernel, at the other end, has an address and this MAC address."""
    with tgen_apart(folder, ("net_tap0,iface=tap0",), "ip link set lo up") as tgen:
        tgen.ports()
        run(tgen, "ip", "address", "add", f"{KERNEL}/24", "dev", "tap0")
        run(tgen, "ip", "link", "set", "tap0", "up")
        (device,) = json.loads(run(tgen, "ip", "-json", "link", "show", "tap0"))
        yield tgen, device["address"]


def within(tgen: Tgen, *words: str) -> list[str]:
    return ["nsenter", f"--net=/proc/{tgen.process.pid}/ns/net", "--", *words]


def run(tgen: Tgen, *words: str) -> str:
    done = subprocess.run(
        within(tgen, *words), capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    return done.stdout


@pytest.mark.needs("namespaces")
def test_a_browser_of_others_is_served(tmp_path: Path) -> None:
    """By the response of a web server, over and over by one connection; and found by ARP."""
    asked = Connections(
        None,
        ServerEnd(port=0, ip=OURS, service_port=80),
        duration_ns=60 * SECOND_NS,
        response_bytes=5000,
    )
    with beside_the_kernel(tmp_path) as (tgen, mac):
        assert tgen.client is not None
        message = asked.message()
        message["server"] |= {"destination_mac": mac}
        with tgen.client.connection.makefile("rw") as lines:
            request = message | {"id": 7001, "verb": "connections"}
            print(json.dumps(request), file=lines, flush=True)
            said = run(tgen, sys.executable, "-c", BROWSE, f"http://{OURS}/")
            print(json.dumps({"id": 7002, "verb": "stop"}), file=lines, flush=True)
            found = heard(lines, 7001)["result"]
    assert said.split() == ["200", "text/plain"] * 3
    assert found["server"]["requests"] == 3
    assert found["server"]["accepted"] == found["server"]["established"] == 1
    assert found["server"]["reset"] == found["server"]["wrong_payload"] == 0
    assert found["ports"][0]["answered"] > 0


BROWSE = """
import http.client, sys, urllib.parse
server = http.client.HTTPConnection(urllib.parse.urlsplit(sys.argv[1]).netloc, timeout=20)
for _ in range(3):
    server.request("GET", "/")
    answer = server.getresponse()
    body = answer.read()
    assert len(body) == int(answer.headers["Content-Length"]) > 4000
    print(answer.status, answer.headers["Content-Type"])
server.close()
"""


@pytest.mark.needs("namespaces")
def test_a_server_of_others_is_asked(tmp_path: Path) -> None:
    """It speaks HTTP/1.0, and closes each connection itself."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("x" * 5000)
    serve = ("-m", "http.server", "8080", "--bind", KERNEL, "--directory", str(tmp_path / "site"))
    with (
        beside_the_kernel(tmp_path) as (tgen, mac),
        subprocess.Popen(
            within(tgen, sys.executable, *serve),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as server,
    ):
        try:
            run(tgen, sys.executable, "-c", UNTIL_IT_LISTENS, KERNEL)
            client = ClientEnd(
                ip=OURS, destination_mac=mac, target_ip=KERNEL, target_port=8080, port_count=50
            )
            asked = Connections(client, None, rate_cps=20, connections=40, attempts=6)
            made, _ = make_connections(tgen, replace(asked, patience_ns=20 * SECOND_NS))
        finally:
            server.kill()
    assert made.client is not None
    assert made.client.failed == {}
    assert made.client.completed == made.client.responses == 40
    assert (made.client.response_bytes or 0) > 40 * 5000


@pytest.mark.needs("namespaces")
def test_a_kernel_that_has_nobody_at_a_port_refuses_flows_of_udp(tmp_path: Path) -> None:
    """By ICMP, a few at once and then one a second for each who asks: the others are repeated."""
    with beside_the_kernel(tmp_path) as (tgen, mac):
        run(tgen, "sysctl", "-qw", "net.ipv4.icmp_ratelimit=0")
        client = ClientEnd(
            ip=OURS, destination_mac=mac, target_ip=KERNEL, target_port=8080, port_count=50
        )
        asked = Connections(client, None, protocol="udp", rate_cps=20, connections=20)
        made, _ = make_connections(tgen, asked)
    assert made.client is not None
    assert made.client.failed == {"refused": 20}


UNTIL_IT_LISTENS = """
import socket, sys, time
while True:
    try:
        socket.create_connection((sys.argv[1], 8080), 1).close()
        break
    except OSError:
        time.sleep(0.05)
"""
