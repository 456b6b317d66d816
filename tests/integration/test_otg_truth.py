"""What `vsperf otg serve` tells is what happened: on the wire, in time, and of what was refused."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Require
from otg_documents import config, flow, packet, value
from otg_servers import (
    PATIENCE_S,
    ask,
    fixture_server,
    flow_metrics,
    otg_server,
    port_metrics,
    sent,
    stopped,
    transmit,
)

from vsperf.otg.server import OtgServer

pytestmark = pytest.mark.machine
__all__ = ["fixture_server"]

ENDLESS = {"choice": "continuous", "continuous": {}}
DOWNWARDS = {"choice": "decrement", "decrement": {"start": 9, "step": 2, "count": 3}}
IN_A_FILE = packet(udp={"src_port": DOWNWARDS})
"""Headers that tgen cannot make by itself."""


@pytest.fixture(name="url")
def fixture_url(server: OtgServer) -> str:
    """Where it is; nothing is configured."""
    assert ask(server.url, "POST", "/config", {})[0] == 200
    return server.url


@pytest.fixture(name="ring", scope="module")
def fixture_ring(require: Require) -> Iterator[str]:
    """A server whose ports give back what they get, at once."""
    require("tgen")
    with otg_server() as server:
        yield server.url


def configured(url: str, content: dict[str, Any]) -> None:
    status, answer = ask(url, "POST", "/config", content)
    assert status == 200, answer


def to_itself(name: str = "f", **changes: Any) -> dict[str, Any]:
    """Return a flow from a port to itself."""
    return flow(
        name, tx_rx={"choice": "port", "port": {"tx_name": "a", "rx_names": ["a"]}}, **changes
    )


def wait_until_sent(url: str, least: int, name: str = "f") -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        (one,) = flow_metrics(url, name)
        if int(one["frames_tx"]) >= least:
            return one
        assert time.monotonic() < deadline, one


def wait_until_stopped(url: str, name: str) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        (one,) = flow_metrics(url, name)
        if one["transmit"] == "stopped":
            return one
        assert time.monotonic() < deadline, one
        time.sleep(0.02)


class TestRefusals:
    """What is refused changes nothing."""

    @pytest.mark.parametrize("method", ["POST", "PATCH"])
    def test_traffic_goes_on_with_the_frames_that_it_had(
        self, method: str, url: str, server: OtgServer
    ) -> None:
        content = config(flow(packet=IN_A_FILE, duration=ENDLESS))
        configured(url, content)
        files = {file: file.read_bytes() for file in server.generator.folder.glob("*/*.pcap")}
        assert len(files) == 1
        assert transmit(url, "start")[0] == 200
        other = packet(udp={"src_port": DOWNWARDS, "dst_port": value(99)})
        refused: dict[str, Any] = config(flow(packet=other), flow("g", wings=2))
        if method == "PATCH":
            changes = {"property_names": ["size"], "flows": [flow(size={"fixed": 9217})]}
            refused = {"choice": "flows", "flows": changes}
        assert ask(url, method, "/config", refused)[0] in (400, 409)
        assert ask(url, "GET", "/config") == (200, content)
        assert flow_metrics(url)[0]["transmit"] == "started"
        assert transmit(url, "stop")[0] == 200
        left = {file: file.read_bytes() for file in server.generator.folder.glob("*/*.pcap")}
        assert left == files
        transmit(url, "start")
        transmit(url, "stop")
        (one,) = stopped(url)
        assert one["frames_rx"] == one["frames_tx"]

    def test_what_only_tgen_refuses_leaves_the_streams_that_there_were(
        self, url: str, server: OtgServer
    ) -> None:
        content = config(flow())
        configured(url, content)
        group = packet()
        group[0]["ethernet"]["src"] = value("01:00:5e:00:00:01")
        status, answer = ask(url, "POST", "/config", config(flow(packet=group)))
        assert status == 400 and "group address" in answer["errors"][0]
        assert ask(url, "GET", "/config") == (200, content)
        (one,) = sent(url)
        assert one["frames_rx"] == "100"

    def test_files_of_a_configuration_go_with_it(self, url: str, server: OtgServer) -> None:
        for _ in range(3):
            configured(url, config(flow(packet=IN_A_FILE)))
            assert len(list(server.generator.folder.glob("flows-*"))) == 1
        configured(url, config(flow()))
        assert list(server.generator.folder.glob("flows-*")) == []


class TestFrames:
    """Each frame that arrives is known, whatever its headers say."""

    @pytest.mark.parametrize("port", [1701, 2152, 4500, 4789, 6081])
    def test_at_ports_of_tunnels(self, port: int, url: str) -> None:
        listed = packet(udp={"dst_port": value(port), "src_port": DOWNWARDS})
        configured(url, config(flow(packet=listed)))
        (one,) = sent(url)
        assert (one["frames_tx"], one["frames_rx"], one["loss"]) == ("100", "100", 0)

    @pytest.mark.parametrize("tpid", [0x9100, 0x9200, 0x9300])
    def test_behind_tags_of_other_types(self, tpid: int, url: str) -> None:
        configured(url, config(flow(packet=packet(vlans=[{"id": value(5), "tpid": value(tpid)}]))))
        (one,) = sent(url)
        assert (one["frames_tx"], one["frames_rx"], one["loss"]) == ("100", "100", 0)

    @pytest.mark.parametrize("tags", [0, 1])
    def test_the_longest_that_a_port_takes_arrive_and_longer_ones_are_refused(
        self, tags: int, url: str
    ) -> None:
        longest = 1518 + 4 * tags
        headers = packet(vlans=[{"id": value(5)}] * tags)
        configured(url, config(flow(packet=headers, size={"fixed": longest})))
        (one,) = sent(url)
        assert (one["frames_tx"], one["frames_rx"]) == ("100", "100")
        longer = config(flow(packet=headers, size={"fixed": longest + 1}))
        status, answer = ask(url, "POST", "/config", longer)
        assert status == 400
        assert f"too many for port 'a': {longest}" in answer["errors"][0]

    def test_bytes_are_those_of_the_frames_that_are_counted(self, url: str) -> None:
        configured(url, config(flow(tx_rx={"port": {"tx_name": "a", "rx_names": ["a"]}})))
        (one,) = sent(url)  # all of them arrive at the other port
        assert (one["frames_tx"], one["frames_rx"], one["bytes_rx"]) == ("100", "0", "0")

    def test_a_port_whose_link_is_down_is_down(self, url: str, server: OtgServer) -> None:
        configured(url, config(flow()))
        inside = (
            "nsenter",
            f"--net=/proc/{server.generator.tgen.process.pid}/ns/net",
            "ip",
            "link",
        )
        assert {port["link"] for port in port_metrics(url).values()} == {"up"}
        subprocess.run([*inside, "set", "veth1", "down"], check=True)
        try:
            assert {port["link"] for port in port_metrics(url).values()} == {"down"}
        finally:
            subprocess.run([*inside, "set", "veth1", "up"], check=True)
        assert {port["link"] for port in port_metrics(url).values()} == {"up"}


class TestTime:
    """Flows end when they should, each by itself, and who did not keep its rate is told."""

    def test_one_that_has_sent_all_has_stopped_though_another_goes_on(self, ring: str) -> None:
        configured(ring, config(to_itself("f"), to_itself("g", duration=ENDLESS)))
        assert transmit(ring, "start")[0] == 200
        one = wait_until_stopped(ring, "f")
        assert (one["frames_tx"], one["frames_rx"], one["loss"]) == ("100", "100", 0)
        assert one["bytes_rx"] == str(100 * 128)
        assert flow_metrics(ring, "g")[0]["transmit"] == "started"
        assert port_metrics(ring)["a"]["transmit"] == "started"
        assert transmit(ring, "stop", "f") == (200, {"warnings": []})
        assert flow_metrics(ring, "g")[0]["transmit"] == "started"
        assert transmit(ring, "stop", "g")[0] == 200
        assert flow_metrics(ring, "f")[0]["frames_rx"] == "100"

    def test_a_time_ends_beside_what_goes_on_whatever_is_left_to_send(self, ring: str) -> None:
        timed = {"choice": "fixed_seconds", "fixed_seconds": {"seconds": 0.3}}
        fast = to_itself("f", duration=timed, rate={"pps": 10**9})
        configured(ring, config(fast, to_itself("g", duration=ENDLESS, rate={"pps": 100})))
        assert transmit(ring, "start")[0] == 200
        one = wait_until_stopped(ring, "f")
        assert 0 < int(one["frames_tx"]) < 3 * 10**8
        assert flow_metrics(ring, "g")[0]["transmit"] == "started"
        status, answer = transmit(ring, "stop")
        assert status == 200
        told = [text for text in answer["warnings"] if "flow 'f'" in text]
        assert told and "of the 300000000 frames that were due have left" in told[0]
        assert flow_metrics(ring, "f")[0]["frames_tx"] == one["frames_tx"]

    def test_a_rate_that_was_not_reached_is_told_by_stop_and_in_the_log(
        self, require: Require
    ) -> None:
        require("tgen")
        log: list[str] = []
        with otg_server(say=log.append) as server:
            url = server.url
            configured(url, config(to_itself(duration=ENDLESS, rate={"pps": 10**9})))
            assert transmit(url, "start")[0] == 200
            wait_until_sent(url, 1000)
            _, answer = transmit(url, "stop")
            assert "its rate of 1e+09 frames a second was not reached" in answer["warnings"][0]
            assert log == answer["warnings"]
            assert transmit(url, "stop")[1] == answer

    def test_a_rate_that_is_too_high_for_anybody_is_refused_where_it_is_set(
        self, ring: str
    ) -> None:
        status, answer = ask(ring, "POST", "/config", config(to_itself(rate={"pps": 10**12})))
        assert status == 400
        assert "flows[0].rate.pps: must be" in answer["errors"][0]


def test_ports_tell_all_that_clients_of_the_model_look_for(ring: str) -> None:
    configured(ring, config(to_itself()))
    sent(ring)
    for port in port_metrics(ring).values():
        assert port["capture"] == "stopped"
        assert port["bytes_tx_rate"] == port["bytes_rx_rate"] == 0
