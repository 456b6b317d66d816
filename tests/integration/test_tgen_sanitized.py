"""All of tgen under the sanitizers: sockets, telemetry and workers, which no unit test reaches."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tgen_programs
from dpdk_files import dpdk_files

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen-programs")]

PATIENCE_S = 60.0
PREFIX = "vsperf-sanitized"
"""One for all: what is left of tests that were killed goes when the next one begins."""
LCORES = ",".join(f"{number}@0" for number in range(5))
EAL = ("--no-huge", "--no-pci", "-m", "256", f"--file-prefix={PREFIX}", "--vdev=net_ring0")
SEVERAL_WORKERS = f"--lcores={LCORES}"
FOR_TURNS = ("--lcores=0@0,1@0", "--vdev=net_ring1")
STREAM = {
    "sizes": [128, 1518],
    "vxlan": {"vni": 5},
    "flows": {"vary": [{"field": "source_ip", "count": 64}], "order": "shuffled"},
}
SHARED = {"size": 128, "workers": 2}
TRIAL = {"verb": "trial", "frames": 5000, "rate_fps": 50_000, "variation": True, "check_fill": True}
TRIAL |= {"slot_ns": 10_000_000}
STEPS = {
    "verb": "trial",
    "steps": [
        {"rate_fps": 50_000, "duration_ns": 1_000_000_000},
        {"rate_fps": 1000, "duration_ns": 500_000_000},
    ],
    "latency_after_ns": 500_000_000,
    "latency_ranges": [[0, 63], [576, 639]],
}
LONG = {"verb": "trial", "duration_ns": 60_000_000_000, "rate_fps": 1000}


class Conversation:
    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while self._socket.connect_ex(str(path)) != 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self._lines = self._socket.makefile("r")

    def say(self, **request: Any) -> None:
        self._socket.sendall(json.dumps({"id": 1, **request}).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        while True:
            message: dict[str, Any] = json.loads(self._lines.readline())
            if "event" not in message:
                return message

    def ask(self, **request: Any) -> dict[str, Any]:
        self.say(**request)
        return self.hear()

    def is_over(self) -> bool:
        return not self._lines.readline()

    def hang_up(self) -> None:
        self._lines.close()
        self._socket.close()


@contextmanager
def sanitized(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], Conversation]]:
    """Start it; afterwards, no sanitizer has had anything to say."""
    control, log = folder / "control.sock", folder / "log"
    binary = tgen_programs.build_whole()
    argv = [str(binary), *EAL, *(more or (SEVERAL_WORKERS,)), "--", "--control", str(control)]
    argv += ["--queues", "2"]
    shutil.rmtree(dpdk_files(PREFIX), ignore_errors=True)
    with log.open("w") as output, subprocess.Popen(argv, stderr=output, text=True) as process:
        try:
            conversation = Conversation(control)
            yield process, conversation
            conversation.hang_up()
            process.wait(PATIENCE_S)
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(dpdk_files(PREFIX), ignore_errors=True)
    said = log.read_text()
    assert "Sanitizer" not in said, said
    assert "runtime error" not in said, said


def test_every_verb_and_a_watcher_at_the_same_time(tmp_path: Path) -> None:
    with sanitized(tmp_path) as (process, tgen):
        assert tgen.ask(verb="hello")["ok"]
        done = threading.Event()
        watcher = threading.Thread(target=watch, args=(done,))
        watcher.start()
        try:
            answers = [
                tgen.ask(verb="ports"),
                tgen.ask(verb="configure", streams=[STREAM, SHARED]),
                tgen.ask(verb="learn"),
                tgen.ask(verb="capture", port=0, path=str(tmp_path / "seen.pcap"), frames=100),
                tgen.ask(**TRIAL),
                tgen.ask(**STEPS),
                tgen.ask(verb="burst", frames=1000),
                tgen.ask(verb="probe"),
                tgen.ask(verb="stalls", duration_ns=50_000_000),
                tgen.ask(verb="live"),
                tgen.ask(**LONG, wait=False),
                tgen.ask(verb="stop"),
            ]
        finally:
            done.set()
            watcher.join()
        assert all(answer["ok"] for answer in answers), answers
        assert not tgen.ask(verb="roundtrip", cpus=[0, 1023])["ok"]
        while tgen.ask(verb="live")["result"]["state"] != "idle":
            pass
        assert tgen.ask(verb="quit")["ok"]
    assert process.returncode == 0


def test_turns_that_end_one_way_or_another(tmp_path: Path) -> None:
    streams = [{"transmit_port": port, "receive_port": port, "size": 64} for port in (0, 1)]
    with (
        subprocess.Popen(["cat"], stdin=subprocess.PIPE) as held,
        sanitized(tmp_path, *FOR_TURNS) as (process, tgen),
    ):
        sides = [{"streams": [0], "processes": [held.pid]}, {"streams": [1]}]
        turns = {"verb": "turns", "sides": sides, "rate_fps": [50_000, 0], "latency": True}
        assert tgen.ask(verb="configure", streams=streams)["ok"]
        assert tgen.ask(**turns, order=[0, 1, 1, 0])["result"]["end"] == "complete"
        for problem in ({"order": [2]}, {"sides": [{"streams": [0]}, {"streams": [0]}]}):
            assert not tgen.ask(**turns | {"order": [0]} | problem)["ok"]
        tgen.say(**turns, order=[0, 1] * 1000)
        assert tgen.ask(verb="stop")["result"]["stopping"] == "turns"
        assert tgen.hear()["result"]["end"] == "stopped"
        tgen.say(**turns, order=[0, 1] * 1000)
        assert tgen.ask(verb="live")["result"]["state"] == "turns"
        held.kill()
        assert tgen.hear()["result"]["end"] == "process-ended"
        assert tgen.ask(**TRIAL)["ok"]
        tgen.say(**turns | {"sides": [{"streams": [0]}, {"streams": [1]}]}, order=[0] * 1000)
        assert tgen.ask(verb="live")["result"]["state"] == "turns"
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
    assert process.returncode == 143


def test_connections_that_end_one_way_or_another(tmp_path: Path) -> None:
    both = {"verb": "connections", "client": {"port_count": 500}, "server": {"port": 0}}
    with sanitized(tmp_path, *FOR_TURNS) as (process, tgen):
        asked = both | {"rate_cps": 2000, "connections": 1000, "requests": 2}
        found = tgen.ask(**asked, response_bytes=5000, slot_ns=10_000_000)["result"]
        assert found["client"]["completed"] == found["server"]["closed"] == 1000
        for problem in ({"client": {"port": 9}}, {"segment_bytes": 9000, "rate_cps": 0}):
            assert not tgen.ask(**asked | problem)["ok"]
        silent = {"attempts": 1, "repeat_ns": 1_000_000, "rate_cps": 1000, "connections": 100}
        alone = tgen.ask(verb="connections", client={}, **silent)["result"]["client"]
        assert alone["no_answer"] == 100
        assert tgen.ask(verb="configure", streams=[STREAM])["ok"]
        assert tgen.ask(**TRIAL)["ok"]
        held = both | {"rate_cps": 1000, "duration_ns": 60_000_000_000, "hold_ns": 60_000_000_000}
        tgen.say(**held)
        assert tgen.ask(verb="live")["result"]["state"] == "connections"
        assert tgen.ask(verb="stop")["result"]["stopping"] == "connections"
        assert tgen.hear()["result"]["stopped_early"]
        tgen.say(**held)
        assert tgen.ask(verb="live")["result"]["state"] == "connections"
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
    assert process.returncode == 143


def watch(done: threading.Event) -> None:
    """Ask DPDK's telemetry for everything, over and over."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as telemetry:
        telemetry.settimeout(PATIENCE_S)
        telemetry.connect(str(dpdk_files(PREFIX) / "dpdk_telemetry.v2"))
        telemetry.recv(1024)
        while not done.is_set():
            for view in ("stats", "ports", "trial"):
                telemetry.send(f"/vsperf_tgen/{view}".encode())
                assert view.encode() in telemetry.recv(1 << 16)


def test_a_controller_that_goes_in_a_trial(tmp_path: Path) -> None:
    with sanitized(tmp_path) as (process, tgen):
        assert tgen.ask(verb="configure", streams=[STREAM])["ok"]
        assert tgen.ask(**LONG, wait=False)["ok"]
        tgen.say(verb="hello")
    assert process.returncode == 4


def test_a_signal_in_a_trial(tmp_path: Path) -> None:
    with sanitized(tmp_path) as (process, tgen):
        assert tgen.ask(verb="configure", streams=[STREAM])["ok"]
        assert tgen.ask(**LONG, wait=False)["ok"]
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
    assert process.returncode == 143


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_when_all_is_over_does_no_harm(
    tmp_path: Path, number: signal.Signals
) -> None:
    with sanitized(tmp_path) as (process, conversation):
        assert conversation.ask(verb="quit")["ok"]
        assert conversation.is_over()  # and now it leaves main
        process.send_signal(number)
    assert process.returncode in (0, 128 + number)
