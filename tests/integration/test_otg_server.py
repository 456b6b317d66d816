"""`vsperf otg serve`: tgen answers the HTTP interface of the OTG model, with real frames."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import Require
from otg_documents import config, flow, increment, packet, value
from otg_servers import (
    ask,
    fixture_server,
    flow_metrics,
    port_metrics,
    sent,
    stopped,
    transmit,
)

from vsperf.host.dead import dead_deployments
from vsperf.otg.server import OtgServer

pytestmark = pytest.mark.machine
__all__ = ["fixture_server"]

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
