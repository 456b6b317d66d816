"""tgen through DPDK's own telemetry socket: what any DPDK tool sees beside the controller."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from dpdk_files import dpdk_files
from loopbacks import OPTIONS

from vsperf.trafficgens.tgen.byhand import Sending, Stream, at_hand, trial, ways_between
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine

VIEWS = ("stats", "ports", "trial")
WAYS = ways_between(2, "both")
PATIENCE_S = 10.0


class Telemetry:
    """The other end of DPDK's telemetry: one packet asks, one packet answers."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.greeting: dict[str, Any] = json.loads(connection.recv(1024))

    def ask(self, command: str) -> Any:
        """Return the answer, whose key leaves parameters out."""
        self._connection.send(command.encode())
        answer = json.loads(self._connection.recv(self.greeting["max_output_len"]))
        return answer[command.partition(",")[0]]

    def view(self, name: str) -> Any:
        return self.ask(f"/vsperf_tgen/{name}")


@contextmanager
def watched(tgen: Tgen) -> Iterator[Telemetry]:
    """Connect as dpdk-telemetry.py does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(str(dpdk_files(tgen.name) / "dpdk_telemetry.v2"))
        yield Telemetry(connection)


@pytest.fixture(name="tgen")
def fixture_tgen(require: Require, tmp_path: Path) -> Iterator[Tgen]:
    """Return a tgen with two ports that lead to each other."""
    require("tgen")
    shared = f"id=0,socket={tmp_path}/memif.sock,socket-abstract=no"
    devices = (f"net_memif0,role=server,{shared}", f"net_memif1,role=client,{shared}")
    with at_hand(devices, OPTIONS) as tgen:
        tgen.ports()
        yield tgen


def test_the_commands_are_listed_with_help(tgen: Tgen) -> None:
    with watched(tgen) as telemetry:
        assert telemetry.greeting["pid"] == tgen.process.pid
        commands = telemetry.ask("/")
        assert {f"/vsperf_tgen/{name}" for name in VIEWS} <= set(commands)
        for name in VIEWS:
            told = telemetry.ask(f"/help,/vsperf_tgen/{name}")
            assert "No parameters" in json.dumps(told)


def test_ports_are_those_of_the_conversation(tgen: Tgen) -> None:
    with watched(tgen) as telemetry:
        seen = telemetry.view("ports")
    for port in tgen.ports():
        told = seen[str(port["port"])]
        for name in ("name", "driver", "mtu", "receive_ring", "transmit_ring"):
            assert told[name] == port[name]


def test_a_trial_is_seen_while_it_runs_and_when_it_has_ended(tgen: Tgen) -> None:
    with watched(tgen) as telemetry:
        assert telemetry.view("stats") == {"state": "idle", "elapsed_ns": 0}
        assert telemetry.view("trial") == {}
        tgen.ask("configure", streams=[Stream(64).on(way) for way in WAYS])
        tgen.ask("trial", rate_fps=10_000, duration_ns=30_000_000_000, wait=False, number=9)
        deadline = time.monotonic() + PATIENCE_S
        while not telemetry.view("stats").get("1", {}).get("received"):
            assert time.monotonic() < deadline
        early, late = telemetry.view("stats"), telemetry.view("stats")
        assert early["state"] == "trial"
        while late["0"]["sent"] == early["0"]["sent"]:
            assert time.monotonic() < deadline
            late = telemetry.view("stats")
        assert late["elapsed_ns"] > early["elapsed_ns"]
        tgen.ask("stop")
        while telemetry.view("stats")["state"] != "idle":
            assert time.monotonic() < deadline
        ended = telemetry.view("trial")
        assert ended["number"] == 9
        assert set(ended) == {"number", "settled", "0", "1"}
        assert ended["0"]["sent"] >= late["0"]["sent"]


def test_what_is_told_of_a_trial_is_what_the_controller_was_told(tgen: Tgen) -> None:
    with watched(tgen) as telemetry:
        sending = Sending(rate_fps="100000", frames=2000)
        result = trial(tgen, WAYS, Stream(128), sending, lambda event: None)
        told = telemetry.view("trial")
    assert told["settled"] == ("yes" if result["settled"] else "no")
    for stream in result["streams"]:
        counted = told[str(stream["stream"])]
        assert counted["sent"] == 2000
        assert counted == {name: stream[name] for name in counted}


def test_odd_questions_do_no_harm(tgen: Tgen) -> None:
    with watched(tgen) as telemetry:
        for parameters in ("", ",", ",1", ",%s%n", "," + "x" * 500):
            assert telemetry.ask(f"/vsperf_tgen/stats{parameters}")["state"] == "idle"
        assert telemetry.ask("/vsperf_tgen/nothing") is None
    assert tgen.ask("hello")["state"] == "idle"
