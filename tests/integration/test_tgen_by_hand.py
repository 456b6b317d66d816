"""The generator by hand, and through DPDK's own telemetry."""

from __future__ import annotations

import json
import mmap
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from dpdk_files import dpdk_files
from loopbacks import OPTIONS
from real_runs import hugepages

from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    trial,
)
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.host.hugepages import read_pools

pytestmark = pytest.mark.machine


# `vsperf tgen`: the generator by hand, as a user types it.

MAP_HUGETLB, MAP_HUGE_SHIFT = 0x40000, 26
"""Flags of mmap that Python does not name: hugepages, and the size of them."""
RING = ("--vdev", "net_ring0", "--no-hugepages")


def tgen(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vsperf", "tgen", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )


@pytest.fixture(name="built")
def fixture_built(require: Require) -> None:
    require("tgen")


@pytest.mark.usefixtures("built")
def test_ports_shows_what_was_negotiated() -> None:
    done = tgen("ports", *RING)
    assert done.returncode == 0, done.stderr
    assert "net_ring0" in done.stdout
    facts = json.loads(tgen("ports", *RING, "--json").stdout)
    assert facts["ports"][0]["driver"] == "net_ring"
    assert facts["hello"]["protocol"] == 1


@pytest.fixture(name="no_page_free")
def fixture_no_page_free(require: Require) -> Iterator[None]:
    """Take all hugepages that are free, as long as a test takes."""
    for part in ("root", "hugepages"):
        require(part)
    with ExitStack() as stack:
        for pool in read_pools():
            if pages := pool.free:
                shift = pool.page_bytes.bit_length() - 1
                flags = (
                    mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_HUGETLB | shift << MAP_HUGE_SHIFT
                )
                taken = stack.enter_context(mmap.mmap(-1, pages * pool.page_bytes, flags=flags))
                for page in range(pages):
                    taken[page * pool.page_bytes] = 1
        yield


@pytest.mark.usefixtures("built", "no_page_free")
def test_hugepages_that_are_missing_are_reserved_and_returned() -> None:
    before = hugepages()
    done = tgen("ports", "--vdev", "net_ring0", "--hugepages")
    assert done.returncode == 0, done.stderr
    assert "net_ring0" in done.stdout
    assert hugepages() == before


@pytest.mark.usefixtures("built")
def test_a_trial_ends_with_all_that_is_known_and_says_each_second_what_is_known_by_then() -> None:
    done = tgen(
        "trial", *RING, "--rate", "10kpps", "--duration", "1500ms", "--variation", "--respond"
    )
    assert done.returncode == 0, done.stderr
    for words in ("sent", "15,000", "lost on the way", "p99.99", "IPDV", "pacing error", "busy"):
        assert words in done.stdout
    assert "requests answered" not in done.stdout, "nobody asks on a ring, and zeros are left out"
    assert done.stderr.startswith("1 s: sent ")


@pytest.mark.usefixtures("built")
def test_a_trial_as_json_is_the_whole_result() -> None:
    done = tgen("trial", *RING, "--rate", "1000.5fps", "--duration", "200ms", "--json")
    stream = json.loads(done.stdout)["streams"][0]
    assert stream["intended"] == 200
    assert 0 < stream["sent"] == stream["distinct"] <= 200  # a stall at the end may cost some
    assert done.stderr == ""


@pytest.mark.usefixtures("built")
def test_a_capture_is_replayed(tmp_path: Path) -> None:
    """What tgen wrote, each frame of it sent and received: all have their mark."""
    file = tmp_path / "seen.pcap"
    assert tgen("capture", *RING, "--frames", "5", "--size", "128", str(file)).returncode == 0
    replay = ("trial", *RING, "--replay", str(file), "--rhythm", "file")
    done = tgen(*replay, "--rate", "1kpps", "--duration", "300ms", "--json")
    assert done.returncode == 0, done.stderr
    (stream,) = json.loads(done.stdout)["streams"]
    assert stream["intended"] >= stream["sent"] == stream["distinct"] > 0
    assert stream["unmarked"] == 0
    done = tgen(*replay, "--duration", "300ms")
    assert "sent without a mark" in done.stdout
    for wrong in (("--rhythm", "file"), ("--replay", str(file), "--size", "64")):
        done = tgen("trial", *RING, *wrong)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")


@pytest.mark.usefixtures("built")
def test_bursts_are_sent_one_after_the_other() -> None:
    bursts = ("--frames", "100", "--bursts", "3", "--gap", "20ms")
    done = tgen("burst", *RING, *bursts, "--json")
    assert done.returncode == 0, done.stderr
    (stream,) = json.loads(done.stdout)["streams"]
    assert stream["sent"] == stream["distinct"] == 300
    assert stream["sending_ns"] >= 40_000_000
    assert "300" in tgen("burst", *RING, *bursts).stdout


@pytest.mark.usefixtures("built")
def test_what_tgen_refuses_is_told_without_a_traceback() -> None:
    done = tgen("trial", *RING, "--size", "64", "--header", "layer3=ipv6")
    assert done.returncode == 4
    assert "at least 84" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("built")
def test_frames_are_captured_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "seen.pcap"
    done = tgen(
        "capture", *RING, "--size", "68", "--header", "vlans=[100]", "--frames", "3", str(file)
    )
    assert done.returncode == 0, done.stderr
    assert file.stat().st_size == 24 + 6 * (16 + 64)


@pytest.mark.usefixtures("built")
def test_stalls_of_the_host_are_measured_without_a_port() -> None:
    done = tgen("stalls", "--no-hugepages", "--duration", "300ms")
    assert done.returncode == 0, done.stderr
    assert "gaps" in done.stdout


@pytest.mark.usefixtures("built")
@pytest.mark.needs("two-cpus")
def test_the_way_of_a_cache_line_between_two_cpus_is_measured() -> None:
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    done = tgen("roundtrip", "--cpus", cpus, "--times", "3")
    assert done.returncode == 0, done.stderr
    assert "p90" in done.stdout
    found = json.loads(tgen("roundtrip", "--cpus", cpus, "--times", "20", "--json").stdout)
    assert len(found) == 20
    whole = [one for one in found if one["rounds"] == 2000]
    assert whole, "not one of 20 was done in time"
    for one in whole:
        assert 0 < one["min_ns"] <= one["percentiles_ns"]["50"] <= one["max_ns"]


def test_a_round_trip_needs_two_cpus() -> None:
    done = tgen("roundtrip", "--cpus", "0")
    assert done.returncode == 2
    assert "--cpus 0,1" in done.stderr


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("loop", ["ring", "memif", "vhost"])
def test_calibration_finds_rates_and_a_floor(loop: str, require: Require) -> None:
    if loop == "vhost":
        require("dpdk-testpmd")
    quick = ("--duration", "100ms", "--budget", "2s", "--size", "64", "--json", "--no-hugepages")
    done = tgen("calibrate", "--loop", loop, *quick)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)
    assert found["maximum_fps"] == found["per_cpu_fps"] > 0  # of one worker
    assert found["workers"] == 1
    assert 0 < found["floor_min_ns"] <= found["floor_p50_ns"] <= found["floor_p99_ns"]


def test_a_program_that_is_not_built_is_told_with_the_way_to_build_it() -> None:
    done = tgen("ports", *RING, VSPERF_TGEN="/nonexistent")
    assert done.returncode == 3
    assert "VSPERF_TGEN" in done.stderr


def test_a_share_of_a_line_is_no_rate_by_hand() -> None:
    done = tgen("trial", *RING, "--rate", "50%")
    assert done.returncode == 2
    assert "--rate 1Mpps" in done.stderr


# tgen through DPDK's own telemetry socket: what any DPDK tool sees beside the controller.

VIEWS = ("stats", "ports", "trial")
WAYS = directions_between(2, "both")
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
