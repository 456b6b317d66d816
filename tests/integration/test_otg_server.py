"""`vsperf otg serve`: what it answers and tells is what happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import Require
from otg_documents import config, flow, increment, packet, value
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
from ovs_traffic import wait_until

from vsperf.host.dead import dead_deployments
from vsperf.otg.server import OtgServer

pytestmark = pytest.mark.machine
__all__ = ["fixture_server"]


# `vsperf otg serve`: tgen answers the HTTP interface of the OTG model, with real frames.

BACK = {"choice": "port", "port": {"tx_name": "b", "rx_names": ["a"]}}


@pytest.fixture(name="url")
def fixture_url(server: OtgServer) -> str:
    """Where it is; nothing is configured."""
    assert ask(server.url, "POST", "/config", {})[0] == 200
    return server.url


def configured(url: str, content: dict[str, Any]) -> list[str]:
    status, answer = ask(url, "POST", "/config", content)
    assert status == 200, answer
    warnings: list[str] = answer["warnings"]
    return warnings


def test_it_says_which_version_of_the_model_it_follows(url: str) -> None:
    status, answer = ask(url, "GET", "/capabilities/version")
    assert status == 200
    assert answer["api_spec_version"] == "^1.0.0"
    assert answer["app_version"].startswith("vsperf ")


def test_exactly_as_many_frames_leave_as_were_asked_for_and_all_arrive(url: str) -> None:
    content = config(flow("f"), flow("g", tx_rx=BACK, size={"fixed": 512}, rate={"pps": 500}))
    configured(url, content)
    assert ask(url, "GET", "/config") == (200, content)
    forth, back = sent(url)
    assert (forth["port_tx"], forth["port_rx"]) == ("a", "b")
    for one, size in ((forth, 128), (back, 512)):
        assert one["frames_tx"] == one["frames_rx"] == "100"
        assert one["bytes_tx"] == one["bytes_rx"] == str(100 * size)
        assert one["loss"] == 0
        assert one["frames_tx_rate"] == 0
    ports = port_metrics(url)
    for port in ports.values():
        assert port["frames_tx"] == port["frames_rx"] == "100"
        assert (port["link"], port["transmit"]) == ("up", "stopped")
    assert (ports["a"]["bytes_tx"], ports["a"]["bytes_rx"]) == ("12800", "51200")


def test_latency_is_told_where_it_was_asked_for(url: str) -> None:
    measured = flow("f", metrics={"enable": True, "latency": {"enable": True}})
    warnings = configured(url, config(measured, flow("g", tx_rx=BACK)))
    assert "flows[0].metrics.latency" in warnings[0]
    first, second = sent(url)
    assert 0 < first["latency"]["minimum_ns"] <= first["latency"]["average_ns"]
    assert first["latency"]["average_ns"] <= first["latency"]["maximum_ns"]
    assert "latency" not in second
    assert "loss" not in first


@pytest.mark.parametrize(
    "headers",
    [
        packet(ip={"src": increment("10.0.0.1", 7)}),
        packet(vlans=[{"id": value(100)}, {"id": value(7)}]),
        packet(udp={"src_port": increment(5000, 10, 2), "dst_port": increment(6000, 4)}),
        [
            *packet()[:1],
            {"choice": "ipv6", "ipv6": {"src": value("2001:2::1"), "dst": value("2001:2::2")}},
            {"choice": "tcp", "tcp": {"src_port": value(1), "ctl_syn": value(1)}},
        ],
    ],
    ids=["flows", "tags", "together", "ipv6"],
)
def test_whatever_the_headers_each_frame_is_known_when_it_arrives(
    headers: list[dict[str, Any]], url: str
) -> None:
    configured(url, config(flow(packet=headers)))
    (one,) = sent(url)
    assert (one["frames_tx"], one["frames_rx"], one["loss"]) == ("100", "100", 0)


def test_what_goes_on_and_on_is_counted_on_the_way_and_stops_when_told(url: str) -> None:
    configured(url, config(flow(duration={"choice": "continuous", "continuous": {}})))
    assert transmit(url, "start")[0] == 200
    before = 0
    while before < 100:
        (one,) = flow_metrics(url)
        assert one["transmit"] == "started"
        assert int(one["frames_tx"]) >= before
        before = int(one["frames_tx"])
    status, answer = transmit(url, "start")
    assert (status, answer["kind"]) == (409, "validation")
    assert transmit(url, "stop")[0] == 200
    (one,) = flow_metrics(url)
    assert one["transmit"] == "stopped"
    assert one["frames_tx"] == one["frames_rx"]
    assert int(one["frames_tx"]) >= before


def test_counters_begin_at_zero_with_each_start_and_stay_for_flows_that_are_not_started(
    url: str,
) -> None:
    configured(url, config(flow("f"), flow("g")))
    assert [one["frames_tx"] for one in flow_metrics(url)] == ["0", "0"]
    sent(url, "f")
    assert [one["frames_tx"] for one in flow_metrics(url)] == ["100", "0"]
    sent(url, "f")
    sent(url, "g")
    assert [one["frames_tx"] for one in flow_metrics(url)] == ["100", "100"]


def test_rates_and_sizes_can_be_changed_in_place(url: str) -> None:
    configured(url, config(flow()))
    update = {
        "choice": "flows",
        "flows": {
            "property_names": ["size"],
            "flows": [flow(size={"fixed": 256}, rate={"pps": 1})],
        },
    }
    assert ask(url, "PATCH", "/config", update) == (200, {"warnings": []})
    (one,) = sent(url)
    assert one["bytes_rx"] == str(100 * 256)


def test_a_new_configuration_ends_what_is_being_sent(url: str) -> None:
    configured(url, config(flow(duration={"choice": "continuous", "continuous": {}})))
    transmit(url, "start")
    configured(url, config(flow("g")))
    assert [one["name"] for one in flow_metrics(url)] == ["g"]
    (one,) = sent(url)
    assert one["frames_tx"] == "100"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/nowhere", None, 404, "there is no GET /nowhere, only GET /capabilities/version"),
        ("POST", "/config", config(flow(wings=2)), 400, "flows[0].wings: not supported"),
        (
            "POST",
            "/control/state",
            {"choice": "protocol", "protocol": {}},
            400,
            "only traffic and captures",
        ),
        ("POST", "/control/action", {"choice": "port"}, 501, "action: not supported"),
        ("POST", "/monitor/states", {"choice": "x"}, 501, "states of protocols: not supported"),
        ("POST", "/monitor/metrics", {"choice": "bgpv4"}, 400, "'bgpv4' is not supported"),
        (
            "POST",
            "/monitor/metrics",
            {"choice": "flow", "flow": {"metric_names": ["tx_rate_bps"]}},
            400,
            "flow.metric_names: there is no 'tx_rate_bps'",
        ),
        (
            "POST",
            "/monitor/metrics",
            {"choice": "flow", "flow": {"flow_names": ["x"]}},
            400,
            "flow.flow_names: there is no 'x', only none",
        ),
    ],
)
def test_what_is_not_supported_is_refused_in_words(
    method: str, path: str, body: object, status: int, words: str, url: str
) -> None:
    found, answer = ask(url, method, path, body)
    assert (found, answer["code"]) == (status, status)
    assert words in "; ".join(answer["errors"])


def test_pauses_are_refused(url: str) -> None:
    configured(url, config(flow()))
    status, answer = transmit(url, "pause")
    assert status == 400
    assert "traffic.flow_transmit.state: 'pause'" in answer["errors"][0]
    assert transmit(url, "start", "nobody")[0] == 400


def test_flows_that_were_started_together_stop_together(url: str) -> None:
    endless = {"choice": "continuous", "continuous": {}}
    configured(url, config(flow("f", duration=endless), flow("g", duration=endless)))
    transmit(url, "start")
    status, answer = transmit(url, "stop", "f")
    assert status == 409
    assert "g would go on" in answer["errors"][0]
    assert transmit(url, "stop", "f", "g")[0] == 200
    stopped(url)


def sending_for_ever(url: str) -> None:
    """Have a port send to itself until it is stopped."""
    loop = {"choice": "port", "port": {"tx_name": "a", "rx_names": ["a"]}}
    endless = flow(tx_rx=loop, duration={"choice": "continuous", "continuous": {}})
    configured(url, {"ports": [{"name": "a", "location": "p1"}], "flows": [endless]})
    assert transmit(url, "start")[0] == 200


class TestCommand:
    """As a user types it."""

    @pytest.fixture
    def serving(self, require: Require) -> Iterator[subprocess.Popen[str]]:
        require("tgen")
        argv = ("otg", "serve", "--port", "p1=net_ring0", "--listen", "127.0.0.1:0")
        with subprocess.Popen(
            [sys.executable, "-m", "vsperf", *argv, "--no-hugepages"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def url(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "with the ports p1; Ctrl-C ends it" in line
        return line.split()[2].rstrip(",")

    def test_ctrl_c_ends_it_in_the_middle_of_traffic_and_leaves_nothing(
        self, serving: subprocess.Popen[str]
    ) -> None:
        sending_for_ever(self.url(serving))
        serving.send_signal(signal.SIGINT)
        _, errors = serving.communicate(timeout=20)
        assert (serving.returncode, errors) == (0, "")

    @pytest.mark.everyday
    def test_one_that_was_killed_takes_tgen_along_and_the_rest_is_taken_down(
        self, serving: subprocess.Popen[str]
    ) -> None:
        sending_for_ever(self.url(serving))
        tgen = psutil.Process(serving.pid).children(recursive=True)
        assert tgen
        serving.kill()
        _, alive = psutil.wait_procs(tgen, timeout=20)
        assert alive == []
        serving.wait()
        left = [dead for dead in dead_deployments() if f"-{serving.pid}-" in dead.folder.name]
        assert [dead.take_down() for dead in left] == [()]

    @pytest.mark.everyday
    def test_a_port_that_there_is_not_is_an_error_with_words(self, tmp_path: Path) -> None:
        argv = [sys.executable, "-m", "vsperf", "otg", "serve", "--port", "p1"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 2
        assert "'p1' is no port" in done.stderr and "LOCATION=DEVICE" in done.stderr


# What `vsperf otg serve` tells is what happened: on the wire, in time, and of what was refused.

ENDLESS = {"choice": "continuous", "continuous": {}}
DOWNWARDS = {"choice": "decrement", "decrement": {"start": 9, "step": 2, "count": 3}}
IN_A_FILE = packet(udp={"src_port": DOWNWARDS})
"""Headers that tgen cannot make by itself."""


@pytest.fixture(name="ring", scope="module")
def fixture_ring(require: Require) -> Iterator[str]:
    """A server whose ports give back what they get, at once."""
    require("tgen")
    with otg_server() as server:
        yield server.url


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

        def both_are(link: str) -> bool:
            return {port["link"] for port in port_metrics(url).values()} == {link}

        assert both_are("up")
        subprocess.run([*inside, "set", "veth1", "down"], check=True)
        try:
            wait_until(lambda: both_are("down"))  # the kernel tells the other end a moment later
        finally:
            subprocess.run([*inside, "set", "veth1", "up"], check=True)
        wait_until(lambda: both_are("up"))


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

    @pytest.mark.needs("tgen")
    def test_a_rate_that_was_not_reached_is_told_by_stop_and_in_the_log(self) -> None:
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
